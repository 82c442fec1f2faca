//! What is known of earlier runs of a flow: a recording, or the workspace that it was crystallized from.
//!
//! Used where a claim about a flow needs proof: the replay of lint, and the judgement of a changed adapter by the
//! arguments that were really sent. Reads only; finding nothing is not an error.

use std::path::Path;

use rote_types::AdapterId;
use rote_workspace::{ResponseState, Workspace};
use serde_json::{Map, Value};

use crate::recording::{ExpectedOutput, RecordedExchange, RunRecording, TEST_RECORDING, exchange};
use crate::tape::Frame;
use crate::trace::Trace;
use crate::{FlowError, Frontmatter, Library, Package};

/// Recorded calls of a flow, and what they came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    /// Names the source for a person.
    pub(crate) source: String,
    /// The flow that a recording is of; none for a workspace, which is the flow's own.
    pub(crate) flow: Option<String>,
    /// The parameters of that run.
    pub(crate) parameters: Map<String, Value>,
    pub(crate) calls: Vec<RecordedExchange>,
    /// What it was told beside responses; a workspace that a person filled has none.
    pub(crate) tape: Option<Vec<Frame>>,
    /// What it gave.
    pub(crate) expected: Option<ExpectedOutput>,
}

impl Evidence {
    /// Reads a recording.
    pub(crate) fn read(path: &Path) -> Result<Self, FlowError> {
        let recording = RunRecording::read(path)?;
        Ok(Self {
            source: path.display().to_string(),
            flow: Some(recording.flow.to_string()),
            parameters: recording.parameters,
            calls: recording.calls,
            tape: Some(recording.tape),
            expected: recording.expected,
        })
    }

    /// The arguments of every recorded call of a tool.
    pub(crate) fn sent<'a>(&'a self, adapter: &'a AdapterId, tool: &'a str) -> impl Iterator<Item = &'a Value> {
        let same = move |call: &&RecordedExchange| call.adapter == *adapter && call.tool == tool;
        self.calls.iter().filter(same).map(|call| &call.arguments)
    }
}

impl Library {
    /// Finds what is recorded of a flow: the recording beside `path`, else the workspace that it came from, as long
    /// as all its calls still have their answers.
    ///
    /// # Errors
    /// What is there cannot be read.
    pub(crate) fn evidence(&self, package: &Package, path: Option<&Path>) -> Result<Option<Evidence>, FlowError> {
        let beside = path.and_then(Path::parent).map(|folder| folder.join(TEST_RECORDING));
        match beside.filter(|recording| recording.is_file()) {
            Some(recording) => Evidence::read(&recording).map(Some),
            None => self.workspace_evidence(&package.frontmatter),
        }
    }

    fn workspace_evidence(&self, frontmatter: &Frontmatter) -> Result<Option<Evidence>, FlowError> {
        let Some(name) = &frontmatter.provenance.workspace else { return Ok(None) };
        if frontmatter.provenance.commands.is_empty() || !self.home.workspace_dir(name).is_dir() {
            return Ok(None);
        }
        let workspace = Workspace::open(&self.home, name)?;
        let trace = Trace::read(&workspace)?;
        let mut calls = Vec::new();
        for command in &frontmatter.provenance.commands {
            let call = trace.calls.iter().find(|call| call.command == *command && call.state == ResponseState::Ok);
            // The workspace was cleaned or made anew under the same name: what is left proves nothing.
            let Some(call) = call else { return Ok(None) };
            calls.push(exchange(&workspace, call)?);
        }
        let (source, parameters) = (format!("workspace {name}"), examples(frontmatter));
        Ok(Some(Evidence { source, flow: None, parameters, calls, tape: None, expected: None }))
    }
}

/// The recorded values of the parameters, which crystallize keeps as examples; else their defaults.
fn examples(frontmatter: &Frontmatter) -> Map<String, Value> {
    let value = |schema: &Value| schema.pointer("/examples/0").or_else(|| schema.get("default")).cloned();
    let pairs = frontmatter.parameter_schemas().filter_map(|(name, schema)| Some((name.to_owned(), value(schema)?)));
    pairs.collect()
}
