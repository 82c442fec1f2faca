//! Testing a flow by its recording: run twice with no network, both times byte for byte what was recorded. Of
//! another file than the recorded one, such as the same flow written in TypeScript, the result is compared.

use std::path::PathBuf;

use rote_runtime::FlowOutcome;
use rote_types::FlowName;
use serde::Serialize;
use serde_json::Value;

use crate::error::ReplayError;
use crate::recording::{ExpectedOutput, RunRecording, is_same};
use crate::{FlowError, FlowReference, Replayer};

/// How often a recording is replayed, to notice what differs between two runs.
const TIMES: usize = 2;

/// A wish to replay a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayRequest {
    /// The flow; the recorded one when absent.
    pub flow: Option<FlowReference>,
    pub recording: PathBuf,
}

/// A replay that gave what was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayReport {
    pub flow: FlowName,
    pub version: String,
    /// Whether the file is the one that was recorded.
    pub same_file: bool,
    /// Calls that were answered.
    pub calls: usize,
    /// Recorded calls that were not asked for.
    pub unasked: Vec<String>,
    /// How often it was run.
    pub times: usize,
    /// The machine result.
    pub result: Value,
}

impl Replayer {
    /// Replays a recording.
    ///
    /// # Errors
    /// [`ReplayError::Stale`] when the flow asks for what was not recorded, [`ReplayError::Differs`] when it gives
    /// something else, [`ReplayError::Failed`] when it fails where the recorded run did not.
    pub async fn test(&self, request: &ReplayRequest) -> Result<ReplayReport, FlowError> {
        let recording = RunRecording::read(&request.recording)?;
        let reference = match &request.flow {
            Some(flow) => flow.clone(),
            None => FlowReference::Name(recording.flow.clone()),
        };
        let (_, package) = self.library.load(&reference)?;
        let same_file = package.digest() == recording.sha256;
        let mut expected = recording.expected.clone();
        let mut last = None;
        for _ in 0..TIMES {
            let replayed =
                self.replay(&package, recording.parameters.clone(), &recording.calls, Some(&recording.tape)).await?;
            let outcome = match (replayed.outcome, &expected) {
                (Ok(outcome), _) => outcome,
                // The recorded run failed as well; that it fails again is what was expected.
                (Err(_), None) => {
                    last = Some((replayed.answered, replayed.unasked));
                    continue;
                }
                (Err(error), Some(_)) => {
                    return Err(FlowError::Replay(ReplayError::failed(error)));
                }
            };
            let mut given = given(outcome);
            let expected = expected.get_or_insert_with(|| given.clone());
            if !same_file {
                // Another program may say it in other words; what it returns is what counts.
                given = ExpectedOutput { result: given.result, ..expected.clone() };
            }
            compare(expected, &given)?;
            last = Some((replayed.answered, replayed.unasked));
        }
        let (calls, unasked) = last.unwrap_or_default();
        Ok(ReplayReport {
            flow: package.frontmatter.name.clone(),
            version: package.frontmatter.version.clone(),
            same_file,
            calls,
            unasked,
            times: TIMES,
            result: expected.map_or(Value::Null, |expected| expected.result),
        })
    }
}

fn given(outcome: FlowOutcome) -> ExpectedOutput {
    ExpectedOutput { result: outcome.result, human: outcome.human, summary: outcome.summary }
}

fn compare(expected: &ExpectedOutput, given: &ExpectedOutput) -> Result<(), FlowError> {
    if is_same(expected, given) {
        return Ok(());
    }
    let value = |output: &ExpectedOutput| Box::new(serde_json::to_value(output).unwrap_or(Value::Null));
    Err(FlowError::Replay(ReplayError::Differs { recorded: value(expected), replayed: value(given) }))
}
