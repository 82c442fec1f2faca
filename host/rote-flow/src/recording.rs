//! A recording: everything that one run was told, in one file, so that it can be run again with nothing else.
//!
//! Made from the run's workspace, whose responses are redacted already, so no secret of the vault is in it.
//! Response headers are left out: a flow never sees them, and cookies would be among them.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rote_gate::Redaction;
use rote_home::{FileMode, read_capped, write_durable};
use rote_types::{AdapterId, FlowName, Method, Sha256Digest, ToolCall, exact_json};
use rote_workspace::{Body, StoredResponse, Workspace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::PackageError;
use crate::tape::{Frame, Recorded};
use crate::trace::{RecordedCall, Trace};
use crate::{FlowError, Package};

/// The replay test in the folder of a crystallized flow.
pub(crate) const TEST_RECORDING: &str = "test.rec";

/// Version of the file.
pub(crate) const VERSION: u32 = 1;
/// Most bytes of a recording.
const MAX_RECORDING_BYTES: u64 = 256 << 20;
/// Most bytes of a recorded artifact.
const MAX_ARTIFACT_BYTES: u64 = 256 << 20;

/// Everything that one run was told, and what it made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecording {
    /// Version of this shape: 1.
    pub recording: u32,
    pub flow: FlowName,
    pub version: String,
    /// Digest of its file.
    pub sha256: Sha256Digest,
    pub parameters: Map<String, Value>,
    /// Its calls, in the order of their numbers.
    pub calls: Vec<RecordedExchange>,
    /// What it was told beside responses, in order.
    pub(crate) tape: Vec<Frame>,
    /// What it gave; absent when it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedOutput>,
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedOutput {
    /// The machine result.
    pub result: Value,
    /// Lines for a person.
    pub human: Vec<String>,
    /// Lines for a log or a chat.
    pub summary: Vec<String>,
}

/// One call and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedExchange {
    pub adapter: AdapterId,
    pub tool: String,
    /// The tool's method.
    pub method: Method,
    /// The arguments as sent.
    pub arguments: Value,
    /// The answer, or why there is none.
    pub outcome: ExchangeOutcome,
}

/// What came of a recorded call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum ExchangeOutcome {
    /// The remote answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// Media type.
        content_type: String,
        body: RecordedBody,
        /// It was cut off at a bound.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// It says in a success that the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
    /// Nothing came back.
    Failed {
        /// Why.
        message: String,
    },
}

/// A body, in the form that is easiest to read in a diff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedBody {
    /// Nothing.
    Empty,
    /// A JSON text, as it came.
    Json(String),
    Text(String),
    /// Anything else, as base64.
    Base64(String),
}

impl RunRecording {
    /// A recording without what came of it.
    pub(crate) fn new(package: &Package, parameters: Map<String, Value>, calls: Vec<RecordedExchange>) -> Self {
        Self {
            recording: VERSION,
            flow: package.frontmatter.name.clone(),
            version: package.frontmatter.version.clone(),
            sha256: package.digest(),
            parameters,
            calls,
            tape: Vec::new(),
            expected: None,
        }
    }

    /// Makes the recording of a run from its workspace and what it gave, where it ended well.
    pub(crate) fn of_run(workspace: &Workspace, expected: Option<ExpectedOutput>) -> Result<Self, FlowError> {
        let tape = Recorded::read(workspace)?.ok_or_else(|| FlowError::Usage {
            message: format!("workspace `{}` is not one of a run", workspace.name()),
        })?;
        let told: BTreeSet<_> = tape.frames.iter().filter_map(Frame::response).collect();
        let mut calls = Vec::new();
        for call in &Trace::read(workspace)?.calls {
            let exchange = exchange(workspace, call)?;
            // A refusal that an earlier attempt stopped at is nothing that this run was told.
            if told.contains(&call.response) || matches!(exchange.outcome, ExchangeOutcome::Answered { .. }) {
                calls.push(exchange);
            }
        }
        let header = tape.header;
        Ok(Self {
            recording: VERSION,
            flow: header.flow,
            version: header.version,
            sha256: header.sha256,
            parameters: header.parameters,
            calls,
            tape: tape.frames,
            expected,
        })
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// [`PackageError::Malformed`] for another version or shape, naming the file.
    pub fn read(path: &Path) -> Result<Self, FlowError> {
        let bytes = read_capped(path, MAX_RECORDING_BYTES)?;
        Self::parse(&bytes).map_err(|message| {
            let message = format!("`{}`: {message}", path.display());
            FlowError::Package(PackageError::Malformed { what: "recording", message })
        })
    }

    /// Understands the bytes of a recording.
    ///
    /// # Errors
    /// What is wrong, for another version or shape.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            recording: u32,
        }
        let Versioned { recording } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if recording != VERSION {
            return Err(format!("it has version {recording}; this rote reads {VERSION}"));
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// Writes it to a file of the person's choice, unless a value of the vault stands in it: one that was stored there
    /// only after it was recorded.
    ///
    /// # Errors
    /// [`FlowError::Known`], or the file cannot be written.
    pub fn write(&self, path: &Path, redaction: &Redaction) -> Result<(), FlowError> {
        Ok(write_durable(path, &self.bytes(path, redaction)?, FileMode::Private)?)
    }

    /// The file for this path, checked.
    pub(crate) fn bytes(&self, path: &Path, redaction: &Redaction) -> Result<Vec<u8>, FlowError> {
        let malformed = |error: serde_json::Error| {
            FlowError::Package(PackageError::Malformed { what: "recording", message: error.to_string() })
        };
        redaction
            .refuse(&format!("recording `{}`", path.display()), &serde_json::to_value(self).map_err(malformed)?)?;
        Ok((serde_json::to_string_pretty(self).map_err(malformed)? + "\n").into_bytes())
    }
}

/// Whether two replays gave the same; the order of members does not count, each digit of a whole number does.
pub(crate) fn is_same<T: Serialize>(one: &T, other: &T) -> bool {
    exact_json(one).ok() == exact_json(other).ok()
}

/// Makes the exchange of a call in a workspace.
pub(crate) fn exchange(workspace: &Workspace, call: &RecordedCall) -> Result<RecordedExchange, FlowError> {
    let outcome = match workspace.response(call.response) {
        Ok(stored) if stored.summary.status.is_some() => answered(workspace, stored)?,
        _ => ExchangeOutcome::Failed { message: call.error.clone().unwrap_or_else(|| "no outcome".to_owned()) },
    };
    let ToolCall { adapter, tool, arguments } = call.call();
    Ok(RecordedExchange { adapter, tool, method: call.method, arguments, outcome })
}

fn answered(workspace: &Workspace, stored: StoredResponse) -> Result<ExchangeOutcome, FlowError> {
    let refused = stored.reference().refused;
    let body = match stored.body {
        Body::Empty => RecordedBody::Empty,
        Body::Json(text) => RecordedBody::Json(text),
        Body::Text { text, .. } => RecordedBody::Text(text),
        Body::Binary { path, .. } => {
            RecordedBody::Base64(STANDARD.encode(read_capped(&workspace.folder().join(path), MAX_ARTIFACT_BYTES)?))
        }
    };
    Ok(ExchangeOutcome::Answered {
        refused,
        status: stored.summary.status.unwrap_or(200),
        content_type: stored.summary.content_type,
        body,
        truncated: stored.truncated,
    })
}

impl ExchangeOutcome {
    /// The body's bytes and its media type as they are recorded again.
    pub(crate) fn content(&self) -> Result<(Vec<u8>, String), FlowError> {
        let Self::Answered { content_type, body, .. } = self else {
            return Ok((Vec::new(), String::new()));
        };
        Ok(match body {
            RecordedBody::Empty => (Vec::new(), content_type.clone()),
            RecordedBody::Json(text) => (text.clone().into_bytes(), content_type.clone()),
            // The stored text is UTF-8, whatever it was on the wire.
            RecordedBody::Text(text) => (text.clone().into_bytes(), format!("{content_type}; charset=utf-8")),
            RecordedBody::Base64(text) => {
                let bytes = STANDARD.decode(text).map_err(|error| {
                    FlowError::Package(PackageError::Malformed {
                        what: "recording",
                        message: format!("a body is not base64: {error}"),
                    })
                })?;
                (bytes, content_type.clone())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_with_neighbouring_ids_beyond_2_to_the_53_differ() {
        let result = |id: u64| json!({"id": id, "of": 2});
        assert!(!is_same(&result(13_911_860_366_432_393), &result(13_911_860_366_432_392)));
        assert!(is_same(&result(13_911_860_366_432_393), &json!({"of": 2.0, "id": 13_911_860_366_432_393_u64})));
    }
}
