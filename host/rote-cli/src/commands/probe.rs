//! `rote probe`.

use clap::Args;
use rote_app::Hit;
use rote_types::{Access, CommandLine, command};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::answer;
use crate::ui::Report;

/// Find the tools of an adapter that fit an intent
#[derive(Debug, Args)]
pub struct Probe {
    /// The adapter
    id: String,
    /// What you want to do, in your own words
    intent: String,
    /// Most tools to show
    #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=50))]
    limit: u16,
    /// Show each tool's parameters as a JSON Schema
    #[arg(short, long)]
    schema: bool,
}

impl Probe {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let mut found = context.session()?.probe(&self.id, &self.intent, usize::from(self.limit))?;
        // Whoever types the name of a tool wants that tool's schema.
        if let Some(named) = found.fits.iter().position(|hit| hit.tool.name == self.intent).filter(|_| self.schema) {
            found.fits = vec![found.fits.swap_remove(named)];
        }
        let text = match (found.fits.as_slice(), self.schema) {
            ([], _) | (_, false) => answer(&found, false),
            (found, true) => {
                let schemas = found.iter().map(|hit| {
                    format!(
                        "{}\n{}",
                        hit.tool.name,
                        serde_json::to_string_pretty(&hit.tool.input_schema).unwrap_or_default()
                    )
                });
                schemas.collect::<Vec<_>>().join("\n")
            }
        };
        let report = Report::new(json!({ "intent": self.intent, "tools": found.fits, "near": found.near }), text);
        Ok(match found.fits.first() {
            // What destroys is looked at first: nobody is handed the command for it.
            Some(first) if first.tool.access == Access::Destroy => report.next(describe(first)),
            Some(first) => report.next(call(first)),
            None => report,
        })
    }
}

/// Returns the command that shows what a tool takes.
fn describe(hit: &Hit) -> CommandLine {
    command("rote describe").argument(&hit.adapter).argument(&hit.tool.name)
}

/// Returns the command that calls a tool, with the arguments that it needs to be filled in.
fn call(hit: &Hit) -> CommandLine {
    let required = hit.tool.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let call = command("rote call").argument(&hit.adapter).argument(&hit.tool.name);
    required.fold(call, |call, name| call.option_blank("-p", name))
}
