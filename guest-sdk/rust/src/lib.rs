#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! [`flow`] marks the function that runs; it is given a [`Rote`], from which everything else comes: [`Adapter`] and
//! [`Response`], [`Task`], [`Query`], [`Vars`], [`Files`], [`Flows`], [`Steps`], [`Output`], [`Log`], [`Clock`] and
//! [`Tokens`]. Whatever can fail fails with [`Error`]. [`testing`] runs a flow in a unit test, without WebAssembly.
//!
//! A flow reaches nothing but the host: no network, no files, no environment, no clock of its own.

mod adapter;
mod clock;
#[cfg(target_family = "wasm")]
mod component;
mod entry;
mod error;
mod flows;
mod host;
mod json;
mod log;
mod output;
mod query;
mod response;
mod rote;
mod status;
mod steps;
mod store;
mod task;
#[cfg(all(feature = "testing", not(target_family = "wasm")))]
pub mod testing;

pub use rote_sdk_macros::flow;
pub use serde_json::{Value, json};

pub use crate::adapter::{Adapter, ToolMatch};
pub use crate::clock::Clock;
pub use crate::error::{Cause, Challenge, Denial, Error, Problem, Result, ResultExt};
pub use crate::flows::Flows;
pub use crate::log::Log;
pub use crate::output::Output;
pub use crate::query::Query;
pub use crate::response::Response;
pub use crate::rote::Rote;
pub use crate::status::{AdapterStatus, Credential, Tokens};
pub use crate::steps::Steps;
pub use crate::store::{File, Files, Vars};
pub use crate::task::{Task, join_all, wait_any};

/// What the macros of this crate expand to; not for use by hand.
#[doc(hidden)]
pub mod __private {
    #[cfg(target_family = "wasm")]
    pub use crate::component::bindings;
    pub use crate::entry::{Component, Entry};
}
