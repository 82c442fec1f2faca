//! `rote flow new`, `build`, `dev` and `test`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rote_app::{
    BuildRequest, BuildSource, Built, FlowReference, NoObserver, ProjectForm, ReplayRequest, RunRequest, Written,
};
use rote_types::{Language, Sha256Digest, command};
use serde_json::json;

use crate::ask::with_bindings;
use crate::commands::words::{self, Named};
use crate::context::Context;
use crate::error::Result;
use crate::render::units::{plural, size};
use crate::ui::{Report, Ui};

/// Time between two looks at the sources.
const POLL: Duration = Duration::from_millis(200);
/// The ends of the names of sources. A log that this command writes is not one.
const SOURCES: [&str; 10] = ["ts", "mts", "js", "mjs", "cjs", "json", "rs", "toml", "yaml", "yml"];
/// Most files that are watched, and deepest folder.
const MAX_WATCHED: usize = 2_000;
const MAX_DEPTH: usize = 8;

/// What `--lang` takes.
pub(in crate::commands) fn language() -> impl TypedValueParser<Value = Language> {
    let words = [
        PossibleValue::new(Language::TypeScript.as_str()).help("TypeScript: one file, no toolchain"),
        PossibleValue::new(Language::Rust.as_str()).help("Rust: a crate, built by your cargo"),
    ];
    PossibleValuesParser::new(words).try_map(|word| word.parse::<Language>())
}

/// What `--lang` of a new flow takes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// TypeScript: one file, no toolchain
    Ts,
    /// Rust: a crate, built by your cargo (rustup target add wasm32-unknown-unknown)
    Rust,
    /// A plan.json with loops and conditions, no code; PLAN.md beside it says what can stand in it
    Plan,
}

impl From<Form> for ProjectForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Ts => Self::Code(Language::TypeScript),
            Form::Rust => Self::Code(Language::Rust),
            Form::Plan => Self::Plan,
        }
    }
}

/// Begin a flow of your own in a new folder
#[derive(Debug, Args)]
pub struct New {
    /// The flow's name
    name: String,
    /// Its language
    #[arg(long, value_name = "LANG", default_value = "ts")]
    lang: Form,
    /// The folder [default: the flow's name]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl New {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let folder = self.dir.unwrap_or_else(|| PathBuf::from(&self.name));
        let place = context.session()?.outside_home(&folder)?;
        let project = context.host()?.library()?.new_project(&self.name.parse()?, self.lang.into(), &place)?;
        let text = project.files.iter().map(|file| folder.join(file).display().to_string()).collect::<Vec<_>>();
        Ok(Report::new(&project, text.join("\n")).next(command("rote flow build").argument(folder.display())))
    }
}

/// Build a flow from its sources: a main.ts; or a crate, a plan.json or a component, each with its flow.yaml
#[derive(Debug, Args)]
pub struct Build {
    /// The folder, or the file
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Write the flow here instead of into the home
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Build {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let out = self.out.clone();
        let built = build(context, &self.path, self.out.as_deref())?;
        let front = &built.frontmatter;
        let from = match built.modules.len() {
            0 => String::new(),
            count => format!(" from {}", plural(count, "file")),
        };
        let mut text =
            format!("built {} {}: {}{from}, {}", front.name, front.version, size(built.bytes as u64), built.sha256);
        text.extend(built.notes.iter().map(|note| format!("\n  note: {note}")));
        let named = out.map_or_else(|| front.name.to_string(), |path| path.display().to_string());
        Ok(Report::new(&built, text).next(front.run_command(named)))
    }
}

/// Build a flow and run it, and again each time that a source changes
#[derive(Debug, Args)]
#[command(after_help = words::GRAMMAR)]
pub struct Dev {
    /// The folder, or the main.ts
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Parameters of the runs
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    #[command(flatten)]
    named: Named,
    /// Build and run once
    #[arg(long)]
    once: bool,
}

impl Dev {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let watched = if self.path.is_dir() { self.path.clone() } else { parent(&self.path) };
        context.listen()?;
        let mut made = None;
        loop {
            let before = newest(&watched, 0);
            match self.build_and_run(context, ui, &mut made) {
                Ok(Some(report)) if self.once => return Ok(report),
                // One envelope for each run.
                Ok(Some(report)) => ui.show(&report)?,
                Ok(None) => {}
                Err(error) if self.once || error.ends() || !self.path.exists() => return Err(error),
                Err(error) => ui.fail(&error),
            }
            ui.talk("waiting for a change; Ctrl-C ends");
            while newest(&watched, 0) == before {
                context.block_on(async { tokio::time::sleep(POLL).await })?;
            }
        }
    }

    /// Builds the flow, and runs it where it is not the one that ran last: a file that is not a part of it changes nothing.
    fn build_and_run(
        &self,
        context: &Context,
        ui: &mut Ui<'_>,
        made: &mut Option<Sha256Digest>,
    ) -> Result<Option<Report>> {
        let built = build(context, &self.path, None)?;
        if made.replace(built.sha256) == Some(built.sha256) {
            return Ok(None);
        }
        let parameters = self.named.read(&self.parameters, || "rote flow dev . NAME=VALUE".to_owned())?;
        let session = context.session()?;
        let flow = FlowReference::Name(built.frontmatter.name);
        let parameters = session.run_parameters(Some(&flow), parameters)?;
        let request = RunRequest { flow: Some(flow), parameters, ..RunRequest::default() };
        let run = || context.block_on_to_the_end(session.run_flow(&request, Arc::new(NoObserver)));
        let done = with_bindings(context, ui, run)?;
        let text = if done.human.is_empty() {
            serde_json::to_string_pretty(&done.result).unwrap_or_default()
        } else {
            done.human.join("\n")
        };
        Ok(Some(Report::new(json!({ "flow": self.path, "output": text }), text).verbatim()))
    }
}

/// Builds the sources at a path, into the home where no file is named.
fn build(context: &Context, path: &Path, output: Option<&Path>) -> Result<Built> {
    let session = context.session()?;
    let source = BuildSource::of(&session.absolute(path))?;
    let output = output.map(|output| session.written_file(output, Written::Component)).transpose()?;
    let author = session.host().author()?;
    Ok(context.block_on(author.build(&BuildRequest { source, output }))??)
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The number of sources and the newest change among them; what builders write is left out.
fn newest(folder: &Path, depth: usize) -> (usize, Option<SystemTime>) {
    let (mut count, mut newest_change) = (0, None);
    for entry in folder.read_dir().into_iter().flatten().flatten().take(MAX_WATCHED) {
        let name = entry.file_name();
        let skipped =
            matches!(name.to_str(), Some("target" | "node_modules") | None) || name.to_string_lossy().starts_with('.');
        let Ok(metadata) = entry.metadata() else { continue };
        if skipped {
            continue;
        }
        let (files, change) = match metadata.is_dir() {
            true if depth < MAX_DEPTH => newest(&entry.path(), depth + 1),
            true => (0, None),
            false if !is_source(&entry.path()) => (0, None),
            false => (1, metadata.modified().ok()),
        };
        count += files;
        newest_change = newest_change.max(change);
    }
    (count, newest_change)
}

fn is_source(path: &Path) -> bool {
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| SOURCES.contains(&end))
}

/// Replay a recording of a flow with no network; its output must be what was recorded, byte for byte
#[derive(Debug, Args)]
pub struct Test {
    /// The flow's name or file [default: the recorded one]
    flow: Option<String>,
    /// The recording, made with `rote run --record`
    #[arg(long, value_name = "FILE")]
    replay: PathBuf,
}

impl Test {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let session = context.session()?;
        let flow = self.flow.as_deref().map(|flow| session.flow(flow)).transpose()?;
        let request = ReplayRequest { flow, recording: session.absolute(&self.replay) };
        let report = context.block_on(session.host().replayer()?.test(&request))??;
        let mut text = format!(
            "{} {}: replayed {} times, {} answered, output as recorded",
            report.flow,
            report.version,
            report.times,
            plural(report.calls, "call")
        );
        if !report.same_file {
            text.push_str("\nthe flow's file is not the one that was recorded");
        }
        if !report.unasked.is_empty() {
            text.push_str(&format!("\nrecorded and not asked for: {}", report.unasked.join(", ")));
        }
        Ok(Report::new(&report, text))
    }
}
