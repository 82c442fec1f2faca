//! `rote set`.

use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Result, usage};
use crate::ui::Report;

/// Set a variable of the workspace
#[derive(Debug, Args)]
pub struct Set {
    /// The value is JSON when it reads as such, otherwise text
    #[arg(value_name = "NAME=VALUE")]
    assignment: String,
    /// Take the value as text, whatever it looks like
    #[arg(long)]
    text: bool,
}

impl Set {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let Some((name, text)) = self.assignment.split_once('=') else {
            let message = format!("`{}` is no assignment", self.assignment);
            return Err(usage(message, "rote set NAME=VALUE"));
        };
        let value = match serde_json::from_str(text) {
            Ok(value) if !self.text => value,
            _ => Value::String(text.to_owned()),
        };
        let variable = context.app()?.set_variable(name, value)?;
        let text = format!("${} = {}", variable.name, variable.value);
        Ok(Report::new(&variable, text))
    }
}
