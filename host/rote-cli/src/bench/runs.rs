//! `rote run` as a whole command: a plan and a script of one call each, warm and with an empty compile cache, against
//! node making the same request.

use std::path::Path;

use super::Measured;
use super::measure::{first_use, fresh, text, write};
use super::process::{Took, median, program, rote, time};
use crate::demo::TrackerServer;
use crate::error::{Result, io};

/// The same as the plan, in TypeScript.
const SCRIPT: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: script
 * description: Lists the projects.
 * adapters:
 *   tracker: {tools: [listProjects]}
 * ---
 */
import { Rote } from "@rote/sdk";
export default async function main() {
  const rote = await Rote.workspace("script");
  return (await rote.adapter("tracker").call("listProjects", {})).id;
}
"#;
/// Most runs with an empty cache: each compiles a template.
const COLD_RUNS: u32 = 5;

/// Measures both flows. Every figure is of the whole command, from its start to its end.
pub(super) fn measure(folder: &Path, sample: &Path, runs: u32) -> Result<Vec<Measured>> {
    let server = TrackerServer::start(0).map_err(|error| io("cannot serve the sample API", &error))?;
    let url = server.base_url();
    let home = fresh(folder)?;
    let script = folder.join("main.ts");
    write(&script, SCRIPT)?;
    let setup: [&[&str]; 6] = [
        &["adapter", "new", "tracker", "--spec", text(sample)?, "--base-url", &url, "--yes"],
        &["token", "set", "TRACKER_TOKEN", "demo-token", "--yes"],
        &["init", "bench"],
        &["call", "tracker", "listProjects"],
        &["flow", "template", "create", "--workspace", "bench", "--name", "plan"],
        &["flow", "build", text(&script)?],
    ];
    for arguments in setup {
        time(&mut rote(home.path(), arguments)?)?;
    }
    let node = median(runs, || node(&format!("{url}/projects"))).ok().map(|took| took.wall);
    let version = median(runs, || time(&mut rote(home.path(), &["--version"])?))?.wall;
    let mut all = Vec::new();
    for (flow, goal) in [("plan", "20 ms"), ("script", "30 ms")] {
        let run = || time(&mut rote(home.path(), &["run", flow, "--quiet"])?);
        run()?;
        let warm = median(runs, run)?.wall;
        all.push(Measured::new(format!("rote run, {flow}, warm"), warm, goal).against("the same call by node", node));
        // What a fresh home lacks is the compile cache; the next run finds what this one left in it.
        all.push(first_use(&format!("rote run, {flow}, first of a home"), runs.min(COLD_RUNS), || {
            forget(home.path())?;
            Ok([run()?, run()?])
        })?);
    }
    all.push(Measured::new("rote --version", version, "what a process costs").against("node -e 0", idle_node(runs)));
    Ok(all)
}

/// Empties the compile cache.
#[expect(clippy::disallowed_methods, reason = "a home of the benchmark's own")]
fn forget(home: &Path) -> Result<()> {
    let cache = home.join("cache");
    std::fs::remove_dir_all(&cache).map_err(|error| io(format!("cannot empty {}", cache.display()), &error))
}

fn node(url: &str) -> Result<Took> {
    let script = format!(
        "fetch('{url}', {{headers: {{authorization: 'Bearer demo-token'}}}}).then((r) => r.json()).then(() => process.exit(0))"
    );
    time(&mut program("node", &["-e", &script]))
}

fn idle_node(runs: u32) -> Option<std::time::Duration> {
    median(runs, || time(&mut program("node", &["-e", "0"]))).ok().map(|took| took.wall)
}
