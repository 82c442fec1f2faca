//! The `rote` command; everything is in the library so that tests and the demo can drive it.

use std::process::ExitCode;

fn main() -> ExitCode {
    rote_cli::main()
}
