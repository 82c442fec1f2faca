//! Flows from a real workspace: a loopback API, an installed adapter, calls through the gate, crystallize, run.

mod crystallize;
mod package;
mod run;
pub(crate) mod support;
