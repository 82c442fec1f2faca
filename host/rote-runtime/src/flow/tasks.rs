//! `rote:host/tasks`: waiting for calls, giving them up, showing steps.

use rote_types::ResponseId;

use super::{FlowState, invalid, read_answer, write_answer};
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::flow::rote::host::tasks;
use crate::error::RunError;
use crate::tape::{Delivered, StepState, wait_any};
use crate::tasks::Outcome;
use rote_types::clean_line;

/// Most bytes of a step's label.
const LABEL_BYTES: usize = 200;
/// Most failed steps that are remembered: one is enough to call a run partial.
const FAILED_STEPS: usize = 1_000;

type Answer = Result<wit::ResponseRef, wit::Error>;

impl tasks::Host for FlowState {
    async fn wait_any(&mut self, tasks: Vec<u32>) -> wasmtime::Result<Result<(u32, Answer), wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &mut self.run else {
            return Ok(Err(self.remembered.tell(RunError::Describing)));
        };
        if tasks.is_empty() || !run.tasks.are_open(&tasks) {
            let error = invalid("", "no task, or one that was never started or is waited for");
            return Ok(Err(self.remembered.tell(error)));
        }
        Ok(match self.wait_for_one(&tasks).await {
            Ok((position, outcome)) => Ok((u32::try_from(position)?, self.tell(tasks[position], outcome))),
            Err(error) => Err(self.remembered.tell(error)),
        })
    }

    async fn cancel(&mut self, task: u32) -> wasmtime::Result<Result<(), wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &mut self.run else {
            return Ok(Err(self.remembered.tell(RunError::Describing)));
        };
        Ok(if run.tasks.cancel(task) {
            Ok(())
        } else {
            Err(self.remembered.tell(invalid("", "a task that was never started or is waited for")))
        })
    }

    async fn progress(&mut self, label: String, state: tasks::State) -> wasmtime::Result<()> {
        self.enter()?;
        let state = match state {
            tasks::State::Running => StepState::Running,
            tasks::State::Done => StepState::Done,
            tasks::State::Failed => StepState::Failed,
            tasks::State::Skipped => StepState::Skipped,
        };
        let label = clean_line(&label, LABEL_BYTES);
        if let Some(run) = &self.run {
            tracing::debug!(target: "rote::guest", ?state, label);
            run.observer.progress(&label, state);
        }
        match state {
            StepState::Failed if self.failed_steps.len() < FAILED_STEPS => drop(self.failed_steps.insert(label)),
            StepState::Done => drop(self.failed_steps.remove(&label)),
            _ => {}
        }
        Ok(())
    }
}

impl Delivered {
    fn new(task: u32, response: Option<ResponseId>, outcome: &Outcome) -> Self {
        Self { task, response: response.map(|response| response.0), ok: outcome.is_ok() }
    }
}

impl FlowState {
    /// Waits for whichever ends first, or for the one that ended first when the run was recorded.
    async fn wait_for_one(&mut self, tasks: &[u32]) -> Result<(usize, Outcome), RunError> {
        let lost = || RunError::Host { message: "a tool call was lost".to_owned() };
        let question = wait_any(tasks);
        let run = self.run.as_mut().ok_or(RunError::Describing)?;
        if let Some(answer) = run.told(&question)? {
            let answer = answer.map_err(crate::tape::TapedFailure::into_error)?;
            let wanted = read_answer::<Delivered>(&question, answer)?.task;
            let position = tasks.iter().position(|task| *task == wanted).ok_or_else(lost)?;
            let (_, outcome) = run.tasks.wait_any(&[wanted]).await.ok_or_else(lost)?;
            return Ok((position, outcome));
        }
        let (position, outcome) = run.tasks.wait_any(tasks).await.ok_or_else(lost)?;
        let task = tasks[position];
        let delivered = Delivered::new(task, run.tasks.response(task), &outcome);
        run.note(&question, &Ok(write_answer(&delivered)?))?;
        Ok((position, outcome))
    }

    /// Waits for one call that the guest waits for.
    pub(super) async fn wait(&mut self, task: u32) -> Answer {
        match self.wait_for_one(&[task]).await {
            Ok((_, outcome)) => self.tell(task, outcome),
            Err(error) => Err(self.remembered.tell(error)),
        }
    }
}
