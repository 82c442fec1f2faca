//! `rote flow pending …`.

use clap::{Args, Subcommand};
use rote_app::PendingFlow;
use rote_types::{IdError, ResponseId, command};
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::{facts, table};
use crate::render::units::{MAX_LINE, clip, second};
use crate::ui::Report;

/// Write down that a workspace is worth a flow, and make it later
#[derive(Debug, Subcommand)]
pub enum Pending {
    Write(Write),
    /// Print the command that makes the flow
    Save(Named),
    List(List),
    /// Show one wish
    Show(Named),
    /// Drop a wish
    Discard(Named),
}

/// Write the wish down
#[derive(Debug, Args)]
pub struct Write {
    /// The workspace
    workspace: String,
    /// The flow's name
    #[arg(long)]
    name: String,
    /// An adapter that matters; repeat it for more
    #[arg(long = "adapter", value_name = "ID")]
    adapters: Vec<String>,
    /// What the flow would do
    #[arg(short, long)]
    description: String,
    /// The jq program that gives the result
    #[arg(long, value_name = "JQ", requires = "response")]
    query: Option<String>,
    /// The response that it runs on
    #[arg(long, value_name = "@N", alias = "response-path")]
    response: Option<ResponseId>,
    /// An argument that should become a parameter; repeat it for more
    #[arg(short, long = "param", value_name = "NAME")]
    params: Vec<String>,
    /// Anything else to remember
    #[arg(long)]
    notes: Option<String>,
}

#[derive(Debug, Args)]
pub struct Named {
    /// The workspace
    workspace: String,
}

/// List the wishes
#[derive(Debug, Args)]
pub struct List {}

impl Pending {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let library = context.host()?.library()?;
        Ok(match self {
            Self::Write(write) => {
                let stub = PendingFlow {
                    workspace: write.workspace.parse()?,
                    name: write.name.parse()?,
                    adapters: write.adapters.iter().map(|id| id.parse()).collect::<Result<_, IdError>>()?,
                    description: write.description,
                    query: write.query,
                    response: write.response,
                    params: write.params,
                    notes: write.notes,
                    created_at: context.host()?.now(),
                };
                context.session()?.pending_write(&stub)?;
                let text = format!("{} is pending in workspace {}", stub.name, stub.workspace);
                Report::new(&stub, text).next(command("rote flow pending save").argument(&stub.workspace))
            }
            Self::Save(named) => {
                let stub = library.pending(&named.workspace.parse()?)?;
                Report::new(json!({ "command": stub.command(), "pending": stub }), stub.command())
            }
            Self::List(_) => {
                let stubs = library.all_pending()?;
                let text = if stubs.is_empty() { "nothing is pending".to_owned() } else { listing(&stubs) };
                Report::new(json!({ "total": stubs.len(), "pending": stubs }), text)
            }
            Self::Show(named) => {
                let stub = library.pending(&named.workspace.parse()?)?;
                let text = shown(&stub);
                Report::new(&stub, text).next(stub.command())
            }
            Self::Discard(named) => {
                library.discard_pending(&named.workspace.parse()?)?;
                let text = format!("nothing is pending in workspace {} any more", named.workspace);
                Report::new(json!({ "workspace": named.workspace }), text)
            }
        })
    }
}

fn listing(stubs: &[PendingFlow]) -> String {
    let rows: Vec<Vec<String>> = stubs
        .iter()
        .map(|stub| vec![stub.workspace.to_string(), stub.name.to_string(), clip(&stub.description, MAX_LINE)])
        .collect();
    table(&["workspace", "flow", "about"], &rows)
}

fn shown(stub: &PendingFlow) -> String {
    let adapters = stub.adapters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let result = stub.response.map(|response| format!("{response}{{{}}}", stub.query.as_deref().unwrap_or(".")));
    facts(&[
        ("flow", stub.name.to_string()),
        ("workspace", stub.workspace.to_string()),
        ("about", stub.description.clone()),
        ("adapters", adapters),
        ("result", result.unwrap_or_default()),
        ("parameters", stub.params.join(", ")),
        ("notes", stub.notes.clone().unwrap_or_default()),
        ("since", second(stub.created_at)),
    ])
}
