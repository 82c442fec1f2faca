//! Flows from a real workspace: a loopback API, an installed adapter, calls through the gate, crystallize, run.

mod crystallize;
mod doubts;
mod health;
mod keys;
mod life;
mod lint;
mod package;
mod run;
mod schema;
mod search;
pub(crate) mod support;
mod trojan;
