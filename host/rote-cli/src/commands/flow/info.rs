//! `rote flow info`.

use clap::Args;
use rote_app::{BlessingInfo, BlessingState, FlowInfo, Form, Frontmatter, PinnedFlow, write_lines};

use crate::context::Context;
use crate::error::Result;
use crate::render::table::facts;
use crate::render::units::{MAX_LINE, clip, count, plural, second};
use crate::ui::Report;

/// Show a flow: what it takes, does, needs and may write
#[derive(Debug, Args)]
pub struct Info {
    /// Its name, or a path to a flow.wasm
    flow: String,
}

impl Info {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let detail = FlowInfo::read(&context.host()?.blessings()?, &context.session()?.flow(&self.flow)?)?;
        let text = text(&detail);
        Ok(Report::new(&detail, text))
    }
}

fn text(detail: &FlowInfo) -> String {
    let front = &detail.frontmatter;
    let writes = write_lines(&detail.writes, &detail.flows);
    let runs: Vec<String> = detail.flows.iter().map(|flow| run(flow, front)).collect();
    let adapters: Vec<String> = front
        .adapters
        .iter()
        .map(|(id, pin)| {
            let state = detail.adapters[id.as_str()].as_str().unwrap_or_default();
            format!("{id} {} ({}, {state})", pin.fingerprint, plural(pin.tools.len(), "tool"))
        })
        .collect();
    let baseline = front.baseline;
    let rows = [
        ("made as", made_as(detail)),
        ("takes", if detail.expected.is_empty() { "nothing".to_owned() } else { detail.expected.join(", ") }),
        ("adapters", adapters.join(", ")),
        ("runs", if runs.is_empty() { "no other flow".to_owned() } else { runs.join(", ") }),
        ("may write", if writes.is_empty() { "nothing".to_owned() } else { writes.join("; ") }),
        ("blessing", detail.blessing.as_ref().map_or_else(|| "none".to_owned(), blessing)),
        ("made from", made_from(front)),
        (
            "cost by hand",
            format!("{} calls, {} tokens, {} ms", baseline.calls, count(baseline.tokens), baseline.duration_ms),
        ),
        ("file", detail.path.display().to_string()),
        ("digest", detail.sha256.to_string()),
    ];
    let mut lines =
        vec![format!("{} {}: {}", front.name, front.version, clip(&front.description, MAX_LINE)), facts(&rows)];
    lines.extend(detail.sentences.iter().flat_map(|all| all.lines()).map(|line| format!("  {line}")));
    lines.extend(
        front
            .questions
            .iter()
            .map(|question| format!("  open: {} ({})", clip(&question.ask, MAX_LINE), clip(&question.id, MAX_LINE))),
    );
    lines.join("\n")
}

/// Who allows the writes without asking, since when, until when, and how many.
fn blessing(info: &BlessingInfo) -> String {
    let (Some(by), Some(at)) = (&info.by, info.at) else { return info.state.to_string() };
    let until =
        info.expires_at.map_or_else(|| "until it is taken back".to_owned(), |at| format!("until {}", second(at)));
    let calls = info.max_calls.map_or_else(|| "any number of calls".to_owned(), |max| format!("at most {max} calls"));
    let tools = plural(info.tools, "tool");
    let text = format!("by {by} on {}, {until}: {tools}, {calls} in a run", second(at));
    if info.state == BlessingState::Valid { text } else { format!("{}; it was {text}", info.state) }
}

/// One flow below this one.
fn run(flow: &PinnedFlow, front: &Frontmatter) -> String {
    let by = if flow.pinned_by == front.name { String::new() } else { format!(" for {}", flow.pinned_by) };
    let state = flow.problem.as_ref().map(|problem| format!(" ({problem})")).unwrap_or_default();
    format!("{} {}{by}{state}", flow.name, flow.version)
}

/// What runs, and whether it can be read.
fn made_as(detail: &FlowInfo) -> String {
    match (&detail.plan, detail.frontmatter.form) {
        (Some(plan), _) => format!("plan of {}", plural(plan.steps.len(), "step")),
        (None, Form::Component) => "component: only its pins and permissions say what it can do".to_owned(),
        (None, form) => format!("{}: `rote decompile` shows what runs", form.as_str()),
    }
}

fn made_from(front: &Frontmatter) -> String {
    let provenance = &front.provenance;
    match (&provenance.workspace, &provenance.created_at) {
        (Some(workspace), Some(at)) => format!("workspace {workspace} on {}", second(at)),
        _ => format!("sources, by rote {}", provenance.rote_version),
    }
}
