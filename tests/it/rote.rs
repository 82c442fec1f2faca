//! The `rote` program as the tests run it; the same `main` as the real one.

use std::process::ExitCode;

fn main() -> ExitCode {
    rote_cli::main()
}
