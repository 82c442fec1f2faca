//! The `rote` program as the tests run it: the same `main` as the real one, which can be killed at any boundary.

#[cfg(target_os = "linux")]
mod faults;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    faults::around(rote_cli::main)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    rote_cli::main()
}
