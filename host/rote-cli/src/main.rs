//! The `rote` command; everything is in the library so that tests and the demo can drive it.

use std::process::ExitCode;

/// A description is a million small pieces of memory: reading one takes two thirds of the time that glibc's allocator needs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rote_cli::main()
}
