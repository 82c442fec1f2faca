//! `rote flow health` and `doctor`.

use clap::Args;
use rote_app::FlowHealth;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::{facts, table};
use crate::render::units::{MAX_LINE, clip, plural, second};
use crate::ui::Report;

/// Say whether a flow can run here, and what is in the way; exit code 1 when something is
#[derive(Debug, Args)]
pub struct Health {
    /// Its name, or a path to a flow.wasm
    flow: String,
}

impl Health {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let health = context.host()?.doctor()?.health(&context.session()?.flow(&self.flow)?)?;
        let text = format!("{}\n{}", head(&health), detail(&health));
        let exit = u8::from(!health.healthy);
        Ok(Report { exit, ..Report::new(&health, text.trim_end()) })
    }
}

/// Say the same of every flow; exit code 1 when one is not healthy
#[derive(Debug, Args)]
pub struct Doctor {}

impl Doctor {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let all = context.host()?.doctor()?.all()?;
        let unhealthy = all.iter().filter(|one| !one.healthy).count();
        let rows: Vec<Vec<String>> = all
            .iter()
            .map(|one| {
                let state = if one.healthy { "healthy".to_owned() } else { plural(one.problems.len(), "problem") };
                let first = one.problems.first().map_or_else(String::new, |problem| problem.fix.clone());
                vec![one.name.clone(), one.version.clone().unwrap_or_default(), state, first]
            })
            .collect();
        let counts = format!("{}, {unhealthy} not healthy", plural(all.len(), "flow"));
        let text = if all.is_empty() {
            "no flows yet".to_owned()
        } else {
            format!("{}\n{counts}", table(&["flow", "version", "state", "first fix"], &rows))
        };
        let data = json!({ "total": all.len(), "unhealthy": unhealthy, "flows": all });
        Ok(Report { exit: u8::from(unhealthy > 0), ..Report::new(data, text) })
    }
}

fn head(health: &FlowHealth) -> String {
    let version = health.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let state = if health.healthy { "is healthy".to_owned() } else { plural(health.problems.len(), "problem") };
    format!("{}{version}: {state}", health.name)
}

fn detail(health: &FlowHealth) -> String {
    let adapters = health.adapters.iter().map(|one| format!("{} {}", one.adapter, one.state.as_str()));
    let credentials = health.adapters.iter().flat_map(|one| &one.credentials).map(|state| {
        let present = if state.present { "present" } else { state.source.as_str() };
        format!("{} {present}", state.token)
    });
    let runs = health.runs.as_ref().map_or_else(
        || "never ran".to_owned(),
        |runs| {
            let last = second(runs.last_run.as_deref().unwrap_or_default());
            format!("{} of {} ended well, the last on {last}", runs.completed, runs.runs)
        },
    );
    let rows = [
        ("digest", if health.intact { "matches" } else { "does not match" }.to_owned()),
        ("adapters", adapters.collect::<Vec<_>>().join(", ")),
        ("credentials", credentials.collect::<Vec<_>>().join(", ")),
        ("blessing", health.blessing.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)),
        ("runs", runs),
    ];
    let mut lines = vec![facts(&rows)];
    for problem in &health.problems {
        lines.push(format!("  problem: {}", clip(&problem.what, MAX_LINE)));
        lines.push(format!("    fix: {}", problem.fix));
    }
    lines.join("\n")
}
