//! `rote flow search`.

use clap::Args;
use rote_app::{CallableState, EndpointState, FlowStatus, Scope, SearchHit, SearchRequest};
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::facts;
use crate::render::units::{MAX_LINE, clip};
use crate::ui::{Report, Ui};

/// Find the flows that fit an intent
#[derive(Debug, Args)]
pub struct Search {
    /// What you want to do, in your own words
    intent: String,
    /// Drafts too
    #[arg(short, long)]
    all: bool,
    /// Say how each score came about
    #[arg(short, long)]
    explain: bool,
    /// Most flows to show
    #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
}

impl Search {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let request = SearchRequest {
            intent: self.intent.clone(),
            scope: if self.all { Scope::All } else { Scope::Released },
            limit: usize::from(self.limit),
            explain: self.explain,
        };
        let found = context.host()?.search()?.search(&request)?;
        if !ui.json {
            found.notes.iter().for_each(|note| ui.talk(&format!("note: {note}")));
            if found.misspelt && !found.items.is_empty() {
                ui.talk("note: no flow has any of these words; these have words near them");
            }
        }
        let blocks = found.items.iter().enumerate().map(|(place, hit)| block(place + 1, hit));
        let text = match (found.items.is_empty(), self.all) {
            (false, _) => blocks.collect::<Vec<_>>().join("\n"),
            (true, false) => "no released flow fits; try other words, or --all for drafts".to_owned(),
            (true, true) => "no flow fits; try other words".to_owned(),
        };
        let command = found.items.first().map(|first| first.callability.command.clone());
        let data = json!({
            "intent": self.intent,
            "words": found.words,
            "misspelt": found.misspelt,
            "search_results": [{ "source": "local", "total": found.items.len(), "items": found.items }],
            "notes": found.notes,
        });
        let report = Report::new(data, text);
        Ok(match command {
            Some(command) => report.next(command),
            None => report,
        })
    }
}

fn block(place: usize, hit: &SearchHit) -> String {
    let kind = hit.kind.as_str().to_uppercase();
    let draft = if hit.status == FlowStatus::Draft { " [DRAFT]" } else { "" };
    let mut lines = vec![format!("{place}. [{kind}]{draft} {} ({}% match)", hit.name, hit.match_percent)];
    if !hit.description.is_empty() {
        lines.push(format!("  {}", clip(&hit.description, MAX_LINE)));
    }
    let parameters: Vec<String> = hit
        .parameters
        .iter()
        .map(|one| format!("{}{}: {}", one.name, if one.required { "" } else { "?" }, one.kind))
        .collect();
    let endpoints: Vec<String> = hit
        .endpoints
        .iter()
        .map(|one| {
            let state = match one.state {
                EndpointState::Ok => "OK",
                EndpointState::Missing => "MISSING",
                EndpointState::Changed => "CHANGED",
            };
            format!("[{state}] {}", one.endpoint)
        })
        .collect();
    let label = if hit.callability.state == CallableState::Callable { "run" } else { "first" };
    let rows = [
        ("location", hit.callability.location.display().to_string()),
        ("parameters", parameters.join(", ")),
        ("endpoints", endpoints.join(", ")),
        (label, hit.callability.command.clone()),
        ("score", score(hit)),
    ];
    lines.push(facts(&rows));
    lines.join("\n")
}

/// How a score came about, in a line; nothing unless it was asked for.
fn score(hit: &SearchHit) -> String {
    let Some(explain) = &hit.explain else { return String::new() };
    let fields: Vec<String> = explain.fields.iter().map(|(name, score)| format!("{name} {score:.2}")).collect();
    let runs = explain
        .record
        .as_ref()
        .map(|record| format!("; {} runs, {:.0}% ended well", record.runs, record.success_rate * 100.0));
    let (raw, best) = (explain.raw_score, explain.self_score);
    format!("{raw:.2} of {best:.2} ({}){}", fields.join(", "), runs.unwrap_or_default())
}
