//! Steps that are shown while a flow runs.

use crate::Result;
use crate::host::{HostHandle, StepState};

/// The steps of the live progress. A label that is new starts a step.
#[derive(Debug, Clone)]
pub struct Steps {
    pub(crate) host: HostHandle,
}

impl Steps {
    /// Runs `work` as a step: shown as running, then as done or failed. Returns what `work` returns.
    ///
    /// ```
    /// # use rote_sdk::{Result, json};
    /// # use rote_sdk::testing::FakeHost;
    /// # fn main() -> Result<()> {
    /// # let host = FakeHost::new();
    /// # host.on("github", "repos/get").json(json!({}));
    /// # let cx = host.rote();
    /// let repository = cx.tasks().run("read the repository", || cx.adapter("github").call("repos/get", &()))?;
    /// # assert_eq!(host.steps().last().unwrap().1, "done");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `work`.
    pub fn run<T>(&self, label: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.host.progress(label, StepState::Running);
        let outcome = work();
        self.host.progress(label, if outcome.is_ok() { StepState::Done } else { StepState::Failed });
        outcome
    }

    /// Shows a step as left out.
    pub fn skip(&self, label: &str) {
        self.host.progress(label, StepState::Skipped);
    }
}
