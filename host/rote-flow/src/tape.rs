//! The tape of a run in its workspace: `run.jsonl`, a header, one line for each answer, one line for the end; before the
//! answers a line for each nested run that was begun and is not among them any more.
//!
//! Invariant: a line is in the file before the guest sees the answer. A killed process leaves at most half a line
//! at the end, which is not read. What a resumed run does differently takes the rest of the tape away, but never the
//! name of a nested run.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rote_home::{FileMode, HomeError, LockGuard, append_line, read_capped, read_ends, write_atomic};
use rote_runtime::{Answer, Budget, LimitKind, RunError, Tape, TapedFailure, Told};
use rote_types::{FlowName, ResponseId, Sha256Digest, WorkspaceIdentity, WorkspaceName};
use rote_workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::FlowError;
use crate::error::{PackageError, RunnerError};

/// The file in the workspace's folder.
const FILE: &str = "run.jsonl";
/// How long the lock of a run is waited for. A run holds it to its end; a process that this one just starts, for another purpose,
/// holds a copy of a lock that is given back until it is executed.
const LOCK_WAIT: Duration = Duration::from_millis(250);
/// Version of the file.
pub(crate) const VERSION: u32 = 1;
/// Most bytes of a tape: more is neither read nor written.
const MAX_TAPE_BYTES: u64 = 512 << 20;
/// What is left of them for the line that says how the run ended.
const END_BYTES: u64 = 4 << 10;

/// What a run is a run of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the file: 1.
    pub(crate) tape: u32,
    pub(crate) flow: FlowName,
    pub(crate) version: String,
    /// Digest of the flow's file: a run goes on with exactly the flow that began it.
    pub(crate) sha256: Sha256Digest,
    /// How the person named the flow.
    pub(crate) reference: String,
    pub(crate) parameters: Map<String, Value>,
    /// The workspace of the run that this one is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<WorkspaceName>,
    /// The workspace of the run that a person started, where it is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<WorkspaceIdentity>,
}

/// One question of the guest and the host's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    #[serde(rename = "q")]
    pub(crate) question: String,
    /// `null` where there is a failure.
    #[serde(rename = "a")]
    answer: Value,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<TapedFailure>,
}

/// A nested run that is not among the answers any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// Its workspace.
    run: String,
}

/// The kind of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    #[serde(rename = "completed")]
    Completed,
    /// Something may be done about it.
    #[serde(rename = "stopped")]
    Stopped,
    /// No answer on the tape is the reason: somebody or the time stopped the run, or a run that it started left a write in
    /// doubt.
    #[serde(rename = "cut off")]
    CutOff,
    /// By a call that a person left out: it comes again for as long as that word stands.
    #[serde(rename = "left out")]
    LeftOut,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    end: End,
    /// The number of the response that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<u64>,
    /// The place among the answers of the failure that stopped it, from 0, where it is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frame: Option<u64>,
}

impl Ended {
    pub(crate) fn stopped(by: Option<ResponseId>) -> Self {
        Self { end: End::Stopped, response: by.map(|response| response.0), frame: None }
    }

    /// Stopped by a failure that is on the tape and not that of a call.
    pub(crate) fn stopped_at(frame: Option<u64>) -> Self {
        Self { frame, ..Self::stopped(None) }
    }

    pub(crate) fn cut_off() -> Self {
        Self { end: End::CutOff, response: None, frame: None }
    }

    pub(crate) fn is_stop(&self) -> bool {
        self.end == End::Stopped
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        self.end == End::CutOff
    }

    pub(crate) fn left_out(response: ResponseId) -> Self {
        Self { end: End::LeftOut, response: Some(response.0), frame: None }
    }
}

impl Frame {
    pub(crate) fn new(question: &str, answer: Answer) -> Self {
        let (answer, failure) = match answer {
            Ok(answer) => (answer, None),
            Err(failure) => (Value::Null, Some(failure)),
        };
        Self { question: question.to_owned(), answer, failure }
    }

    pub(crate) fn into_answer(self) -> Answer {
        self.failure.map_or(Ok(self.answer), Err)
    }

    /// What the guest was told.
    pub(crate) fn told(&self) -> Told<'_> {
        Told::read(&self.question, self.failure.is_none().then_some(&self.answer))
    }

    /// Whether the guest was told of a success of a call or a nested run.
    pub(crate) fn is_success(&self) -> bool {
        matches!(self.told(), Told::Call { ok: true, .. } | Told::Ended { ok: true })
    }

    /// The response that the guest was given with this answer.
    pub(crate) fn response(&self) -> Option<ResponseId> {
        match self.told() {
            Told::Call { response, .. } => response,
            _ => None,
        }
    }

    /// The nested run that began here, by its workspace.
    pub(crate) fn nested(&self) -> Option<&str> {
        match self.told() {
            Told::Begun { run, .. } => Some(run),
            _ => None,
        }
    }
}

/// A tape as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) header: Header,
    pub(crate) frames: Vec<Frame>,
    /// The workspaces of nested runs that are not among the frames any more.
    kept: Vec<String>,
    pub(crate) end: Option<Ended>,
}

/// How a tape begins and ends; what is in between was not read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ends {
    pub(crate) header: Header,
    end: Option<Ended>,
}

impl Ends {
    /// Whether the run ended well.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.as_ref().is_some_and(|ended| ended.end == End::Completed)
    }

    /// The call that a person had left out when it stopped the run.
    pub(crate) fn left_out(&self) -> Option<ResponseId> {
        let ended = self.end.as_ref().filter(|ended| ended.end == End::LeftOut)?;
        ended.response.map(ResponseId)
    }

    /// Reads the ends of the tape of a workspace; `None` when it is not one of a run.
    pub(crate) fn read(workspace: &Workspace) -> Result<Option<Self>, FlowError> {
        Self::read_in(workspace.folder())
    }

    /// As [`Ends::read`], of a workspace that nobody has opened.
    pub(crate) fn read_in(folder: &Path) -> Result<Option<Self>, FlowError> {
        let path = folder.join(FILE);
        let (first, last) = match read_ends(&path, MAX_TAPE_BYTES, END_BYTES) {
            Ok(ends) => ends,
            Err(HomeError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some(first) = first.strip_suffix(b"\n") else { return Ok(None) };
        let header = Header::read(first, &path)?;
        // What follows the last line break was being written when the process was killed.
        let whole = last.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let line = last[..whole].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(Some(Self { header, end: serde_json::from_slice(line).ok() }))
    }
}

impl Header {
    fn read(line: &[u8], path: &Path) -> Result<Self, FlowError> {
        let corrupt = |message: String| {
            FlowError::Package(PackageError::Malformed {
                what: "tape",
                message: format!("{}: {message}", path.display()),
            })
        };
        let header: Self = serde_json::from_slice(line).map_err(|error| corrupt(error.to_string()))?;
        match header.tape {
            VERSION => Ok(header),
            other => Err(corrupt(format!("it has version {other}; this rote reads {VERSION}"))),
        }
    }
}

impl Recorded {
    /// Reads the tape of a workspace; `None` when it is not one of a run.
    pub(crate) fn read(workspace: &Workspace) -> Result<Option<Self>, FlowError> {
        let path = file(workspace);
        let bytes = match read_capped(&path, MAX_TAPE_BYTES) {
            Ok(bytes) => bytes,
            Err(HomeError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let corrupt = |message: String| {
            FlowError::Package(PackageError::Malformed {
                what: "tape",
                message: format!("{}: {message}", path.display()),
            })
        };
        // What follows the last line break was being written when the process was killed.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let mut lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let Some(first) = lines.next() else {
            return Ok(None);
        };
        let header = Header::read(first, &path)?;
        let mut read = Self { header, frames: Vec::new(), kept: Vec::new(), end: None };
        for line in lines {
            let other = match serde_json::from_slice::<Frame>(line) {
                Ok(frame) => {
                    read.frames.push(frame);
                    continue;
                }
                Err(error) => error,
            };
            match (serde_json::from_slice::<Ended>(line), serde_json::from_slice::<Kept>(line)) {
                (Ok(ended), _) => read.end = Some(ended),
                (_, Ok(kept)) => read.kept.push(kept.run),
                _ => return Err(corrupt(other.to_string())),
            }
        }
        Ok(Some(read))
    }

    /// The workspaces of all nested runs that were ever begun.
    pub(crate) fn nested(&self) -> BTreeSet<String> {
        let begun = self.frames.iter().filter_map(Frame::nested).map(str::to_owned);
        begun.chain(self.kept.iter().cloned()).collect()
    }
}

/// The tape of the run that is going on.
pub(crate) struct FileTape {
    path: PathBuf,
    state: Mutex<State>,
    /// What each line is taken off, from when the run begins.
    budget: OnceLock<Arc<Budget>>,
    _lock: LockGuard,
}

/// Takes a run for this process where nobody makes it; does not wait.
pub(crate) fn lock_now(workspace: &Workspace) -> Option<LockGuard> {
    rote_home::lock(&workspace.run_lock_file(), Duration::ZERO).ok()
}

/// Whether a workspace has a tape, so that it is one of a run.
pub(crate) fn is_there(workspace: &Workspace) -> bool {
    file(workspace).is_file()
}

/// Takes a run for this process: nobody else makes calls of it until the lock is dropped.
pub(crate) fn lock(workspace: &Workspace) -> Result<LockGuard, FlowError> {
    match rote_home::lock(&workspace.run_lock_file(), LOCK_WAIT) {
        Err(HomeError::Busy { .. }) => {
            Err(FlowError::Run(RunnerError::StillRunning { workspace: workspace.name().clone() }))
        }
        taken => Ok(taken?),
    }
}

struct State {
    /// What the run has to say again.
    ahead: VecDeque<Frame>,
    /// The lines of the file up to here, to cut it when the run leaves the tape; empty once it is live.
    behind: Vec<String>,
    /// Nested runs that were begun and are not among the answers; they stay in the file.
    kept: Vec<String>,
    /// Those of them that nobody has gone on with.
    open: Vec<String>,
    /// Size of the file.
    bytes: u64,
}

impl State {
    /// The file as it is when the run goes on from here.
    fn text(&self) -> Result<String, FlowError> {
        let (header, frames) = self.behind.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let mut text = format!("{header}\n");
        for run in &self.kept {
            text.push_str(&line(&Kept { run: run.clone() })?);
            text.push('\n');
        }
        for frame in frames {
            text.push_str(frame);
            text.push('\n');
        }
        Ok(text)
    }
}

impl FileTape {
    /// Begins the tape of a new run.
    pub(crate) fn begin(workspace: &Workspace, header: &Header) -> Result<Self, FlowError> {
        Self::go_on(workspace, lock(workspace)?, header, (BTreeSet::new(), Vec::new()))
    }

    /// Goes on with a tape: `frames` are said again, whatever else the file holds is cut off. `runs` are nested ones that
    /// were begun and are not among them.
    pub(crate) fn go_on(
        workspace: &Workspace,
        lock: LockGuard,
        header: &Header,
        (runs, frames): (BTreeSet<String>, Vec<Frame>),
    ) -> Result<Self, FlowError> {
        let path = file(workspace);
        let kept: Vec<String> = runs.into_iter().collect();
        let behind = vec![line(header)?];
        let mut state = State { ahead: VecDeque::new(), behind, open: kept.clone(), kept, bytes: 0 };
        let mut text = state.text()?;
        for frame in &frames {
            text.push_str(&line(frame)?);
            text.push('\n');
        }
        write_atomic(&path, text.as_bytes(), FileMode::Private)?;
        (state.ahead, state.bytes) = (frames.into(), text.len() as u64);
        Ok(Self { path, state: Mutex::new(state), budget: OnceLock::new(), _lock: lock })
    }

    /// Whether there are nested runs that were begun before and nobody has gone on with.
    pub(crate) fn has_runs(&self) -> bool {
        !self.state().open.is_empty()
    }

    /// Takes a nested run that was begun before, if it is the one that fits.
    pub(crate) fn take_run(&self, fits: impl Fn(&str) -> bool) -> Option<String> {
        let mut state = self.state();
        let at = state.open.iter().position(|run| fits(run))?;
        Some(state.open.remove(at))
    }

    /// Leaves a nested run that did not end well to whoever begins the same again.
    pub(crate) fn leave(&self, run: &str) {
        let mut state = self.state();
        if !state.open.iter().any(|open| open == run) {
            state.open.push(run.to_owned());
        }
    }

    /// Says what the lines of the run are taken off.
    pub(crate) fn spend_from(&self, budget: Arc<Budget>) {
        // A tape is of one run, which calls this once.
        let _set_before = self.budget.set(budget);
    }

    /// Makes room for a line, or says what it is too much for.
    fn spend(&self, bytes: u64) -> Result<(), RunError> {
        if let Some(budget) = self.budget.get() {
            budget.spend_kept(bytes)?;
        }
        let mut state = self.state();
        state.bytes = state.bytes.saturating_add(bytes);
        if state.bytes > MAX_TAPE_BYTES - END_BYTES {
            let limit = LimitKind::Count { what: "bytes of tape", max: MAX_TAPE_BYTES };
            return Err(RunError::Limit { subject: "flow".to_owned(), limit });
        }
        Ok(())
    }

    /// Writes down how the run ended.
    pub(crate) fn end(&self, stopped: Option<Ended>) -> Result<(), FlowError> {
        let ended = stopped.unwrap_or(Ended { end: End::Completed, response: None, frame: None });
        Ok(append_line(&self.path, &line(&ended)?, FileMode::Private)?)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tape for FileTape {
    fn next(&self, question: &str) -> Result<Option<Answer>, RunError> {
        let mut state = self.state();
        let Some(frame) = state.ahead.pop_front() else {
            return Ok(None);
        };
        if frame.question == question {
            state.behind.push(line(&frame).map_err(failed)?);
            return Ok(Some(frame.into_answer()));
        }
        // From here on the run is a new one; what the old one learned later no longer belongs to it.
        let left = std::iter::once(frame).chain(std::mem::take(&mut state.ahead));
        let begun: Vec<String> = left.filter_map(|frame| frame.nested().map(str::to_owned)).collect();
        state.kept.extend(begun.iter().cloned());
        state.open.extend(begun);
        let text = state.text().map_err(failed)?;
        state.bytes = text.len() as u64;
        write_atomic(&self.path, text.as_bytes(), FileMode::Private).map_err(|error| failed(error.into()))?;
        Ok(None)
    }

    fn record(&self, question: &str, answer: &Answer) -> Result<(), RunError> {
        let frame = Frame::new(question, answer.clone());
        let text = line(&frame).map_err(failed)?;
        self.spend(text.len() as u64 + 1)?;
        append_line(&self.path, &text, FileMode::Private).map_err(|error| failed(error.into()))
    }
}

fn failed(error: FlowError) -> RunError {
    RunError::nested(&error)
}

fn line(value: &impl Serialize) -> Result<String, FlowError> {
    serde_json::to_string(value)
        .map_err(|error| FlowError::Package(PackageError::Malformed { what: "tape", message: error.to_string() }))
}

fn file(workspace: &Workspace) -> PathBuf {
    Path::new(workspace.folder()).join(FILE)
}
