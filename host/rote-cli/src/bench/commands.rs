//! What a command of the first hour takes and prints, against `rote --version`: an agent pays for each printed token.

use std::path::Path;

use super::measure::{fresh, text};
use super::process::{median, printed, rote, time};
use super::{Bound, Measured};
use crate::demo::TrackerServer;
use crate::error::{Result, io};

/// Bytes of a token, as a rule of thumb.
const TOKEN_BYTES: f64 = 4.0;
/// The commands, each with its goals: tokens printed, and how many times as long as `rote --version` it takes. Each is what
/// was measured, and a fifth: with [`super::SLACK`], growth by half is a goal missed.
const COMMANDS: [(&[&str], f64, f64); 13] = [
    (&["help"], 750.0, 10.0),
    (&["adapter", "list"], 36.0, 10.0),
    (&["adapter", "info", "tracker"], 840.0, 10.0),
    (&["probe", "tracker", "comment on an issue"], 285.0, 10.0),
    (&["explore", "comment on an issue"], 275.0, 10.0),
    (&["describe", "tracker", "addComment"], 147.0, 10.0),
    (&["call", "tracker", "listIssues", "project=atlas"], 137.0, 10.0),
    (&["call", "tracker", "listIssues", "project=atlas", "--json"], 4525.0, 10.0),
    (&["@1"], 198.0, 10.0),
    (&["@1", ".[0].title"], 13.0, 10.0),
    (&["query", "schema", "@1"], 540.0, 10.0),
    (&["ls"], 500.0, 10.0),
    (&["audit", "tail"], 575.0, 10.0),
];

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
    let version = median(runs, || time(&mut rote(home.path(), &["--version"])?))?.wall;
    let one = |(words, most_tokens, most_times): &(&[&str], f64, f64)| {
        // Before it is run again and again, so that what it prints does not depend on how often.
        let bytes = printed(&mut rote(home.path(), words)?)?;
        let took = median(runs, || time(&mut rote(home.path(), words)?))?.wall;
        let times = took.as_secs_f64() / version.as_secs_f64();
        let goal = "no more than now, and a fifth";
        Ok(Measured::new(format!("rote {}", words.join(" ")), took, goal)
            .against("rote --version", Some(version))
            .bound(Bound::most(times, *most_times))
            .tokens(f64::from(bytes) / TOKEN_BYTES, *most_tokens))
    };
    COMMANDS.iter().map(one).collect()
}
