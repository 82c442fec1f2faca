//! `rote diff`.

use clap::Args;
use rote_app::{Change, ChangeKind};
use rote_types::ResponseId;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::render::units::{clip, plural};
use crate::ui::Report;

/// Most characters of a value in a line.
const MAX_VALUE: usize = 100;

/// Show what differs between two responses
#[derive(Debug, Args)]
pub struct Diff {
    /// The earlier one
    #[arg(value_name = "@A")]
    before: ResponseId,
    /// The later one
    #[arg(value_name = "@B")]
    after: ResponseId,
    /// Compare what this jq program makes of them
    program: Option<String>,
}

impl Diff {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let changes = context.session()?.diff(self.before, self.after, self.program.as_deref())?;
        let mut lines: Vec<String> = changes.iter().flat_map(lines).collect();
        let summary = match changes.len() {
            0 => format!("{} and {} are equal", self.before, self.after),
            number => plural(number, "difference"),
        };
        lines.push(summary);
        Ok(Report::new(&changes, lines.join("\n")))
    }
}

fn lines(change: &Change) -> Vec<String> {
    let place = if change.pointer.is_empty() { "/" } else { &change.pointer };
    let value = |value: &Option<Value>| clip(&value.as_ref().map(Value::to_string).unwrap_or_default(), MAX_VALUE);
    match change.kind {
        ChangeKind::Added => vec![format!("+ {place}: {}", value(&change.after))],
        ChangeKind::Removed => vec![format!("- {place}: {}", value(&change.before))],
        _ => vec![format!("~ {place}: {} → {}", value(&change.before), value(&change.after))],
    }
}
