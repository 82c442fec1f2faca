//! Flows made by other toolchains: componentize-py and componentize-js, built here and run against the demo API.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::rote::Rote;

/// Where the sources and the contracts are, from the repository's root.
const SOURCES: &str = "tests/peers/foreign";
/// The issues of project `beacon` in the demo API.
const ISSUES: u64 = 16;

/// The toolchains.
pub(crate) struct Toolchains {
    /// The program `componentize-py`.
    pub(crate) python: PathBuf,
    /// The folder `node_modules` that has `@bytecodealliance/componentize-js`.
    pub(crate) node_modules: PathBuf,
}

/// Builds both flows, runs them, and fails when one says something else than the other.
pub(crate) fn check(rote: &Rote, toolchains: &Toolchains) -> Result<()> {
    let work = tempfile::tempdir()?;
    let wit = contracts(work.path())?;
    let demo = Demo::start(rote)?;
    rote.ok(&["adapter", "new", "tracker", "adapters/tracker/openapi.yaml", "--base-url", &demo.url])?;
    let sources = Path::new(SOURCES).canonicalize().context("run it in the repository's root")?;
    let python = work.path().join("python.wasm");
    let mut componentize = Command::new(&toolchains.python);
    componentize.arg("-d").arg(&wit).args(["-w", "flow", "componentize", "--stub-wasi", "flow", "-o"]);
    // Python would leave what it compiled beside the source.
    done(componentize.arg(&python).current_dir(&sources).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    one(rote, "made-by-python", &python)?;
    let javascript = work.path().join("javascript.wasm");
    // A module is looked for beside the script that imports it.
    let script = work.path().join("componentize.mjs");
    std::fs::copy(sources.join("componentize.mjs"), &script)?;
    std::os::unix::fs::symlink(toolchains.node_modules.canonicalize()?, work.path().join("node_modules"))?;
    done(Command::new("node").arg(script).arg(sources.join("flow.js")).arg(&wit).arg(&javascript))?;
    one(rote, "made-by-javascript", &javascript)
}

/// Puts the contracts together as those toolchains want them: one package, the others below `deps`.
fn contracts(work: &Path) -> Result<PathBuf> {
    let wit = work.join("wit");
    for (package, folder) in [
        ("rote-flow@0.2.0", wit.clone()),
        ("rote-base@0.2.0", wit.join("deps/base")),
        ("rote-host@0.2.0", wit.join("deps/host")),
    ] {
        std::fs::create_dir_all(&folder)?;
        for file in std::fs::read_dir(Path::new("wit").join(package))? {
            let file = file?;
            std::fs::copy(file.path(), folder.join(file.file_name()))?;
        }
    }
    Ok(wit)
}

/// Builds and runs one flow.
fn one(rote: &Rote, name: &str, component: &Path) -> Result<()> {
    let folder = component.with_extension("flow");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("flow.wasm");
    std::fs::copy(component, &file)?;
    let header = std::fs::read_to_string(Path::new(SOURCES).join("flow.yaml"))?;
    std::fs::write(folder.join("flow.yaml"), format!("name: {name}\n{header}"))?;
    let file = file.to_str().context("a path that is text")?;
    let built = rote.ok(&["flow", "build", file])?;
    let ran = rote.ok(&["run", name, "project=beacon"])?;
    ensure!(ran["result"] == json!({ "count": ISSUES, "later": true }), "{name} returned {}", ran["result"]);
    ensure!(ran["human"] == json!([format!("beacon has {ISSUES} issues")]), "{name} said {}", ran["human"]);
    ensure!(ran["steps"].as_array().map(Vec::len) == Some(1), "{name} made {}", ran["steps"]);
    let refused = rote.run(&["run", name])?;
    ensure!(refused.code == 2, "{name} ran without its parameter: {}", refused.envelope);
    println!("{name}: {} bytes, one call, {}", built["bytes"], ran["human"][0].as_str().unwrap_or_default());
    Ok(())
}

fn done(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The demo API; ends with the value.
struct Demo {
    server: Child,
    url: String,
}

impl Demo {
    fn start(rote: &Rote) -> Result<Self> {
        let mut server = rote.command(&["demo", "serve", "--port", "0"]).stdout(Stdio::piped()).spawn()?;
        let out = server.stdout.take().context("its output")?;
        let mut url = String::new();
        let read = BufReader::new(out).read_line(&mut url);
        let demo = Self { server, url: url.trim().to_owned() };
        read?;
        ensure!(demo.url.starts_with("http://"), "the demo says `{}`", demo.url);
        Ok(demo)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _reaped = self.server.wait();
    }
}
