//! Whole processes, timed: wall time, and peak memory as the kernel saw it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Result, io, usage};

/// What one process took.
pub(super) struct Took {
    /// From start to end.
    pub(super) wall: Duration,
    /// Peak resident memory in bytes; 0 where the kernel does not say.
    pub(super) peak_bytes: u64,
}

/// A command of this very program in a home of its own.
#[expect(clippy::disallowed_methods, reason = "the benchmark measures this program as processes")]
pub(super) fn rote(home: &Path, arguments: &[&str]) -> Result<Command> {
    let program = std::env::current_exe().map_err(|error| io("cannot find this program", &error))?;
    let mut command = Command::new(program);
    command.args(arguments).env("ROTE_HOME", home).env_remove("ROTE_WORKSPACE").current_dir(home);
    Ok(command)
}

/// A program of the machine, such as `jq`.
#[expect(clippy::disallowed_methods, reason = "a baseline that only exists as a process")]
pub(super) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    command
}

/// Runs a command to its end; a failure is an error that names it.
pub(super) fn time(command: &mut Command) -> Result<Took> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| io(format!("cannot run {command:?}"), &error))?;
    let peak_bytes = peak_until_end(&child);
    let status = child.wait().map_err(|error| io("cannot wait for a command", &error))?;
    let wall = start.elapsed();
    if status.success() {
        Ok(Took { wall, peak_bytes })
    } else {
        Err(usage(format!("{command:?} ended with {status}"), "rote bench --runs 1"))
    }
}

/// Runs a command to its end and returns how many bytes it prints; a failure is an error that names it.
pub(super) fn printed(command: &mut Command) -> Result<u32> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| io(format!("cannot run {command:?}"), &error))?;
    if output.status.success() {
        Ok(u32::try_from(output.stdout.len() + output.stderr.len()).unwrap_or(u32::MAX))
    } else {
        Err(usage(format!("{command:?} ended with {}", output.status), "rote bench --runs 1"))
    }
}

/// Reads the high-water mark until the process is gone. The mark only grows, so the last reading is the peak to
/// within one interval.
#[expect(clippy::disallowed_methods, reason = "reads the kernel's view of a child, not a file of the home")]
fn peak_until_end(child: &Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while let Ok(text) = std::fs::read_to_string(&status) {
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(kib) = mark.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()) else { break };
        peak = peak.max(kib * 1024);
        std::thread::sleep(Duration::from_micros(500));
    }
    peak
}

/// Runs two commands in turn and returns the shortest wall time of each: what else the machine does adds to a time and never takes
/// away from it, so that their ratio tells of the commands alone.
pub(super) fn shortest(
    runs: u32,
    one: impl Fn() -> Result<Command>,
    other: impl Fn() -> Result<Command>,
) -> Result<(Duration, Duration)> {
    let (mut of_one, mut of_other) = (Duration::MAX, Duration::MAX);
    for _ in 0..runs {
        of_one = of_one.min(time(&mut one()?)?.wall);
        of_other = of_other.min(time(&mut other()?)?.wall);
    }
    Ok((of_one, of_other))
}

/// Runs a command several times and returns the time that 95 of 100 runs take at most.
pub(super) fn most(runs: u32, mut each: impl FnMut() -> Result<Took>) -> Result<Duration> {
    let all = sorted(runs, &mut each)?;
    Ok(all[(all.len() * 95).div_ceil(100) - 1].wall)
}

/// What each of several runs took, the shortest first; at least one.
fn sorted(runs: u32, each: &mut dyn FnMut() -> Result<Took>) -> Result<Vec<Took>> {
    let mut all = (0..runs.max(1)).map(|_| each()).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|took| took.wall);
    Ok(all)
}

/// Runs a command several times and returns the median wall time with the greatest peak.
pub(super) fn median(runs: u32, mut each: impl FnMut() -> Result<Took>) -> Result<Took> {
    let all = sorted(runs, &mut each)?;
    let peak_bytes = all.iter().map(|took| took.peak_bytes).max().unwrap_or(0);
    Ok(Took { wall: all[all.len() / 2].wall, peak_bytes })
}
