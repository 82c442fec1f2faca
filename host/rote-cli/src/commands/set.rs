//! `rote set`.

use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Result, usage};
use crate::ui::Report;

/// Set variables of the workspace
#[derive(Debug, Args)]
pub struct Set {
    /// The value is JSON when it reads as such, otherwise text; `NAME:=JSON` has to be JSON
    #[arg(value_name = "NAME=VALUE", required = true)]
    assignments: Vec<String>,
    /// Take the values as text, whatever they look like
    #[arg(long)]
    text: bool,
}

impl Set {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        // All words are read before the first variable changes.
        let assignments: Vec<_> = self.assignments.iter().map(|word| self.assignment(word)).collect::<Result<_>>()?;
        let session = context.session()?;
        let mut variables = Vec::with_capacity(assignments.len());
        for (name, value) in assignments {
            variables.push(session.set_variable(name, value)?);
        }
        let lines: Vec<_> = variables.iter().map(|one| format!("${} = {}", one.name, one.value)).collect();
        Ok(Report::new(&variables, lines.join("\n")))
    }

    fn assignment<'w>(&self, word: &'w str) -> Result<(&'w str, Value)> {
        let Some((name, text)) = word.split_once('=') else {
            return Err(usage(format!("`{word}` is not an assignment"), "rote set NAME=VALUE …"));
        };
        if let Some(name) = name.strip_suffix(':') {
            let value = rote_types::read_json(text)
                .map_err(|error| usage(format!("the value of `{name}` is not JSON: {error}"), "rote set NAME=TEXT"))?;
            return Ok((name, value));
        }
        let value = match rote_types::read_json(text) {
            Ok(value) if !self.text => value,
            _ => Value::String(text.to_owned()),
        };
        Ok((name, value))
    }
}
