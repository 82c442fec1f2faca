//! `rote flow lint`.

use std::path::PathBuf;

use clap::Args;
use rote_app::{LintOptions, LintReport};
use rote_types::ErrorKind;

use crate::context::Context;
use crate::error::Result;
use crate::render::units::{MAX_LINE, clip, plural};
use crate::ui::Report;

/// Look for what is wrong with a flow or could be better
///
/// A recording is replayed when there is one: that given with --replay, test.rec beside the flow, or the workspace
/// that the flow was made from. Nothing is sent. Exit code 10 when there is an error.
#[derive(Debug, Args)]
pub struct Lint {
    /// Its name, or a path to a flow.wasm
    flow: String,
    /// Do not replay anything
    #[arg(long, conflicts_with = "replay")]
    skip_runtime: bool,
    /// Replay this recording, made by `rote run --record`
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

impl Lint {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let session = context.session()?;
        let replay = self.replay.map(|path| session.absolute(&path));
        let options = LintOptions { path: None, replay, skip_runtime: self.skip_runtime };
        let linter = session.host().linter()?;
        let found = context.block_on(linter.lint_reference(&session.flow(&self.flow)?, options))??;
        let exit = if found.errors > 0 { ErrorKind::Conflict.exit_code() } else { 0 };
        let text = text(&found);
        Ok(Report { exit, ..Report::new(&found, text) })
    }
}

fn text(found: &LintReport) -> String {
    let mut lines = Vec::new();
    for one in &found.findings {
        lines.push(format!("{} {} at {}: {}", one.severity, one.code, one.position, clip(&one.message, MAX_LINE)));
        lines.extend(one.fix.iter().map(|fix| format!("  fix: {fix}")));
    }
    let notes = found.findings.len() - found.errors - found.warnings;
    let counts = [plural(found.errors, "error"), plural(found.warnings, "warning"), plural(notes, "note")].join(", ");
    let replayed = found.replayed.as_ref().map_or_else(String::new, |source| format!("; replayed {source}"));
    lines.push(format!("{} {}: {counts}{replayed}", found.flow, found.version));
    lines.join("\n")
}
