//! Adapters as whole commands: the first call of one that was just installed, and a search over many.

use std::path::Path;
use std::time::Duration;

use super::Measured;
use super::measure::{first_use, fresh, text};
use super::process::{Took, median, rote, time};
use crate::demo::TrackerServer;
use crate::error::{Result, io};

/// Adapters over which a search goes.
const ADAPTERS: usize = 200;
/// Most first calls: each has a home of its own.
const FIRST_CALLS: u32 = 5;
/// How long the search may take.
const EXPLORE: Duration = Duration::from_millis(15);

/// Measures both, against a warm call and against what a process costs.
pub(super) fn measure(folder: &Path, sample: &Path, runs: u32) -> Result<Vec<Measured>> {
    Ok(vec![first_call(folder, sample, runs.min(FIRST_CALLS))?, explore(folder, sample, runs)?])
}

fn first_call(folder: &Path, sample: &Path, runs: u32) -> Result<Measured> {
    let server = TrackerServer::start(0).map_err(|error| io("cannot serve the sample API", &error))?;
    let url = server.base_url();
    first_use("first call of a new adapter", runs, || {
        let home = fresh(folder)?;
        let setup: [&[&str]; 3] = [
            &["adapter", "new", "tracker", "--spec", text(sample)?, "--base-url", &url, "--yes"],
            &["token", "set", "TRACKER_TOKEN", "demo-token", "--yes"],
            &["init", "bench"],
        ];
        for arguments in setup {
            time(&mut rote(home.path(), arguments)?)?;
        }
        let call = || -> Result<Took> { time(&mut rote(home.path(), &["call", "tracker", "listProjects"])?) };
        Ok([call()?, call()?])
    })
}

fn explore(folder: &Path, sample: &Path, runs: u32) -> Result<Measured> {
    let home = fresh(folder)?;
    for number in 0..ADAPTERS {
        let id = format!("api-{number}");
        time(&mut rote(home.path(), &["adapter", "new", &id, "--spec", text(sample)?, "--yes"])?)?;
    }
    let took = median(runs, || time(&mut rote(home.path(), &["explore", "comment on an issue"])?))?;
    let version = median(runs, || time(&mut rote(home.path(), &["--version"])?))?.wall;
    let measured = Measured::new(format!("explore over {ADAPTERS} adapters"), took.wall, "15 ms");
    Ok(measured.against("rote --version", Some(version)).at_most(EXPLORE))
}
