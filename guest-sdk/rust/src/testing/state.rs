//! What a fake host knows and has seen.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::host::{HostHandle, ToolCall};
use crate::response::Reference;
use crate::{AdapterStatus, Cause, Error, Problem, Response, Result, ToolMatch};

/// One call of a tool, as a flow made it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// The adapter's id.
    pub adapter: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// Whether the flow gave it up.
    pub is_cancelled: bool,
}

/// What answers are written down for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Tool { adapter: String, tool: String },
    Flow { name: String },
}

/// One answer.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Body { status: u16, body: Value },
    Failure(Error),
}

/// An answer with what it is for.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    /// Members that the arguments must have.
    pub(super) with: Option<Value>,
    pub(super) answer: Answer,
    pub(super) is_used: bool,
}

/// A call in the background: its place among the calls, and its answer until it is waited for.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) call: usize,
    pub(super) outcome: Option<Result<Response>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) entries: Vec<Entry>,
    pub(super) statuses: BTreeMap<String, AdapterStatus>,
    pub(super) tools: BTreeMap<String, Vec<ToolMatch>>,
    pub(super) variables: BTreeMap<String, Value>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Milliseconds since 1970.
    pub(super) started_at: u64,
    /// Milliseconds since the start.
    pub(super) elapsed: u64,
    /// Milliseconds of those that the flow waited.
    pub(super) slept: u64,
    pub(super) randomness: u64,

    pub(super) calls: Vec<Call>,
    /// The body of each response; none for a call that got none.
    pub(super) bodies: Vec<Option<Value>>,
    pub(super) background: Vec<Background>,
    pub(super) flow_runs: Vec<(String, Value)>,
    pub(super) human: Vec<String>,
    pub(super) summary: Vec<String>,
    pub(super) result: Option<Value>,
    pub(super) log: Vec<(String, String)>,
    pub(super) steps: Vec<(String, String)>,
}

impl State {
    /// Records a call and answers it.
    pub(super) fn call(&mut self, host: &HostHandle, call: ToolCall) -> Result<Response> {
        let ToolCall { adapter, tool, arguments } = call;
        let arguments: Value = serde_json::from_str(&arguments)?;
        if !arguments.is_object() {
            return Err(invalid("/arguments", "not an object"));
        }
        let subject = Subject::Tool { adapter: adapter.clone(), tool: tool.clone() };
        let answer = self.answer(&subject, &arguments);
        self.calls.push(Call { adapter, tool, arguments, is_cancelled: false });
        match answer? {
            Answer::Failure(error) => {
                self.bodies.push(None);
                Err(error)
            }
            Answer::Body { status, body } => {
                let reference = Reference {
                    id: self.bodies.len() as u64 + 1,
                    status,
                    content_type: "application/json".to_owned(),
                    bytes: body.to_string().len() as u64,
                };
                self.bodies.push(Some(body));
                let response = Response { host: host.clone(), reference };
                if is_failure(status) { Err(Cause::Http(response).into()) } else { Ok(response) }
            }
        }
    }

    /// Returns the first unused answer that fits, or else the last one that fits.
    pub(super) fn answer(&mut self, subject: &Subject, arguments: &Value) -> Result<Answer> {
        let fits = |entry: &Entry| {
            entry.subject == *subject && entry.with.as_ref().is_none_or(|with| contains(arguments, with))
        };
        let fitting = |entries: &[Entry], is_used: bool| {
            let mut positions = (0..entries.len()).filter(|&at| fits(&entries[at]) && entries[at].is_used == is_used);
            if is_used { positions.next_back() } else { positions.next() }
        };
        let position = fitting(&self.entries, false).or_else(|| fitting(&self.entries, true));
        match position.and_then(|position| self.entries.get_mut(position)) {
            Some(entry) => {
                entry.is_used = true;
                Ok(entry.answer.clone())
            }
            None => Err(Error::not_found(match subject {
                Subject::Tool { adapter, tool } => format!("the test has no answer for `{adapter}/{tool}` {arguments}"),
                Subject::Flow { name } => format!("the test has no answer for the flow `{name}` {arguments}"),
            })),
        }
    }

    /// Returns an adapter's status; one that the test said nothing of is installed as expected.
    pub(super) fn status_mut(&mut self, adapter: &str) -> &mut AdapterStatus {
        self.statuses.entry(adapter.to_owned()).or_insert_with(|| AdapterStatus {
            adapter: adapter.to_owned(),
            expected: Some(format!("fake_{adapter}")),
            installed: Some(format!("fake_{adapter}")),
            matches: true,
            drift: json!(null),
            credentials: Vec::new(),
        })
    }

    /// Returns the next random byte (SplitMix64, the upper bits).
    pub(super) fn random_byte(&mut self) -> u8 {
        self.randomness = self.randomness.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.randomness;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed.to_be_bytes()[0]
    }
}

/// Whether the caller of a tool is told of a failure, by the host's rule: 304 answers a condition that the caller set.
fn is_failure(status: u16) -> bool {
    status >= 300 && status != 304
}

/// Whether every member of `part` is in `whole` with the same value.
fn contains(whole: &Value, part: &Value) -> bool {
    match part.as_object() {
        Some(members) => members.iter().all(|(name, value)| whole.get(name) == Some(value)),
        None => whole == part,
    }
}

pub(super) fn invalid(pointer: &str, message: &str) -> Error {
    Cause::InvalidInput(vec![Problem { pointer: pointer.to_owned(), message: message.to_owned() }]).into()
}
