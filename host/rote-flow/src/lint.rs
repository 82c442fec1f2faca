//! Lint: what is wrong with a flow, or could be better, before anyone runs it.
//!
//! Invariants: the codes are stable and listed in [`LINT_CODES`]; a finding says where and, where there is a way
//! out, which. What can be read from the component itself is read from it and not from what it says of itself.
//! Nothing is sent: the runtime pass replays a recording, in a home of its own with nothing linked that could send.
//! One replay shows all three output forms, because a run gives them all and the caller only chooses one.

mod calls;
mod codes;
mod component;
mod finding;
mod identity;
mod literals;
mod parameters;
mod pins;
mod plan;
mod replay;
mod script;

use std::path::PathBuf;

use serde::Serialize;

pub use codes::LINT_CODES;
pub use finding::{Finding, Fix, Position, Severity};

use crate::contract::Contract;
use crate::evidence::Evidence;
use crate::{Content, FlowError, FlowReference, Package, Pins, Replayer};
use calls::Calls;
pub(crate) use finding::Findings;
pub(crate) use identity::MIN_DESCRIPTION_CHARS;
use script::Script;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LintOptions {
    /// Where the flow's file is: a recording beside it is replayed.
    pub path: Option<PathBuf>,
    /// A recording to replay instead.
    pub replay: Option<PathBuf>,
    /// Leave the replay out.
    pub skip_runtime: bool,
}

/// What lint found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintReport {
    pub flow: String,
    pub version: String,
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// What was replayed, if anything was.
    pub replayed: Option<String>,
    /// Everything that was found, the worst first.
    pub findings: Vec<Finding>,
}

/// Looks for what is wrong with flows.
#[derive(Clone)]
pub struct Linter {
    pub(crate) pins: Pins,
    pub(crate) replayer: Replayer,
}

impl Linter {
    /// Makes it from what is installed and from what replays a recording.
    #[must_use]
    pub fn new(pins: Pins, replayer: Replayer) -> Self {
        Self { pins, replayer }
    }

    /// Looks at a flow by its name or file. See [`Linter::lint`].
    ///
    /// # Errors
    /// As [`Linter::lint`], and when there is no such flow.
    pub async fn lint_reference(
        &self,
        flow: &FlowReference,
        mut options: LintOptions,
    ) -> Result<LintReport, FlowError> {
        let (path, package) = self.pins.library.load(flow)?;
        options.path.get_or_insert(path);
        self.lint(&package, &options).await
    }

    /// Looks at a flow.
    ///
    /// # Errors
    /// An installed adapter, a workspace or the recording that was named cannot be read. What is wrong with the
    /// flow is a finding and no error.
    pub async fn lint(&self, package: &Package, options: &LintOptions) -> Result<LintReport, FlowError> {
        let mut findings = self.inspect(package, options.path.as_deref())?;
        let mut replayed = None;
        if !options.skip_runtime && !findings.has("WORLD_MISMATCH") && !findings.has("WORLD_VERSION") {
            let evidence = match &options.replay {
                Some(path) => Some(Evidence::read(path)?),
                None => self.pins.library.evidence(package, options.path.as_deref())?,
            };
            replayed = evidence.as_ref().map(|evidence| evidence.source.clone());
            self.lint_replay(package, evidence, &mut findings).await?;
        }
        let findings = findings.sorted();
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Ok(LintReport {
            flow: package.frontmatter.name.to_string(),
            version: package.frontmatter.version.clone(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            replayed,
            findings,
        })
    }

    /// Everything that is seen without running the flow.
    pub(crate) fn inspect(&self, package: &Package, path: Option<&std::path::Path>) -> Result<Findings, FlowError> {
        let mut findings = Findings::default();
        let script = match &package.content {
            Content::Script { code, map } => Some(Script::read(code, map)),
            _ => None,
        };
        let calls = Calls::of(package, script.as_ref());
        component::lint(&self.replayer.runtime, package, &mut findings)?;
        identity::lint(package, path, &mut findings);
        calls::lint(package, &calls, &mut findings);
        parameters::lint(package, script.as_ref(), &mut findings);
        lint_output(package, &mut findings);
        plan::lint(package, &*self.replayer.runtime.query_engine(), &mut findings);
        literals::lint(package, script.as_ref(), &mut findings);
        self.pins.lint(package, path, &mut findings)?;
        Ok(findings)
    }
}

/// The contract of the result, without a result to hold against it.
fn lint_output(package: &Package, findings: &mut Findings) {
    let output = &package.frontmatter.output;
    let at = || Position::frontmatter("/output/schema");
    if output.format != "json" {
        let message = format!("the output format is `{}`; a result is always JSON", output.format);
        let finding = Finding::error("OUTPUT_FORMAT", Position::frontmatter("/output/format"), message);
        findings.push(finding.edit("set `output.format` to `json`"));
    }
    if output.schema.is_null() || output.schema.as_object().is_some_and(serde_json::Map::is_empty) {
        let finding = Finding::warning("OUTPUT_SCHEMA_MISSING", at(), "nothing says what the result looks like");
        findings.push(finding.edit("write the JSON Schema of the result into `output.schema`"));
    } else if let Err(error) = Contract::new(&output.schema) {
        let message = format!("`output.schema` is not a JSON Schema: {error}");
        findings.push(Finding::error("OUTPUT_SCHEMA_INVALID", at(), message).edit("correct `output.schema`"));
    }
}
