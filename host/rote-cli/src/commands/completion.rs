//! `rote completion`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use crate::commands::Cli;
use crate::error::Result;
use crate::ui::Report;

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    pub(super) fn run(self) -> Result<Report> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "rote", &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        Ok(Report::new(json!({ "shell": self.shell.to_string(), "script": script }), script).verbatim())
    }
}
