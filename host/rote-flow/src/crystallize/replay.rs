//! The replay check: the emitted component, run against the recorded responses. The result must be the recorded
//! one, whole numbers with all of their digits. What was replayed becomes the flow's replay test.

use serde_json::Value;

use super::parameters::Parameters;
use crate::error::ReplayError;
use crate::recording::{ExpectedOutput, RecordedExchange, RunRecording, is_same};
use crate::{FlowError, Package, Replayer};

/// Replays the package; returns the number of calls that it made and the recording that it was run against.
pub(crate) async fn replay(
    replayer: &Replayer,
    package: &Package,
    calls: Vec<RecordedExchange>,
    parameters: &Parameters,
    recorded: &Value,
) -> Result<(usize, RunRecording), FlowError> {
    let replayed = replayer.replay(package, parameters.examples(), &calls, None).await?;
    let outcome = replayed.outcome.map_err(|error| FlowError::Replay(ReplayError::failed(error)))?;
    let result = outcome.result;
    if !is_same(&result, recorded) {
        return Err(FlowError::Replay(ReplayError::Differs {
            recorded: Box::new(recorded.clone()),
            replayed: Box::new(result),
        }));
    }
    let recording = RunRecording {
        expected: Some(ExpectedOutput { result, human: outcome.human, summary: outcome.summary }),
        tape: replayed.tape,
        ..RunRecording::new(package, parameters.examples(), calls)
    };
    Ok((replayed.answered, recording))
}
