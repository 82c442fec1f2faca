//! Programs: build tools of the person's own, such as cargo; run because a person asked for a build, never for a guest.
//!
//! Invariants: a program reads nothing, what it prints is bounded and masked, and neither it nor what it
//! started in its process group outlives the call that started it.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rote_govern::audit::TaskTarget;
use rote_govern::{GuardDecision, Redactor, Risk, Rule, Verdict};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use crate::GateError;
use crate::effect::Failure;
use crate::program::{ClaimedProcess, ProcessFailure, ProcessRun, TIMEOUT};
use crate::request::refused;
use crate::resolver::Environment;

/// Time between two looks at whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// How long what it printed is waited for once it has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Most bytes of its output that are kept, the last ones.
const KEPT_BYTES: usize = 64 << 10;

/// A build tool changes files of the person who asked for it.
pub(crate) const RISK: GuardDecision = GuardDecision {
    verdict: Verdict::Audit,
    rule: Rule::Task,
    reason: "a person asked for a build, which runs a program",
    risk: Risk::Medium,
};

/// What a build tool gets of the environment: where its parts are, how it reaches the registry, and which compilers it
/// takes. Everything else may be a credential, which a build script of any dependency would read.
const NEEDED: [&str; 54] = [
    "AR",
    "CARGO",
    "CARGO_BUILD_JOBS",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_HOME",
    "CARGO_HTTP_CAINFO",
    "CARGO_HTTP_PROXY",
    "CARGO_HTTP_TIMEOUT",
    "CARGO_INCREMENTAL",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "CARGO_NET_OFFLINE",
    "CARGO_NET_RETRY",
    "CARGO_TERM_COLOR",
    "CC",
    "CFLAGS",
    "CPATH",
    "CXX",
    "CXXFLAGS",
    "GIT_SSL_CAINFO",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LOGNAME",
    "MAKEFLAGS",
    "NO_PROXY",
    "PATH",
    "PKG_CONFIG_PATH",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_DIST_SERVER",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "USER",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

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
    /// Runs it to its end, without the variables that are named as credentials. Dropping the future ends the program.
    pub(crate) async fn perform(
        &self,
        env: &Environment,
        credentials: &BTreeSet<String>,
        redactor: &Redactor,
    ) -> Result<ProcessRun, Failure> {
        let Self(claimed) = self;
        let start = |source| Failure::Process(ProcessFailure::Start { program: claimed.program.clone(), source });
        #[expect(clippy::disallowed_methods, reason = "this crate is where processes are started")]
        let mut command = Command::new(&claimed.program);
        command.args(&claimed.arguments).current_dir(&claimed.folder).process_group(0);
        let given = NEEDED.iter().filter(|name| !credentials.contains(**name));
        command.env_clear().envs(given.filter_map(|name| Some((*name, env(name)?))));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running::new(command.spawn().map_err(start)?);
        let printed = Arc::new(Mutex::new(Tail::default()));
        let (ended, end) = oneshot::channel();
        let (stderr, tail) = (running.child.stderr.take(), Arc::clone(&printed));
        thread::spawn(move || {
            if let Some(stderr) = stderr {
                read(stderr, &tail);
            }
            ended.send(()).ok();
        });
        let deadline = Instant::now() + TIMEOUT;
        while !running.has_ended().map_err(start)? {
            if Instant::now() > deadline {
                return Err(Failure::Process(ProcessFailure::Timeout { program: claimed.program.clone() }));
            }
            tokio::time::sleep(POLL).await;
        }
        let status = running.end().map_err(start)?;
        // Whoever left the group may hold the pipe for ever.
        tokio::time::timeout(LAST_WORDS, end).await.ok();
        let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(ProcessRun { code: status.code(), output: printed.masked(redactor) })
    }
}

/// A program that runs, with what it started: they are a process group, which is ended when nobody waits for it any more.
struct Running {
    child: Child,
    /// None once it was waited for: its number may be another's then.
    group: Option<Pid>,
}

impl Running {
    fn new(child: Child) -> Self {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Self { child, group }
    }

    /// Whether the program has ended. It keeps its number, and so its group's, until [`Running::end`].
    fn has_ended(&self) -> Result<bool, io::Error> {
        let Some(group) = self.group else { return Ok(true) };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(group), look)?.is_some())
    }

    /// Ends whatever of the group is left, and says how the program ended.
    fn end(&mut self) -> Result<ExitStatus, io::Error> {
        if let Some(group) = self.group.take() {
            kill_process_group(group, Signal::KILL).ok();
        }
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end().ok();
    }
}

/// The last part of what a program printed.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    /// Something stood before.
    was_cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 4 * KEPT_BYTES {
            self.bytes.drain(..self.bytes.len() - 2 * KEPT_BYTES);
            self.was_cut = true;
        }
    }

    /// What is kept of it. It is masked before it is cut, and twice as much is masked: what was cut off before that may
    /// have left half of a secret at the beginning, which does not stay.
    fn masked(&self, redactor: &Redactor) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let masked = redactor.text(&text);
        let start = masked.len().saturating_sub(KEPT_BYTES).max(if self.was_cut { KEPT_BYTES } else { 0 });
        masked[masked.ceil_char_boundary(start)..].to_owned()
    }
}

/// Reads to the end.
fn read(mut stream: impl Read, tail: &Mutex<Tail>) {
    let mut buffer = [0; 8 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use rote_govern::Secret;

    use super::*;

    #[test]
    fn a_secret_over_the_cut_leaves_no_half_of_itself() {
        let secret = "s3cr3t-".repeat(4);
        let redactor = Redactor::new([Secret::new("TOKEN", secret.clone())]);
        for printed in [3, 6] {
            for shift in 0..secret.len() + 2 {
                let mut tail = Tail::default();
                let rest = secret.len().next_multiple_of(2) + shift;
                for _ in 0..printed * KEPT_BYTES / secret.len() {
                    tail.push(secret.as_bytes());
                }
                tail.push("é".repeat(KEPT_BYTES / 2 - rest).as_bytes());
                let kept = tail.masked(&redactor);
                assert!(kept.len() <= KEPT_BYTES && !kept.contains("3cr3"), "{printed} {shift}");
            }
        }
        let mut all = Tail::default();
        all.push(b"error: no such file");
        assert_eq!(all.masked(&redactor), "error: no such file");
    }
}
