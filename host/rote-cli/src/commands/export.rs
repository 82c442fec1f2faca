//! `rote export`.

use std::path::PathBuf;

use clap::Args;
use rote_app::{CrystallizeRequest, ParamSpec};
use rote_types::command;
use serde_json::json;

use super::flow::{ANSWER, answered};
use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::units::plural;
use crate::ui::Report;

/// Make a flow of the workspace's calls and write it to a file, as a component or as TypeScript
///
/// Like `rote flow template create` with the workspace in use, which has more to set and says more about what it
/// did. The flow is in the home too, and runs by its name.
#[derive(Debug, Args)]
pub struct Export {
    /// `triage.wasm`, the flow itself, or `triage.ts`, its source; the name without its ending is the flow's
    file: PathBuf,
    /// Parameters, separated by commas: names of arguments, or NAME=VALUE for a recorded value
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    params: Vec<ParamSpec>,
    /// What the flow does [default: a sentence made from its steps]
    #[arg(short, long)]
    description: Option<String>,
    /// A word to find it by; repeat it for more
    #[arg(long = "tag", value_name = "WORD")]
    tags: Vec<String>,
    /// The answer to a question that an earlier try has asked, by its id
    #[arg(long = "answer", value_name = "QUESTION=ANSWER")]
    answers: Vec<String>,
    /// Publish it too, as `rote flow release` does
    #[arg(long)]
    release: bool,
    /// Replace a draft of the same name
    #[arg(short, long)]
    force: bool,
}

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let forms = "a file that ends in .wasm or .ts";
        let name = self.file.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let ending = self.file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if !["wasm", "ts"].contains(&ending) || name.is_empty() {
            return Err(usage(format!("`{}` is neither a flow nor a source", self.file.display()), forms));
        }
        let session = context.session()?;
        let request = CrystallizeRequest {
            params: self.params,
            answers: answered(&self.answers, ANSWER)?,
            description: self.description,
            tags: self.tags,
            force: self.force,
            ..CrystallizeRequest::new(session.workspace_name()?, name.parse()?)
        };
        let made = context.block_on(session.export_workspace(&request, self.release, &self.file))??;
        let steps = plural(made.report.steps.len(), "step");
        let text = format!("wrote {} ({steps}; the flow is {name} here)", self.file.display());
        let data = json!({ "flow": name, "path": self.file, "released": self.release, "made": made });
        Ok(Report::new(data, text).next(command("rote flow info").argument(&name)))
    }
}
