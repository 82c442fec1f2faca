//! Writing answers down.

use serde_json::Value;

use super::fake::FakeHost;
use super::state::{Answer, Entry, Subject};
use crate::Error;

/// Answers for one tool or flow. They are given in their order, and the last one again when there is no other.
#[derive(Debug)]
pub struct Script {
    host: FakeHost,
    subject: Subject,
    with: Option<Value>,
}

impl Script {
    pub(super) fn new(host: FakeHost, subject: Subject) -> Self {
        Self { host, subject, with: None }
    }

    /// Restricts the answers that follow to calls whose arguments have these members, with these values.
    pub fn with(mut self, members: Value) -> Self {
        self.with = Some(members);
        self
    }

    /// Answers with a JSON body and status 200; for a flow, with this result.
    pub fn json(self, body: Value) -> Self {
        self.status(200, body)
    }

    /// Answers with a status from 100 to 599 and a JSON body. From 300 on, but 304, the flow sees
    /// [`Cause::Http`](crate::Cause::Http).
    pub fn status(self, status: u16, body: Value) -> Self {
        self.add(Answer::Body { status, body })
    }

    /// Answers with an error.
    pub fn fail(self, error: Error) -> Self {
        self.add(Answer::Failure(error))
    }

    fn add(self, answer: Answer) -> Self {
        let entry = Entry { subject: self.subject.clone(), with: self.with.clone(), answer, is_used: false };
        self.host.state().entries.push(entry);
        self
    }
}
