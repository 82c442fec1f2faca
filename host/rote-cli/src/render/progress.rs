//! What a run does, while it does it: a tree of its steps on a terminal, nothing elsewhere.
//!
//! The result of a run says the same afterwards, so that a pipe and a log miss nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rote_app::{Observer, ResponseRef, RunError, StepState, ToolCall};
use rote_types::ResponseId;

/// Time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(100);
/// Most lines that are shown; further steps run unshown.
const MAX_LINES: usize = 40;

/// The steps of one run on a terminal.
pub struct Progress {
    lines: MultiProgress,
    shown: Mutex<HashMap<String, ProgressBar>>,
    on: bool,
}

impl Progress {
    /// Returns a display; `terminal` says whether stderr is one.
    pub fn new(wanted: bool, terminal: bool) -> Arc<Self> {
        let on = wanted && terminal;
        let target = if on { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Arc::new(Self { lines: MultiProgress::with_draw_target(target), shown: Mutex::default(), on })
    }

    /// Leaves the finished lines and gives the terminal back.
    pub fn finish(&self) {
        for line in self.shown().values().filter(|line| !line.is_finished()) {
            line.abandon();
        }
    }

    fn shown(&self) -> MutexGuard<'_, HashMap<String, ProgressBar>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, key: &str, text: String) {
        let mut shown = self.shown();
        if !self.on || shown.len() >= MAX_LINES || shown.contains_key(key) {
            return;
        }
        let line = self.lines.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg}  {elapsed}") {
            line.set_style(style);
        }
        line.set_message(text);
        line.enable_steady_tick(FRAME);
        shown.insert(key.to_owned(), line);
    }

    fn end(&self, key: &str, mark: char, text: &str) {
        let shown = self.shown();
        let Some(line) = shown.get(key) else { return };
        if let Ok(style) = ProgressStyle::with_template("  {msg}  {elapsed}") {
            line.set_style(style);
        }
        line.finish_with_message(format!("{mark} {text}"));
    }
}

impl Observer for Progress {
    fn call_started(&self, response: ResponseId, call: &ToolCall) {
        self.start(&response.to_string(), format!("{response} {}/{}", call.adapter, call.tool));
    }

    fn call_ended(&self, response: ResponseId, call: &ToolCall, outcome: Result<&ResponseRef, &RunError>) {
        let (mark, what) = match outcome {
            Ok(answer) => ('✓', answer.status.to_string()),
            Err(_) => ('✗', "failed".to_owned()),
        };
        self.end(&response.to_string(), mark, &format!("{response} {}/{}  {what}", call.adapter, call.tool));
    }

    fn progress(&self, label: &str, state: StepState) {
        match state {
            StepState::Done => self.end(label, '✓', label),
            StepState::Failed => self.end(label, '✗', label),
            StepState::Skipped => {
                self.start(label, label.to_owned());
                self.end(label, '-', label);
            }
            _ => self.start(label, label.to_owned()),
        }
    }
}
