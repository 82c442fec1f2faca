//! What a command of the first hour takes and prints, against `rote --version`: an agent pays for each printed token.

use std::path::Path;
use std::time::Duration;

use super::measure::{fresh, text};
use super::process::{median, most, printed, rote, shortest, time};
use super::{Bound, Measured};
use crate::demo::TrackerServer;
use crate::error::{Result, io};

/// Bytes of a token, as a rule of thumb.
const TOKEN_BYTES: f64 = 4.0;
/// How far what was measured may be exceeded: with [`super::SLACK`] growth by half is a goal missed.
const MORE: f64 = 1.15;
/// The commands, each with the tokens that it was measured to print, and how many times as long as `rote --version` it was measured
/// to take, as a release is built.
const COMMANDS: [(&[&str], f64, f64); 13] = [
    (&["help"], 640.0, 1.7),
    (&["adapter", "list"], 30.0, 2.0),
    (&["adapter", "info", "tracker"], 697.0, 1.7),
    (&["probe", "tracker", "comment on an issue"], 154.0, 2.9),
    (&["explore", "comment on an issue"], 140.0, 3.4),
    (&["describe", "tracker", "addComment"], 122.0, 2.1),
    (&["call", "tracker", "listIssues", "project=atlas"], 114.0, 4.4),
    (&["call", "tracker", "listIssues", "project=atlas", "--json"], 3770.0, 6.2),
    (&["@1"], 165.0, 2.0),
    (&["@1", ".[0].title"], 11.0, 6.7),
    (&["query", "schema", "@1"], 449.0, 2.2),
    (&["ls"], 62.0, 2.3),
    (&["audit", "tail"], 222.0, 2.2),
];
/// How long the search over one adapter may take, 95 times of 100.
const PROBE: Duration = Duration::from_millis(15);
/// How long a shell may wait for what completes a line.
const COMPLETION: Duration = Duration::from_millis(30);

/// Measures each command, all in one home.
pub(super) fn measure(folder: &Path, sample: &Path, runs: u32) -> Result<Vec<Measured>> {
    let server = TrackerServer::start(0).map_err(|error| io("cannot serve the sample API", &error))?;
    let url = server.base_url();
    let home = fresh(folder)?;
    let setup: [&[&str]; 4] = [
        &["adapter", "new", "tracker", "--spec", text(sample)?, "--base-url", &url, "--yes"],
        &["token", "set", "TRACKER_TOKEN", "demo-token", "--yes"],
        &["init", "bench"],
        &["call", "tracker", "listIssues", "project=atlas"],
    ];
    for arguments in setup {
        time(&mut rote(home.path(), arguments)?)?;
    }
    // Before any of them is run again and again, so that what they print does not depend on how often.
    let printed = COMMANDS.iter().map(|(words, ..)| printed(&mut rote(home.path(), words)?));
    let printed = printed.collect::<Result<Vec<u32>>>()?;
    let version = || rote(home.path(), &["--version"]);
    let one = |((words, tokens, times), bytes): (&(&[&str], f64, f64), u32)| {
        let (took, version) = shortest(runs, || rote(home.path(), words), version)?;
        Ok(judged(words, (took, version), f64::from(bytes) / TOKEN_BYTES, (*tokens, *times)))
    };
    let mut all = COMMANDS.iter().zip(printed).map(one).collect::<Result<Vec<_>>>()?;
    let probe = most(runs, || time(&mut rote(home.path(), &["probe", "tracker", "comment on an issue"])?))?;
    all.push(Measured::new("rote probe, 95 of 100", probe, "15 ms").at_most(PROBE));
    let completed =
        median(runs, || time(&mut rote(home.path(), &["complete", "fish", "--", "rote", "call", "tr"])?))?.wall;
    all.push(Measured::new("completing a tool's adapter", completed, "30 ms").at_most(COMPLETION));
    Ok(all)
}

/// What a command took and printed against what was once measured: times as long as `rote --version`, and tokens.
fn judged(words: &[&str], (took, version): (Duration, Duration), tokens: f64, measured: (f64, f64)) -> Measured {
    let (most_tokens, most_times) = (measured.0 * MORE, measured.1 * MORE);
    let goal = format!("{most_times:.1} times `rote --version` and {most_tokens:.0} tokens");
    Measured::new(format!("rote {}", words.join(" ")), took, goal)
        .against("rote --version", Some(version))
        .bound(Bound::most(took.as_secs_f64() / version.as_secs_f64(), most_times))
        .tokens(tokens, most_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_by_half_of_time_or_tokens_is_a_goal_missed_for_each_command() {
        let version = Duration::from_millis(10);
        for (words, tokens, times) in COMMANDS {
            let grown = |of_time: f64, of_tokens: f64| {
                let took = version.mul_f64(times * of_time);
                judged(words, (took, version), tokens * of_tokens, (tokens, times)).is_missed()
            };
            assert_eq!((grown(1.0, 1.0), grown(1.1, 1.1)), (false, false), "{words:?}");
            assert_eq!((grown(1.5, 1.0), grown(1.0, 1.5)), (true, true), "{words:?}");
        }
        assert_eq!(
            judged(&["ls"], (version * 3, version), 90.0, (100.0, 2.0)).to_string(),
            "rote ls: 30.0 ms, 90 tokens; rote --version: 10.00 ms; ratio 3.00 (goal: 2.3 times `rote --version` and 115 tokens, missed)"
        );
    }
}
