//! What a run does, while it does it: a tree of its steps on a terminal, a line for each that ended elsewhere.
//!
//! It goes to stderr and is decoration: the result of a run says the same afterwards.

mod lines;
mod tree;

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::ProgressDrawTarget;
use rote_app::{Observer, ResponseRef, RunError, StepState, ToolCall};
use rote_types::{Classify, ErrorKind, ResponseId};

use crate::render::units::{clip, milliseconds};
use lines::Lines;
use tree::Tree;

/// Most steps that are watched at once; further ones run unshown.
const MAX_OPEN: usize = 1_000;
/// Most characters of one line.
const MAX_TEXT: usize = 300;
/// Most characters of what is said of a failure.
const MAX_ERROR: usize = 100;

/// Where the steps of a run are shown.
pub enum Place {
    /// Nowhere.
    Nowhere,
    /// On a terminal that can be drawn on.
    Terminal(ProgressDrawTarget),
    /// In a log or a pipe, line by line.
    Lines(Box<dyn Write + Send>),
}

impl Place {
    /// Returns where stderr shows them.
    pub fn stderr(terminal: bool) -> Self {
        if terminal { Self::Terminal(ProgressDrawTarget::stderr()) } else { Self::Lines(Box::new(std::io::stderr())) }
    }
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    Skipped,
}

/// A step or a call that began.
struct Open {
    text: String,
    /// The step that a call belongs to.
    parent: Option<String>,
    since: Instant,
    /// How many calls were shown below it.
    calls: usize,
}

impl Open {
    fn time(&self) -> String {
        milliseconds(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// One way to show steps.
trait Show: Send {
    /// A step began. Its parent, if it has one, is shown.
    fn start(&mut self, key: &str, step: &Open);
    /// A step ended; `text` is all there is to say of it.
    fn end(&mut self, key: &str, step: &Open, end: End, text: &str);
    /// Nothing more comes.
    fn finish(&mut self);
}

/// The steps of one run.
pub struct Progress(Option<Mutex<Watched>>);

struct Watched {
    show: Box<dyn Show>,
    open: HashMap<String, Open>,
    /// Keys of the flow's own steps that run, in the order of their start.
    running: Vec<String>,
}

impl Progress {
    /// Returns a display of one run.
    pub fn new(place: Place) -> Arc<Self> {
        let show: Box<dyn Show> = match place {
            Place::Nowhere => return Arc::new(Self(None)),
            Place::Terminal(target) => Box::new(Tree::new(target)),
            Place::Lines(out) => Box::new(Lines::new(out)),
        };
        Arc::new(Self(Some(Mutex::new(Watched { show, open: HashMap::new(), running: Vec::new() }))))
    }

    /// Leaves the finished lines and gives the terminal back.
    pub fn finish(&self) {
        if let Some(mut watched) = self.watched() {
            watched.show.finish();
        }
    }

    fn watched(&self) -> Option<MutexGuard<'_, Watched>> {
        self.0.as_ref().map(|watched| watched.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Watched {
    fn start(&mut self, key: &str, text: &str, parent: Option<String>) {
        if self.open.len() >= MAX_OPEN || self.open.contains_key(key) {
            return;
        }
        if let Some(parent) = parent.as_ref().and_then(|parent| self.open.get_mut(parent)) {
            parent.calls += 1;
        }
        let step = Open { text: clip(text, MAX_TEXT), parent, since: Instant::now(), calls: 0 };
        self.show.start(key, &step);
        self.open.insert(key.to_owned(), step);
    }

    fn end(&mut self, key: &str, end: End, text: &str) {
        self.running.retain(|running| running != key);
        if let Some(step) = self.open.remove(key) {
            self.show.end(key, &step, end, &clip(text, MAX_TEXT));
        }
    }

    /// The step that a call belongs to: the last begun that names the called tool, as a plan's do, else the last.
    fn parent(&self, tool: &str) -> Option<String> {
        let naming = self.running.iter().rev().find(|key| key.ends_with(tool));
        naming.or_else(|| self.running.last()).cloned()
    }
}

impl Observer for Progress {
    fn call_started(&self, response: ResponseId, call: &ToolCall) {
        let Some(mut watched) = self.watched() else { return };
        let tool = format!("{}/{}", call.adapter, call.tool);
        let parent = watched.parent(&tool);
        watched.start(&response.to_string(), &format!("{response}  {tool}"), parent);
    }

    fn call_ended(&self, response: ResponseId, call: &ToolCall, outcome: Result<&ResponseRef, &RunError>) {
        let Some(mut watched) = self.watched() else { return };
        let (end, what) = match outcome {
            Ok(answer) => (End::Done, answer.status.to_string()),
            // Not a failure: the run stops here until somebody confirms it.
            Err(error) if error.kind() == ErrorKind::ConfirmationNeeded => (End::Skipped, "not confirmed".to_owned()),
            Err(error) => (End::Failed, clip(&error.to_string(), MAX_ERROR)),
        };
        watched.end(&response.to_string(), end, &format!("{response}  {}/{}  {what}", call.adapter, call.tool));
    }

    fn progress(&self, label: &str, state: StepState) {
        let Some(mut watched) = self.watched() else { return };
        match state {
            StepState::Done => watched.end(label, End::Done, label),
            StepState::Failed => watched.end(label, End::Failed, label),
            StepState::Skipped => {
                watched.start(label, label, None);
                watched.end(label, End::Skipped, label);
            }
            _ => {
                watched.start(label, label, None);
                watched.running.push(label.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests;
