//! `rote flow infer`.

use clap::Args;
use rote_app::{Inference, InferredParameter};
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::ui::Report;

/// Say what a flow's parameters probably are, from what you want to do
///
/// Values come from `name=value` and from emails, URLs, ids, dates and numbers in the intent, from the environment,
/// the workspace in use, the last run and the flow's defaults, in this order. Sure ones (0.8 and more) go into the
/// command; the rest are questions.
#[derive(Debug, Args)]
pub struct Infer {
    /// Its name, or a path to a flow.wasm
    flow: String,
    /// What you want to do, in your own words
    intent: String,
}

impl Infer {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let inferred = context.session()?.infer_flow(&self.flow, &self.intent)?;
        let text = text(&inferred);
        Ok(Report::new(&inferred, text).next(inferred.command.clone()))
    }
}

fn text(inferred: &Inference) -> String {
    let (sure, asked): (Vec<_>, Vec<_>) = inferred.parameters.iter().partition(|one| one.accepted);
    let row = |one: &&InferredParameter| {
        let value = match &one.value {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None if one.required => "?".to_owned(),
            None => "-".to_owned(),
        };
        vec![one.name.clone(), value, format!("{:.2}", one.confidence), one.why.clone()]
    };
    let mut blocks = Vec::new();
    let head = ["name", "value", "confidence", "source"];
    for (title, group) in [("taken", sure), ("to ask", asked)] {
        if !group.is_empty() {
            let rows: Vec<Vec<String>> = group.iter().map(row).collect();
            blocks.push(format!("{title}:\n{}", table(&head, &rows)));
        }
    }
    if blocks.is_empty() { format!("{} takes no parameters", inferred.flow) } else { blocks.join("\n\n") }
}
