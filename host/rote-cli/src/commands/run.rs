//! `rote run`.

use clap::{Args, ValueEnum};
use rote_app::{FlowRan, RunFlow};
use serde_json::json;

use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::units::{clip, plural};
use crate::ui::{Report, Ui};

/// Most characters of a line of a dry run.
const MAX_LINE: usize = 120;

/// Run a flow; each call goes through the gate and is recorded in a workspace of the run
#[derive(Debug, Args)]
pub struct Run {
    /// Its name, or a path to a flow.wasm
    flow: String,
    /// Parameters; `rote flow info` lists them
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// What to print: what the flow tells a person, its summary, or its result
    #[arg(short, long, value_name = "FORM", default_value = "human")]
    output: Form,
    /// Check adapters and parameters and show the calls, send nothing
    #[arg(long)]
    dry_run: bool,
    /// The token that a refusal of a write gave, to confirm that one write
    #[arg(long, value_name = "TOKEN")]
    confirm: Vec<String>,
    /// Go on with a run that was stopped, in its workspace; calls that are done are not made again
    #[arg(long, value_name = "WORKSPACE")]
    resume: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// What the flow tells a person, else its result
    Human,
    /// One line or a few
    Summary,
    /// The result as JSON
    Json,
}

impl Run {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let parameters = self.parameters.iter().map(|word| match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => {
                let message = format!("`{word}` is no parameter of the form NAME=VALUE");
                Err(usage(message, format!("rote flow info {}", self.flow)))
            }
        });
        let wish = RunFlow {
            flow: self.flow.clone(),
            parameters: parameters.collect::<Result<_>>()?,
            dry_run: self.dry_run,
            confirm: self.confirm,
            resume: self.resume,
        };
        let app = context.app()?;
        match context.block_on(app.run_flow(wish))?? {
            FlowRan::Dry(dry) => {
                let calls = dry.calls.iter().map(|call| clip(&format!("  {call}"), MAX_LINE));
                let head = format!("{} would make {}", dry.flow, plural(dry.calls.len(), "call"));
                let text = std::iter::once(head).chain(calls).collect::<Vec<_>>().join("\n");
                Ok(Report::new(json!({ "dry_run": dry }), text))
            }
            FlowRan::Done(done) => {
                if !ui.json {
                    done.log.iter().for_each(|line| ui.talk(&clip(line, MAX_LINE)));
                    let summary = format!("{} in workspace {}", plural(done.steps.len(), "call"), done.workspace);
                    ui.talk(&format!("{}: {summary}", done.flow));
                }
                let result = || serde_json::to_string_pretty(&done.result).unwrap_or_default();
                let text = match self.output {
                    Form::Human if !done.human.is_empty() => done.human.join("\n"),
                    Form::Summary if !done.summary.is_empty() => done.summary.join("\n"),
                    Form::Summary => format!("{} done", done.flow),
                    Form::Json => done.result.to_string(),
                    Form::Human => result(),
                };
                Ok(Report::new(&done, text))
            }
        }
    }
}
