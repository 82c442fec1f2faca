//! `rote batch`.

use std::time::Duration;

use clap::Args;
use rote_app::{BatchItem, BatchPlan, Batched, Pace};
use rote_types::MAX_PARALLEL;

use crate::ask::with_bindings;
use crate::commands::call::{References, note_created, seconds, text_of};
use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::table::table;
use crate::ui::{Report, Ui};

/// Most failures of which the next step is shown.
const MAX_HINTS: usize = 3;

/// Call several tools of an adapter; each answer gets its own `@N`, in order
///
/// All are made, whatever comes of single ones, and each has its line; --fail-fast ends with the first failure. Exit code 1
/// when any failed. A call that cannot be made at all (no such tool, wrong arguments) refuses the batch before anything is
/// sent.
#[derive(Debug, Args)]
pub struct Batch {
    /// The adapter
    id: String,
    /// `[{"tool_name": …, "arguments": {…}}, …]`, `@FILE`, or `-` for standard input
    calls: String,
    /// Most calls at once, 1 to 32
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_PARALLEL)))]
    parallel: u16,
    /// Begin no call once one has failed; those under way come to their end
    #[arg(long)]
    fail_fast: bool,
    #[command(flatten)]
    references: References,
    /// Longest time for each exchange, 0.05 to 86,400 seconds [default: 120, of which 30 to the first byte]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

impl Batch {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let text = text_of(context, &self.calls)?;
        let refused = |problem: String| {
            let message = format!("the calls are not a list of tool calls: {problem}");
            usage(message, r#"rote batch ID '[{"tool_name": "x", "arguments": {}}]'"#)
        };
        let calls = rote_types::read_json(&text).map_err(|error| refused(error.to_string()))?;
        let calls: Vec<BatchItem> = serde_json::from_value(calls).map_err(|error| refused(error.to_string()))?;
        let plan = BatchPlan {
            pace: Pace { parallel: usize::from(self.parallel), fail_fast: self.fail_fast },
            references: self.references.chosen(),
            timeout: self.timeout,
        };
        run_batch(context, ui, &self.id, calls, plan)
    }
}

/// Makes the calls and renders what came of them.
pub(super) fn run_batch(
    context: &Context,
    ui: &mut Ui<'_>,
    id: &str,
    calls: Vec<BatchItem>,
    plan: BatchPlan,
) -> Result<Report> {
    let session = context.session()?;
    let done = with_bindings(context, ui, || context.block_on_to_the_end(session.batch(id, &calls, plan)))?;
    note_created(ui, done.created_workspace.as_ref());
    let exit = u8::from(done.failed > 0);
    let hints = done.results.iter().filter_map(|one| one.error.as_ref()?.hint.clone()).take(MAX_HINTS);
    let numbers: Vec<String> = done.results.iter().filter_map(|one| one.response).map(|id| format!("`{id}`")).collect();
    let recorded = (!numbers.is_empty()).then(|| format!("recorded as {}", numbers.join(", ")));
    let report = Report { exit, done: recorded, ..Report::new(&done, text_of_batch(&done)) };
    Ok(hints.fold(report, Report::next))
}

fn text_of_batch(done: &Batched) -> String {
    let rows: Vec<Vec<String>> = done
        .results
        .iter()
        .map(|one| {
            let id = one.response.map(|id| id.to_string()).unwrap_or_default();
            let status = one.status.map(|status| status.to_string()).unwrap_or_default();
            let error = one.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
            vec![id, one.tool_name.clone(), status, error]
        })
        .collect();
    if rows.is_empty() {
        return "no calls were given".to_owned();
    }
    let mut summary = format!("in workspace {}: {} of {} succeeded", done.workspace, done.succeeded, done.total);
    if done.in_doubt > 0 {
        summary.push_str(&format!(", {} may have happened: rote doubts", done.in_doubt));
    }
    format!("{}\n{summary}", table(&["id", "tool", "status", "error"], &rows))
}
