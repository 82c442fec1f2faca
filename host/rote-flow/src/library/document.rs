//! What the search index keeps of one flow: everything that a hit shows, and how the file was when it was read.

use std::collections::BTreeMap;

use rote_home::Stamp;
use rote_types::{AdapterId, Fingerprint, FlowName, command};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FlowKind, FlowStatus, Form, Package};

/// One parameter, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterLine {
    pub name: String,
    /// Its type, such as `string`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether a run without it is refused.
    pub required: bool,
}

/// One flow as the index has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowDocument {
    /// Its name, which is its folder's.
    pub name: FlowName,
    /// What it does.
    pub description: String,
    pub version: String,
    /// Where it is in its life.
    pub status: FlowStatus,
    /// Whether it calls other flows.
    pub kind: FlowKind,
    /// What it is made of.
    pub form: Form,
    /// Number of steps, for a plan.
    pub steps: Option<usize>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it takes.
    pub parameters: Vec<ParameterLine>,
    /// The adapters that it pins.
    pub adapters: BTreeMap<AdapterId, Fingerprint>,
    /// The tools that it calls.
    pub tools: Vec<String>,
    /// How its file was.
    pub stamp: Stamp,
}

impl FlowDocument {
    /// Makes the document of a flow.
    #[must_use]
    pub fn new(name: FlowName, package: &Package, stamp: Stamp) -> Self {
        let frontmatter = &package.frontmatter;
        let parameter = |(name, schema): (&str, &Value)| ParameterLine {
            name: name.to_owned(),
            kind: crate::parameter::types_of(&frontmatter.parameters, schema).join(" or "),
            required: frontmatter.is_required(name) && schema.get("default").is_none(),
        };
        let pins = frontmatter.adapters.iter();
        Self {
            name,
            description: frontmatter.description.clone(),
            version: frontmatter.version.clone(),
            status: frontmatter.status,
            kind: frontmatter.kind,
            form: frontmatter.form,
            steps: package.plan().map(|plan| plan.steps.len()),
            tags: frontmatter.tags.clone(),
            parameters: frontmatter.parameter_schemas().map(parameter).collect(),
            adapters: pins.clone().map(|(id, pin)| (id.clone(), pin.fingerprint.clone())).collect(),
            tools: pins.flat_map(|(_, pin)| pin.tools.keys().cloned()).collect(),
            stamp,
        }
    }

    /// Returns the command that runs it, with a blank for each value that it needs.
    #[must_use]
    pub fn command(&self) -> String {
        let needed = self.parameters.iter().filter(|parameter| parameter.required);
        let run = needed.fold(command("rote run").argument(&self.name), |run, one| run.blank(&one.name));
        run.into()
    }
}
