//! Calls in the background.

use crate::host::HostHandle;
use crate::{Response, Result};

/// A call that was started. A task that is dropped goes on: the flow's end waits for it, and its answer is recorded.
#[derive(Debug)]
#[must_use = "wait for it or cancel it"]
pub struct Task {
    host: HostHandle,
    number: u32,
    is_done: bool,
}

impl Task {
    pub(crate) fn new(host: HostHandle, number: u32) -> Self {
        Self { host, number, is_done: false }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Adapter::call`](crate::Adapter::call); [`Cause::InvalidInput`](crate::Cause::InvalidInput) when
    /// [`wait_any`] returned the answer already.
    pub fn wait(self) -> Result<Response> {
        self.host.wait_any(&[self.number])?.1
    }

    /// Gives the call up. When it was not sent yet, it is not sent; a write that was is recorded as in doubt.
    ///
    /// # Errors
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when its answer was waited for already.
    pub fn cancel(self) -> Result<()> {
        self.host.cancel(self.number)
    }

    /// Whether [`wait_any`] has returned its answer.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done
    }
}

/// Waits for the next of `tasks` to be done; returns its position and its answer, or nothing when all are done.
///
/// ```
/// # use rote_sdk::{Result, json, wait_any};
/// # use rote_sdk::testing::FakeHost;
/// # fn main() -> Result<()> {
/// # let host = FakeHost::new();
/// # host.on("github", "repos/get").json(json!({}));
/// # let cx = host.rote();
/// let github = cx.adapter("github");
/// let mut tasks = vec![github.call_bg("repos/get", &json!({"repo": "a"}))?, github.call_bg("repos/get", &json!({"repo": "b"}))?];
/// while let Some((position, answer)) = wait_any(&mut tasks)? {
///     cx.log().info(format!("{position}: {}", answer?.status()));
/// }
/// # assert_eq!(host.log().len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the host cannot wait. What became of a call is the inner result.
pub fn wait_any(tasks: &mut [Task]) -> Result<Option<(usize, Result<Response>)>> {
    let (positions, numbers): (Vec<usize>, Vec<u32>) = tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| !task.is_done)
        .map(|(position, task)| (position, task.number))
        .unzip();
    let Some(host) = tasks.first().filter(|_| !numbers.is_empty()).map(|task| &task.host) else {
        return Ok(None);
    };
    let (done, answer) = host.wait_any(&numbers)?;
    let position = usize::try_from(done).ok().and_then(|done| positions.get(done).copied());
    let Some((position, task)) = position.and_then(|position| Some((position, tasks.get_mut(position)?))) else {
        return Err(crate::Cause::Internal("the host named a task that was not waited for".to_owned()).into());
    };
    task.is_done = true;
    Ok(Some((position, answer)))
}

/// Waits for all of `tasks`; the answers stand in the order of the tasks.
pub fn join_all(tasks: impl IntoIterator<Item = Task>) -> Vec<Result<Response>> {
    tasks.into_iter().map(Task::wait).collect()
}
