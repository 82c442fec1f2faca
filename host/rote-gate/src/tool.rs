//! Build tools of the person's own, such as cargo: run because a person asked for a build, never for a guest.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest run of a build tool.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Time between two looks at whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// Most bytes of its output that are kept, the last ones.
const KEPT_BYTES: usize = 64 << 10;

/// How a build tool ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRun {
    /// Whether it succeeded.
    pub success: bool,
    /// The end of what it printed.
    pub output: String,
}

/// Why a build tool did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It could not be started.
    #[error("cannot run `{program}`: {source}")]
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

/// Runs a build tool in `folder` with nothing to read, and returns the end of what it printed.
///
/// # Errors
/// [`ToolError`]; an exit code other than 0 is no error here.
pub fn run_build_tool(program: &str, arguments: &[&str], folder: &Path) -> Result<ToolRun, ToolError> {
    let start = |source| ToolError::Start { program: program.to_owned(), source };
    #[expect(clippy::disallowed_methods, reason = "this crate is where processes are started")]
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(start)?;
    let stderr = child.stderr.take();
    let reader = thread::spawn(move || stderr.map(tail_of).unwrap_or_default());
    let deadline = Instant::now() + TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start)? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().ok();
            child.wait().ok();
            return Err(ToolError::Timeout { program: program.to_owned() });
        }
        thread::sleep(POLL);
    };
    let output = reader.join().unwrap_or_default();
    Ok(ToolRun { success: status.success(), output })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_tells_how_it_ended_and_what_it_said() {
        let folder = tempfile::tempdir().unwrap();
        let run = run_build_tool("sh", &["-c", "echo no good >&2; exit 3"], folder.path()).unwrap();
        assert_eq!(run, ToolRun { success: false, output: "no good\n".to_owned() });
        let error = run_build_tool("no-such-program-here", &[], folder.path()).unwrap_err();
        assert!(error.to_string().starts_with("cannot run `no-such-program-here`"), "{error}");
    }
}
