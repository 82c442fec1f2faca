//! `rote flow stats` and `analytics`.

use clap::Args;
use rote_app::{FlowReference, FlowStats};
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::render::units::{MAX_LINE, clip, count, milliseconds, second};
use crate::ui::Report;

/// Show what the runs of a flow were like: success, times, tokens saved
#[derive(Debug, Args)]
pub struct Stats {
    /// The flow's name
    flow: String,
    /// Show the last failures
    #[arg(long)]
    show_errors: bool,
}

impl Stats {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let name = self.flow.parse()?;
        let stats = context.host()?.analytics()?.stats(&name)?;
        if stats.runs == 0 {
            // What ran has figures although it was removed since; what neither ran nor is there is misspelt.
            context.host()?.library()?.bytes(&FlowReference::Name(name))?;
        }
        let mut text = match stats.runs {
            0 => format!("{} never ran", self.flow),
            _ => summary(std::slice::from_ref(&stats)),
        };
        if self.show_errors {
            for run in &stats.errors {
                let error = clip(run.error.as_deref().unwrap_or_default(), MAX_LINE);
                text.push_str(&format!("\n{}  {}  {error}", second(&run.at), run.workspace));
            }
        }
        Ok(Report::new(&stats, text))
    }
}

/// Show the same for every flow that ever ran
#[derive(Debug, Args)]
pub struct Analytics {}

impl Analytics {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let all = context.host()?.analytics()?.all_stats()?;
        let saved: u64 = all.iter().map(|one| one.tokens_saved).sum();
        let text = if all.is_empty() {
            "no flow ever ran".to_owned()
        } else {
            format!("{}\n{} tokens saved in all", summary(&all), count(saved))
        };
        Ok(Report::new(json!({ "flows": all, "tokens_saved": saved }), text))
    }
}

/// The share of runs that ended well, and how many of those only in part.
fn success(one: &FlowStats) -> String {
    let share = format!("{:.0} %", one.success_rate * 100.0);
    let counted = [(one.partial, "partial"), (one.in_doubt, "in doubt")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    counted.fold(share, |text, (count, word)| format!("{text}, {count} {word}"))
}

fn summary(all: &[FlowStats]) -> String {
    let time = |time: Option<u64>| time.map(milliseconds).unwrap_or_default();
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            vec![
                one.flow.clone(),
                one.runs.to_string(),
                success(one),
                time(one.p50_ms),
                time(one.p95_ms),
                count(one.tokens_saved),
            ]
        })
        .collect();
    table(&["flow", "runs", "success", "p50", "p95", "tokens saved"], &rows)
}
