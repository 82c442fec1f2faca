//! Recorded responses.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Result;
use crate::host::HostHandle;
use crate::query::{Query, Source};

/// A recorded response. Its body stays with the host; what a flow needs of it is read with [`Response::query`].
#[derive(Clone)]
pub struct Response {
    pub(crate) host: HostHandle,
    pub(crate) reference: Reference,
}

/// What is known of a response without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) id: u64,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) bytes: u64,
}

impl Response {
    /// Returns its number in the workspace, which people see as `@7`; starts at 1.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.reference.id
    }

    /// Returns its HTTP status, from 100 to 599.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.reference.status
    }

    /// Returns its media type without parameters; empty when the remote sent none.
    #[must_use]
    pub fn content_type(&self) -> &str {
        &self.reference.content_type
    }

    /// Returns the size of its decoded body in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.reference.bytes
    }

    /// Returns the whole body. [`Response::query`] moves less into the flow when only parts are wanted.
    ///
    /// # Errors
    /// As [`Query::execute`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        self.query(".")
    }

    /// Runs a jq program on the body and returns its one output.
    ///
    /// # Errors
    /// As [`Query::execute`].
    pub fn query<T: DeserializeOwned>(&self, program: &str) -> Result<T> {
        Query::new(self.host.clone(), Source::Response(self.reference.id)).pipe(program).execute()
    }

    /// Runs a jq program with variables on the body and returns its one output. `values` has them by name without `$`;
    /// they are data whatever they hold.
    ///
    /// ```
    /// # use rote_sdk::{Result, json};
    /// # use rote_sdk::testing::FakeHost;
    /// # fn main() -> Result<()> {
    /// # let host = FakeHost::new();
    /// # host.on("github", "issues/list").json(json!([{"title": "a", "id": 7}, {"title": "b", "id": 8}]));
    /// # let cx = host.rote();
    /// let issues = cx.adapter("github").call("issues/list", &())?;
    /// let id: u64 = issues.query_with(".[] | select(.title == $title) | .id", &[("title", json!("b"))])?;
    /// # assert_eq!(id, 8);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Query::execute`].
    pub fn query_with<T: DeserializeOwned>(&self, program: &str, values: &[(&str, Value)]) -> Result<T> {
        let mut bound = String::new();
        for (name, value) in values {
            // In parentheses: jq reads `-5 as $n` as `-(5 as $n …)`.
            bound.push_str(&format!("({value}) as ${name} | "));
        }
        self.query(&(bound + program))
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reference.fmt(f)
    }
}

/// Two responses are equal when they are the same record.
impl PartialEq for Response {
    fn eq(&self, other: &Self) -> bool {
        self.reference == other.reference
    }
}

impl Eq for Response {}
