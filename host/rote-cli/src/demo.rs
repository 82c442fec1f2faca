//! `rote demo`: a sample API on loopback and a tour that proves what rote claims, command by command.
//!
//! The API is described by `adapters/tracker/openapi.yaml`; the tour types ordinary commands into this very
//! program, in a home of its own that is deleted afterwards, and checks every claim it prints.

mod api;
mod promises;
mod server;
mod store;
mod tour;
mod tour_steps;

pub use api::Request;
pub use server::TrackerServer;
pub use tour::tour;

/// The description of the sample API.
pub const DOCUMENT: &str = include_str!("../../../adapters/tracker/openapi.yaml");
