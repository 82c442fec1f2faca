//! Programs: build tools of the person's own, such as cargo; run because a person asked for a build, never for a guest.
//!
//! Invariants: a program reads nothing, what it prints is bounded and masked, and it does not outlive the call that
//! started it.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rote_govern::audit::TaskTarget;
use rote_govern::{GuardDecision, Redactor, Risk, Rule, Verdict};
use rote_types::{Classify, ErrorKind};

use crate::authority::{Authority, HostTask, Performed};
use crate::effect::{Claim, Failure};
use crate::request::refused;
use crate::{Gate, GateError};

/// Longest run of a program.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Time between two looks at whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// Most bytes of its output that are kept, the last ones.
const KEPT_BYTES: usize = 64 << 10;

/// A build tool changes files of the person who asked for it.
pub(crate) const RISK: GuardDecision = GuardDecision {
    verdict: Verdict::Audit,
    rule: Rule::Task,
    reason: "a person asked for a build, which runs a program",
    risk: Risk::Medium,
};

/// A program as somebody wants it run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedProcess {
    /// Its name, looked up as a shell does, or its path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it runs in.
    pub folder: PathBuf,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRun {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The end of what it printed to stderr, values of the vault masked.
    pub output: String,
}

impl ProcessRun {
    /// Whether it succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessFailure {
    /// It could not be started.
    #[error("cannot run `{program}`")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It took longer than 30 minutes and was stopped.
    #[error("`{program}` was stopped after {} minutes", TIMEOUT.as_secs() / 60)]
    Timeout {
        /// The program.
        program: String,
    },
}

impl Classify for ProcessFailure {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Start { .. } => ErrorKind::General,
            Self::Timeout { .. } => ErrorKind::Limit,
        }
    }
}

/// A program that may be run.
#[derive(Debug)]
pub(crate) struct Process(ClaimedProcess);

/// Checks a claim; what is run is named by rote itself, so that only what cannot be run is refused.
pub(crate) fn normalise(claimed: &ClaimedProcess) -> Result<(Process, String), GateError> {
    if claimed.program.is_empty() {
        return Err(refused("process.program", "the program has no name".to_owned()));
    }
    Ok((Process(claimed.clone()), format!("`{}` is run with nothing to read", claimed.program)))
}

/// Says in one sentence what a run does.
pub(crate) fn impact(claimed: &ClaimedProcess) -> String {
    format!("runs `{}` in `{}`", line(claimed), claimed.folder.display())
}

/// What the journal says of it.
pub(crate) fn target(claimed: &ClaimedProcess) -> TaskTarget {
    TaskTarget::Program { program: line(claimed), folder: claimed.folder.display().to_string() }
}

fn line(claimed: &ClaimedProcess) -> String {
    [std::slice::from_ref(&claimed.program), &claimed.arguments].concat().join(" ")
}

impl Process {
    /// Runs it to its end. Dropping the future ends the program.
    pub(crate) async fn perform(&self, redactor: &Redactor) -> Result<ProcessRun, Failure> {
        let Self(claimed) = self;
        let start = |source| Failure::Process(ProcessFailure::Start { program: claimed.program.clone(), source });
        #[expect(clippy::disallowed_methods, reason = "this crate is where processes are started")]
        let mut command = Command::new(&claimed.program);
        command.args(&claimed.arguments).current_dir(&claimed.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Running(command.spawn().map_err(start)?);
        let stderr = child.0.stderr.take();
        let reader = thread::spawn(move || stderr.map(tail_of).unwrap_or_default());
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = child.0.try_wait().map_err(start)? {
                break status;
            }
            if Instant::now() > deadline {
                return Err(Failure::Process(ProcessFailure::Timeout { program: claimed.program.clone() }));
            }
            tokio::time::sleep(POLL).await;
        };
        let output = reader.join().unwrap_or_default();
        Ok(ProcessRun { code: status.code(), output: redactor.text(&output).into_owned() })
    }
}

/// A program that runs; it is ended when nobody waits for it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let ended: Option<ExitStatus> = self.0.try_wait().ok().flatten();
        if ended.is_none() {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }
}

/// Reads to the end and keeps the last part.
fn tail_of(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 8 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * KEPT_BYTES {
            kept.drain(..kept.len() - KEPT_BYTES);
        }
    }
    String::from_utf8_lossy(&kept[kept.len().saturating_sub(KEPT_BYTES)..]).into_owned()
}

impl Gate {
    /// Runs a build tool that a person asked for, and returns how it ended. An exit code other than 0 is not an error here.
    ///
    /// # Errors
    /// [`GateError::Process`] when it did not run to its end; [`GateError::Home`] when the journal refused.
    pub async fn build(&self, process: ClaimedProcess) -> Result<ProcessRun, GateError> {
        match self.perform(&Authority::Task(&HostTask::Build), Claim::Process(process)).await? {
            Performed::Ran(run) => Ok(run),
            _ => Err(refused("claim.kind", "the task `build` ended without a program".to_owned())),
        }
    }
}
