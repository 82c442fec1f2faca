//! Flows from a real workspace: a loopback API, an installed adapter, calls through the gate, crystallize, run.

mod asks;
mod author;
mod bind;
mod credentials;
mod crystallize;
mod doubts;
mod health;
mod keys;
mod life;
mod link;
mod lint;
mod looks;
pub(crate) mod package;
mod pages;
mod pick;
mod plans;
mod printed;
mod review;
mod run;
mod same;
mod schema;
mod search;
mod shapes;
mod sift;
pub(crate) mod support;
pub(crate) mod tale;
mod trojan;
