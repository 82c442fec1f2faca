//! `rote flow repin`.

use std::collections::BTreeSet;

use clap::Args;
use rote_app::{Consent, Repin as Shown};
use rote_types::command;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Pin the installed adapters anew, after showing what changed for each tool that the flow uses
///
/// The patch version goes up by one, and a blessing ends: it was for the file as it was.
#[derive(Debug, Args)]
pub struct Repin {
    /// The flow's name
    flow: String,
    /// Pin tools that changed in a way that may break the flow
    #[arg(long)]
    accept_breaking: bool,
    #[command(flatten)]
    yes: Yes,
}

impl Repin {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let shown = session.flow_repin_preview(&self.flow)?;
        if shown.drifts.is_empty() {
            let text = format!("{} {} pins what is installed; there is nothing to do", shown.flow, shown.from);
            return Ok(Report::new(json!({ "changed": false, "repin": shown }), text));
        }
        let changes = changes(&shown);
        let consent = if shown.breaking && !self.accept_breaking {
            Consent::Unasked
        } else {
            let question = format!("{changes}\nrepin `{}` as version {}?", shown.flow, shown.to);
            let repin = command("rote flow repin").argument(&shown.flow);
            let repin = if self.accept_breaking { repin.plain("--accept-breaking") } else { repin };
            self.yes.agree(context, ui, &question, repin)?
        };
        let done = session.flow_repin(&shown, self.accept_breaking, consent)?;
        let mut lines = vec![format!("repinned {}: {} is now {}", shown.flow, shown.from, shown.to), changes];
        if shown.voids_blessing {
            lines.push("  its blessing is void: it was for the file as it was".to_owned());
        }
        let pinned_by =
            shown.pinned_by.iter().map(|name| format!("  flow `{name}` pins it as it was and must be made anew"));
        lines.extend(pinned_by);
        let report = Report::new(json!({ "changed": true, "repinned": done }), lines.join("\n"));
        Ok(if shown.voids_blessing {
            report.next(command("rote flow bless").argument(&shown.flow))
        } else {
            report.next(command("rote flow lint").argument(&shown.flow))
        })
    }
}

fn changes(shown: &Shown) -> String {
    let mut lines = Vec::new();
    for drift in &shown.drifts {
        if drift.expected != drift.installed {
            lines.push(format!("  {}: {} is now {}", drift.adapter, drift.expected, drift.installed));
        }
        if let Some(places) = &drift.elsewhere {
            let list = |all: &BTreeSet<String>| all.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let (was, now) = (list(&places.expected), list(&places.installed));
            lines.push(format!("  {}: goes to {now}, was made against {was}", drift.adapter));
        }
        lines.extend(drift.credential_lines().map(|line| format!("  {}: {line}", drift.adapter)));
        lines.extend(drift.tools.iter().map(|tool| format!("    {tool}")));
    }
    lines.join("\n")
}
