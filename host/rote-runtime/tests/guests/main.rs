//! Guests, well-behaved and hostile, against the runtime. They are written as text here, so that the tests need
//! no WebAssembly toolchain.

mod jq;
mod limits;
mod loader;
mod support;
