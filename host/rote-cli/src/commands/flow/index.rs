//! `rote flow index`.

use clap::Args;
use rote_app::IndexReport;

use crate::context::Context;
use crate::error::Result;
use crate::render::units::plural;
use crate::ui::Report;

/// Check the search index against the flows on disk and mend it
#[derive(Debug, Args)]
pub struct Index {
    /// Write it anew instead
    #[arg(long)]
    rebuild: bool,
}

impl Index {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let library = context.host()?.library()?;
        let report = if self.rebuild { library.rebuild_index()? } else { library.verify_index()? };
        let text = text(&report);
        Ok(Report::new(&report, text))
    }
}

fn text(report: &IndexReport) -> String {
    let flows = plural(report.flows, "flow");
    let changed = [("added", &report.added), ("updated", &report.updated), ("removed", &report.removed)];
    let changed = changed.iter().filter(|(_, names)| !names.is_empty());
    let mut lines: Vec<String> = changed
        .map(|(what, names)| {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            format!("  {what}: {}", names.join(", "))
        })
        .collect();
    let head = match (report.rebuilt, &report.reason) {
        (true, Some(reason)) => format!("written anew, {flows} ({reason})"),
        (true, None) => format!("written anew, {flows}"),
        (false, _) if lines.is_empty() => format!("up to date, {flows}"),
        (false, _) => format!("mended, {flows}"),
    };
    lines.insert(0, head);
    lines.extend(report.unreadable.iter().map(|one| format!("  not indexed: {} ({})", one.name, one.problem)));
    lines.join("\n")
}
