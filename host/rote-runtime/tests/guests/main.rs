//! Guests, well-behaved and hostile, against the runtime. They are written as text here, so that the tests need
//! no WebAssembly toolchain.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests: they fail loudly and look at files that the runtime wrote"
)]

mod jq;
mod jq_suite;
mod limits;
mod loader;
mod support;
mod wasi;
