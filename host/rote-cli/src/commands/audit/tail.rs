//! `rote audit tail`.

use clap::Args;
use rote_app::AuditEvent;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::render::units::second;
use crate::ui::Report;

/// Show the latest events of the journal
#[derive(Debug, Args)]
pub struct Tail {
    /// How many
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    lines: u16,
}

impl Tail {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let events = context.app()?.audit_tail(usize::from(self.lines))?;
        let rows: Vec<Vec<String>> = events.iter().map(row).collect();
        let text = match rows.is_empty() {
            true => "the journal is empty".to_owned(),
            false => table(&["seq", "at", "event", "adapter", "tool", "what"], &rows),
        };
        Ok(Report::new(&events, text))
    }
}

fn row(event: &AuditEvent) -> Vec<String> {
    let field = |name: &str| match &event.body[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let what = ["decision", "method", "status", "outcome", "reason"].map(field);
    let what: Vec<String> = what.into_iter().filter(|word| !word.is_empty()).collect();
    let at = second(event.at).trim_end_matches('Z').to_owned();
    vec![event.seq.to_string(), at, event.kind.clone(), field("adapter"), field("tool"), what.join(" · ")]
}
