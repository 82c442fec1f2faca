//! Flows being written: begun, built, tested, bound to adapters.

use std::path::{Path, PathBuf};

use rote_bind::BindOptions;
use rote_flow::{BuildRequest, BuildSource, Built, NewProject, ProjectLanguage, ReplayReport, ReplayRequest};
use rote_gate::{ClaimedProcess, GateError, ProcessFailure};
use rote_types::ErrorKind;

use crate::error::name;
use crate::{App, AppError};

/// The target that Rust flows are built for.
const TARGET: &str = "wasm32-unknown-unknown";
/// The entry of a TypeScript flow in its folder.
const ENTRY: &str = "main.ts";
/// The plan of a flow that is written as one.
const PLAN: &str = "plan.json";
/// The frontmatter of a flow that is no script.
const HEADER: &str = "flow.yaml";

/// A language of flows and bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// TypeScript.
    TypeScript,
    /// Rust.
    Rust,
}

/// A wish to build a flow.
#[derive(Debug, Clone)]
pub struct Build {
    /// A folder, an entry such as `main.ts`, or a component.
    pub path: PathBuf,
    /// The file to write; the home's flow of that name, when absent.
    pub output: Option<PathBuf>,
}

impl App {
    /// Begins a project in a new folder.
    ///
    /// # Errors
    /// Conflict when the folder has files in it.
    pub fn new_flow(&self, flow: &str, language: Language, folder: Option<&Path>) -> Result<NewProject, AppError> {
        let folder = self.absolute(folder.unwrap_or(Path::new(flow)));
        let language = match language {
            Language::TypeScript => ProjectLanguage::TypeScript,
            Language::Rust => ProjectLanguage::Rust,
        };
        Ok(self.library()?.new_project(&name(flow)?, language, &folder)?)
    }

    /// Builds a flow from its sources; a Rust flow with the person's own cargo.
    ///
    /// # Errors
    /// Conflict with file, line and column when the sources do not build; `FingerprintMismatch` when they were
    /// written for another adapter than the installed one.
    pub async fn build_flow(&self, build: &Build) -> Result<Built, AppError> {
        let path = self.absolute(&build.path);
        let source = match path.is_dir() {
            false if path.extension().is_some_and(|extension| extension == "wasm") => {
                let header = path.with_file_name(HEADER);
                BuildSource::Component { wasm: path, header }
            }
            false if path.extension().is_some_and(|extension| extension == "json") => {
                let header = path.with_file_name(HEADER);
                BuildSource::Plan { plan: path, header }
            }
            false => BuildSource::Script(path),
            true if path.join(ENTRY).exists() => BuildSource::Script(path.join(ENTRY)),
            true if path.join(PLAN).exists() => BuildSource::Plan { plan: path.join(PLAN), header: path.join(HEADER) },
            true if path.join("Cargo.toml").exists() => {
                BuildSource::Component { wasm: self.cargo_build(&path).await?, header: path.join(HEADER) }
            }
            true => {
                let message = format!("`{}` has none of `{ENTRY}`, `{PLAN}` and `Cargo.toml`", path.display());
                return Err(
                    AppError::new(ErrorKind::NotFound, message).with_hint("rote flow new <name> --lang ts|rust")
                );
            }
        };
        let output = build.output.as_deref().map(|output| self.absolute(output));
        Ok(self.author()?.build(&BuildRequest { source, output })?)
    }

    /// Builds the crate in `folder` with the person's own cargo and returns its core module.
    async fn cargo_build(&self, folder: &Path) -> Result<PathBuf, AppError> {
        let arguments = ["build", "--release", "--target", TARGET, "--target-dir", "target"];
        let process = ClaimedProcess {
            program: "cargo".to_owned(),
            arguments: arguments.map(str::to_owned).to_vec(),
            folder: folder.to_owned(),
        };
        let run = self.gate()?.build(process).await.map_err(|error| match error {
            GateError::Process(ProcessFailure::Start { .. }) => {
                AppError::from(error).with_hint("install Rust, which brings cargo")
            }
            error => AppError::from(error),
        })?;
        if run.is_success() {
            return built_module(folder);
        }
        // E0463 is what rustc says of a standard library that is not there.
        let lacks_target = run.output.contains("E0463") && run.output.contains(TARGET);
        let failure = AppError::new(ErrorKind::Conflict, format!("cargo could not build `{}`", folder.display()));
        Err(match lacks_target {
            true => failure
                .with_cause(format!("the standard library for {TARGET} is not installed"))
                .with_hint(format!("rustup target add {TARGET}")),
            false => {
                failure.with_cause(run.output.trim().to_owned()).with_hint(format!("cargo build --target {TARGET}"))
            }
        })
    }

    /// Replays a recording of a flow with no network.
    ///
    /// # Errors
    /// Conflict when something was not recorded or the output differs.
    pub async fn test_flow(&self, flow: Option<&str>, recording: &Path) -> Result<ReplayReport, AppError> {
        let flow = flow.map(|flow| self.flow_reference(flow)).transpose()?;
        let recording = self.absolute(recording);
        Ok(self.replayer()?.test(&ReplayRequest { flow, recording }).await?)
    }

    /// Returns typed bindings of an adapter's tools.
    ///
    /// # Errors
    /// `NotFound` when there is no such adapter or tool.
    pub fn bind(&self, adapter: &str, language: Language, tools: &[String]) -> Result<String, AppError> {
        let adapter = self.adapters_of_home()?.open(&self.adapter_id(adapter)?)?;
        let all: Vec<_> = adapter.all_tools()?.iter().map(|tool| (**tool).clone()).collect();
        let options = BindOptions { tools: tools.to_vec(), ..BindOptions::default() };
        let bound = match language {
            Language::TypeScript => rote_bind::typescript(adapter.manifest(), &all, &options),
            Language::Rust => rote_bind::rust(adapter.manifest(), &all, &options),
        };
        bound.map_err(|error| AppError::new(ErrorKind::NotFound, error.to_string()))
    }

    /// Writes a source file for a person.
    ///
    /// # Errors
    /// General when the disk refuses.
    pub fn write_source(&self, path: &Path, text: &str) -> Result<(), AppError> {
        Ok(rote_home::write_atomic(&self.absolute(path), text.as_bytes(), rote_home::FileMode::Shared)?)
    }
}

/// Finds the core module of a crate that was built.
fn built_module(folder: &Path) -> Result<PathBuf, AppError> {
    let built = folder.join("target").join(TARGET).join("release");
    let modules: Vec<PathBuf> = built
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        .collect();
    match modules.as_slice() {
        [module] => Ok(module.clone()),
        found => Err(AppError::new(
            ErrorKind::Conflict,
            format!("`{}` holds {} wasm files where one is needed", built.display(), found.len()),
        )
        .with_hint("set `crate-type = [\"cdylib\"]` in Cargo.toml and remove old files")),
    }
}
