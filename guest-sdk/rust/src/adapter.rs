//! Adapters: calls of their tools.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::{HostHandle, ToolCall};
use crate::{AdapterStatus, Cause, Problem, Response, Result, Task, json};

/// An installed adapter, by its id.
#[derive(Debug, Clone)]
pub struct Adapter {
    pub(crate) host: HostHandle,
    pub(crate) id: String,
}

/// A tool that fits an intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolMatch {
    /// Its name, as [`Adapter::call`] takes it.
    pub tool: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// Its HTTP method.
    #[serde(default)]
    pub method: String,
    /// How well it fits; higher is better, and comparable only within one answer.
    #[serde(default)]
    pub score: f64,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Value,
}

impl Adapter {
    pub(crate) fn new(host: HostHandle, endpoint: &str) -> Self {
        Self { host, id: endpoint.strip_prefix("adapter/").unwrap_or(endpoint).to_owned() }
    }

    /// Returns its id, without `adapter/`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Calls a tool and waits for the answer. `arguments` becomes a JSON object; `&()` is the empty one.
    ///
    /// ```
    /// # use rote_sdk::{Result, Rote, json};
    /// # use rote_sdk::testing::FakeHost;
    /// # fn main() -> Result<()> {
    /// # let host = FakeHost::new();
    /// # host.on("github", "repos/get").json(json!({"stargazers_count": 7}));
    /// # let cx = host.rote();
    /// let repository = cx.adapter("github").call("repos/get", &json!({"owner": "octocat", "repo": "hello"}))?;
    /// let stars: u64 = repository.query(".stargazers_count")?;
    /// # assert_eq!(stars, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Cause::Http`](crate::Cause::Http) carries the recorded answer when its status is 300 or above, but 304; every other variant but
    /// [`Cause::Flow`](crate::Cause::Flow) says why there is no answer. [`Cause::Flow`](crate::Cause::Flow) when the arguments have no JSON form.
    pub fn call<A: Serialize + ?Sized>(&self, tool: &str, arguments: &A) -> Result<Response> {
        self.host.call(self.tool_call(tool, arguments)?)
    }

    /// Starts a call and returns at once. Response numbers are given in the order of the starts.
    ///
    /// # Errors
    /// When the call cannot be started; what becomes of it is what [`Task::wait`] returns.
    pub fn call_bg<A: Serialize + ?Sized>(&self, tool: &str, arguments: &A) -> Result<Task> {
        let number = self.host.start(self.tool_call(tool, arguments)?)?;
        Ok(Task::new(self.host.clone(), number))
    }

    /// Makes several calls at once and waits for all; the answers stand in the order of the calls. At most 1,000.
    ///
    /// # Errors
    /// [`Cause::Flow`](crate::Cause::Flow) when arguments have no JSON form; then no call is made. Each answer has its own errors.
    pub fn batch_call<T, A>(&self, calls: impl IntoIterator<Item = (T, A)>) -> Result<Vec<Result<Response>>>
    where
        T: AsRef<str>,
        A: Serialize,
    {
        let calls = calls.into_iter().map(|(tool, arguments)| self.tool_call(tool.as_ref(), &arguments));
        Ok(self.host.batch(calls.collect::<Result<_>>()?))
    }

    /// Ranks the adapter's tools by what they are wanted for, best first; at most `limit`, which the host caps at 50.
    ///
    /// # Errors
    /// [`Cause::Denied`](crate::Cause::Denied) when the flow did not declare the adapter, [`Cause::NotFound`](crate::Cause::NotFound) when it is not installed.
    pub fn probe(&self, intent: &str, limit: u32) -> Result<Vec<ToolMatch>> {
        let matches = self.host.probe(&self.id, intent, limit)?;
        matches.iter().map(|text| read_answer(text)).collect()
    }

    /// Says how the adapter stands: its fingerprint, the expected one, and which credentials are there.
    ///
    /// # Errors
    /// [`Cause::Denied`](crate::Cause::Denied) when the flow did not declare the adapter, [`Cause::NotFound`](crate::Cause::NotFound) when it is not installed.
    pub fn status(&self) -> Result<AdapterStatus> {
        read_answer(&self.host.status(&self.id)?)
    }

    /// Returns the fingerprint that the flow's frontmatter pins, if it pins one.
    ///
    /// # Errors
    /// See [`Adapter::status`].
    pub fn expected_fingerprint(&self) -> Result<Option<String>> {
        Ok(self.status()?.expected)
    }

    /// Returns the adapter once its installed fingerprint is `fingerprint`.
    ///
    /// # Errors
    /// [`Cause::FingerprintMismatch`](crate::Cause::FingerprintMismatch) when it is another (blame: drift; a retry helps after re-pinning), and see
    /// [`Adapter::status`].
    pub fn with_fingerprint(self, fingerprint: &str) -> Result<Self> {
        let status = self.status()?;
        match status.installed {
            Some(installed) if installed == fingerprint => Ok(self),
            installed => Err(crate::status::mismatch(&self.id, fingerprint, installed.as_deref())),
        }
    }

    fn tool_call<A: Serialize + ?Sized>(&self, tool: &str, arguments: &A) -> Result<ToolCall> {
        let arguments = match serde_json::to_string(arguments)? {
            // `()` and a unit struct.
            null if null == "null" => "{}".to_owned(),
            arguments => arguments,
        };
        Ok(ToolCall { adapter: self.id.clone(), tool: tool.to_owned(), arguments })
    }
}

/// Reads an answer of the host that is not a flow's to judge.
fn read_answer<T: DeserializeOwned>(text: &str) -> Result<T> {
    let broken = |Problem { pointer, message }| {
        Cause::Internal(format!("the host's answer is not as expected: {pointer} {message}")).into()
    };
    json::read(text).map_err(broken)
}
