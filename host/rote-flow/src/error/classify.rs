//! The kind, the next command and the data of each failure.

use std::fmt::Display;

use rote_runtime::RunError;
use rote_types::{Classify, CommandLine, ErrorKind, WorkspaceName, command};
use serde_json::{Value, json};

use super::{FlowError, MAKE_A_FLOW};
use crate::Form;

impl Classify for FlowError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoFlow { .. }
            | Self::NoFile { .. }
            | Self::MissingAdapters { .. }
            | Self::NoRun { .. }
            | Self::NoSource { .. }
            | Self::NotPending { .. }
            | Self::NoTool { .. } => ErrorKind::NotFound,
            Self::FingerprintMismatch { .. } | Self::BindingDrift { .. } => ErrorKind::FingerprintMismatch,
            Self::Parameters { .. } | Self::ParamSpec { .. } | Self::FrozenKey { .. } | Self::Usage { .. } => {
                ErrorKind::Usage
            }
            Self::NotPinned { .. } | Self::Secret { .. } | Self::NestedFlow { .. } | Self::Blessing { .. } => {
                ErrorKind::Denied
            }
            Self::Analytics { .. } | Self::Index { .. } => ErrorKind::General,
            Self::TooLarge { .. } => ErrorKind::Limit,
            Self::Exists { .. }
            | Self::IsReleased { .. }
            | Self::NotAFlow { .. }
            | Self::Tampered
            | Self::OtherTemplate { .. }
            | Self::OtherName { .. }
            | Self::Malformed { .. }
            | Self::InDoubt { .. }
            | Self::Unsettled { .. }
            | Self::StillRunning { .. }
            | Self::LatestRun { .. }
            | Self::LatestUnreadable { .. }
            | Self::NotARun { .. }
            | Self::Script { .. }
            | Self::NoHeader { .. }
            | Self::Source { .. }
            | Self::Wrap { .. }
            | Self::FolderTaken { .. }
            | Self::CannotExport { .. }
            | Self::OtherRun { .. }
            | Self::NothingToBless { .. }
            | Self::NotReleasable { .. }
            | Self::ChangedMeanwhile { .. }
            | Self::RepinBreaking { .. }
            | Self::ToolGone { .. }
            | Self::RepinStale { .. }
            | Self::NothingToCrystallize { .. }
            | Self::UnusableResponse { .. }
            | Self::AdapterChanged { .. }
            | Self::ReplayStale { .. }
            | Self::ReplayDiffers { .. }
            | Self::Plan(_) => ErrorKind::Conflict,
            Self::Stopped { source, .. } | Self::ReplayFailed { source } => source.kind(),
            Self::EndedInDoubt { kind, .. } => *kind,
            Self::File { source, .. } => source.kind(),
            Self::Known(source) => source.kind(),
            Self::Unbound(source) => source.kind(),
            Self::Load(error) => error.kind(),
            Self::Home(error) => error.kind(),
            Self::Workspace(error) => error.kind(),
            Self::Gate(error) => error.kind(),
            Self::Query(error) => error.kind(),
            Self::Adapter { kind, .. } => *kind,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoFlow { .. } | Self::NoFile { .. } => "rote flow list".to_owned(),
            Self::FrozenKey { value, .. } => {
                command("rote flow template create --name NAME").option("--param", format!("key={value}")).into()
            }
            Self::Exists { released: false, name } => command("rote flow template create")
                .option("--name", name)
                .plain("--workspace <workspace> --force")
                .into(),
            Self::MissingAdapters { missing, origin, .. } => {
                let id = missing.first()?;
                install(id, origin.as_deref())
            }
            Self::FingerprintMismatch { flow, .. } | Self::RepinStale { flow } => {
                of_flow("rote flow repin", flow).into()
            }
            Self::Parameters { flow, expected, .. } => {
                let names = expected.iter().filter_map(|line| line.split([' ', '`']).find(|word| !word.is_empty()));
                names.fold(of_flow("rote run", flow), CommandLine::blank).into()
            }
            Self::OtherTemplate { form: Form::Script, .. } => "rote flow build <sources>".to_owned(),
            Self::OtherName { kept, .. } => of_flow("rote flow remove", kept).into(),
            Self::Tampered
            | Self::OtherTemplate { .. }
            | Self::NotAFlow { .. }
            | Self::Malformed { .. }
            | Self::Exists { .. } => MAKE_A_FLOW.to_owned(),
            Self::Stopped { resume: Some(resume), .. } => resume.clone(),
            Self::Stopped { source, workspace, .. } => goes_on(source, workspace),
            Self::InDoubt { .. } => "rote doubts".to_owned(),
            Self::Unsettled { doubt, .. } => doubt.ways(),
            Self::EndedInDoubt { doubt, workspace, .. } if doubt.workspace == *workspace => doubt.ways(),
            Self::EndedInDoubt { doubt, workspace, .. } => doubt.ways_within(workspace),
            Self::StillRunning { workspace } => command("rote ls").option("--workspace", workspace).into(),
            Self::LatestRun { next: Some(next), .. } => command("rote run").option("--resume", &next.workspace).into(),
            Self::LatestRun { latest, .. } => of_flow("rote run", &latest.flow).into(),
            Self::LatestUnreadable { known: Some(known), .. } => {
                let resume = command("rote run").option("--resume", &known.workspace);
                resume.note("the newest one that can be read").into()
            }
            Self::LatestUnreadable { known: None, .. } => "rote ls --all".to_owned(),
            Self::NotARun { .. } | Self::NoRun { .. } => "rote run <flow>".to_owned(),
            Self::NoHeader { .. } | Self::NoSource { .. } | Self::FolderTaken { .. } => {
                "rote flow new <name> --lang ts|rust".to_owned()
            }
            Self::BindingDrift { adapter, file, .. } => {
                command("rote bind").argument(adapter).option("--out", file).into()
            }
            Self::NotPending { .. } => "rote flow pending list".to_owned(),
            Self::NoTool { adapter, tool, .. } => command("rote probe").argument(adapter).argument(tool).into(),
            Self::Wrap { .. } => "cargo build --release --target wasm32-unknown-unknown".to_owned(),
            Self::OtherRun { flow, .. } | Self::NestedFlow { flow, .. } => of_flow("rote flow info", flow).into(),
            Self::IsReleased { flow } => of_flow("rote flow remove", flow).plain("--force").into(),
            Self::Blessing { flow, .. } => of_flow("rote flow bless", flow).into(),
            Self::NotReleasable { flow, .. } => of_flow("rote flow info", flow).into(),
            Self::ChangedMeanwhile { flow } => of_flow("rote flow info", flow).into(),
            Self::Index { .. } => "rote flow index --rebuild".to_owned(),
            Self::RepinBreaking { flow, .. } => of_flow("rote flow repin", flow).plain("--accept-breaking").into(),
            Self::ToolGone { adapter, tool, .. } => command("rote probe").argument(adapter).argument(tool).into(),
            Self::NothingToCrystallize { workspace, .. } => {
                command("rote call <adapter> <tool>").option("--workspace", workspace).into()
            }
            Self::ReplayFailed { source } => return source.hint(),
            Self::File { source, .. } => return source.hint(),
            Self::Known(source) => return source.hint(),
            Self::Unbound(source) => return source.hint(),
            Self::Load(error) => return error.hint().or_else(|| Some(MAKE_A_FLOW.to_owned())),
            Self::Home(error) => return error.hint(),
            Self::Workspace(error) => return error.hint(),
            Self::Gate(error) => return error.hint(),
            Self::Query(error) => return error.hint(),
            Self::Adapter { hint, .. } => return hint.clone(),
            _ => return None,
        })
    }

    fn details(&self) -> Option<Value> {
        match self {
            Self::FingerprintMismatch { flow, drifts } => Some(json!({ "flow": flow, "adapters": drifts })),
            Self::RepinBreaking { flow, drifts } => Some(json!({ "flow": flow, "adapters": drifts })),
            Self::MissingAdapters { flow, missing, .. } => Some(json!({ "flow": flow, "adapters": missing })),
            Self::Parameters { flow, problems, schema, .. } => {
                Some(json!({ "flow": flow, "problems": problems, "parameters": schema }))
            }
            Self::ParamSpec { name, arguments, .. } => Some(json!({ "parameter": name, "arguments": arguments })),
            Self::Stopped { flow, workspace, source, log, .. } => {
                Some(json!({ "flow": flow, "workspace": workspace, "cause": source.details(), "log": log }))
            }
            Self::EndedInDoubt { flow, workspace, doubt, others, result, log, .. } => Some(json!({
                "flow": flow,
                "workspace": workspace,
                "doubt": doubt,
                "others": others,
                "result": result,
                "log": log,
            })),
            Self::LatestRun { latest, next, .. } => Some(json!({ "latest": latest, "next": next })),
            Self::Unsettled { doubt, others } => Some(json!({ "doubt": doubt, "others": others })),
            Self::NotPinned { .. } => Some(json!({ "rule": "frontmatter.adapters" })),
            Self::NestedFlow { .. } => Some(json!({ "rule": "frontmatter.flows" })),
            Self::NotReleasable { flow, problems } => Some(json!({ "flow": flow, "problems": problems })),
            Self::OtherTemplate { form, code } => Some(json!({ "form": form, "code": code })),
            Self::OtherName { kept, name } => Some(json!({ "kept": kept, "name": name })),
            Self::ReplayStale { stale } => Some(json!({ "stale": stale })),
            Self::ReplayDiffers { recorded, replayed } => Some(json!({ "recorded": recorded, "replayed": replayed })),
            Self::File { source, .. } => source.details(),
            Self::Unbound(source) => source.details(),
            Self::Load(error) => error.details(),
            Self::Home(error) => error.details(),
            Self::Workspace(error) => error.details(),
            Self::Gate(error) => error.details(),
            _ => None,
        }
    }
}

fn of_flow(head: &'static str, flow: impl Display) -> CommandLine {
    command(head).argument(flow)
}

/// The command that installs an adapter, from where it was installed when that is known.
pub(crate) fn install(id: impl Display, origin: Option<&str>) -> String {
    let new = command("rote adapter new").argument(id);
    match origin {
        Some(origin) => new.option("--spec", origin).into(),
        None => new.plain("--spec <file|url>").into(),
    }
}

/// The command after a run that stopped: with a higher bound where it reached one, else that of what stopped it.
fn goes_on(source: &RunError, workspace: &WorkspaceName) -> String {
    let resume = || command("rote run").option("--resume", workspace);
    match (raising(source.details()), source.hint()) {
        // Before the hint of a nested run, which is about its own workspace.
        (Some(option), _) => resume().flag(&option).plain("<more>").into(),
        // `@N` is a response of the run.
        (None, Some(hint)) if hint.starts_with("rote @") => format!("{hint} --workspace {workspace}"),
        (None, Some(hint)) => hint,
        // What was away may be back.
        (None, None) if source.kind() == ErrorKind::Upstream => resume().into(),
        (None, None) => command("rote ls").option("--workspace", workspace).into(),
    }
}

/// The option that raises the bound which stopped a run, or one nested in it.
fn raising(details: Option<Value>) -> Option<String> {
    let mut cause = details?;
    while let Some(inner) = cause.get_mut("cause") {
        cause = inner.take();
    }
    cause.get("option")?.as_str().map(ToOwned::to_owned)
}
