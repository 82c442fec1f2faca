//! Validate: is this file a flow, whole and of the right shape? Nothing about whether it is a good one.

use std::path::PathBuf;

use jsonschema::Draft;
use rote_runtime::{FRONTMATTER_SECTION, World, custom_section};
use rote_types::Sha256Digest;
use serde::Serialize;
use serde_json::Value;

use crate::error::PackageError;
use crate::{Content, FlowError, FlowReference, Linter, Package};

/// JSON Schema (2020-12) of the frontmatter, as `flows/frontmatter.schema.json`.
pub const FRONTMATTER_SCHEMA: &str = include_str!("../../../flows/frontmatter.schema.json");

/// One thing that was checked and held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatCheck {
    /// What was checked.
    pub check: &'static str,
    /// What was found.
    pub found: String,
}

/// What a flow's file was checked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Validated {
    pub flow: String,
    pub version: String,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: usize,
    /// Digest of the whole file.
    pub sha256: Sha256Digest,
    /// Everything that was checked, all of it held.
    pub checks: Vec<FormatCheck>,
}

impl Linter {
    /// Checks the format of a flow's file: digest, sections, frontmatter, payload, world.
    ///
    /// # Errors
    /// The first check that does not hold: [`PackageError::Tampered`], [`PackageError::NotAFlow`],
    /// [`PackageError::Malformed`], or [`FlowError::Load`] for a component of another world.
    pub fn validate(&self, flow: &FlowReference) -> Result<Validated, FlowError> {
        let (path, package) = self.pins.library.load(flow)?;
        check_frontmatter(&package)?;
        let prepared = self.replayer.runtime.sandbox().prepare(World::Flow, package.bytes())?;
        let payload = package.payload()?;
        let held = |check, found: String| FormatCheck { check, found };
        let frontmatter = &package.frontmatter;
        let content = match &package.content {
            Content::Plan(plan) => format!("plan of {} steps, version {}", plan.steps.len(), plan.version),
            Content::Script { code, .. } => format!("script of {} lines, with its source map", code.lines().count()),
            Content::Component => "none: the component is the flow".to_owned(),
        };
        let checks = vec![
            held("digest", "the digest at the end is that of every byte before it".to_owned()),
            held("sections", format!("frontmatter and a payload of {} bytes, each once", payload.len())),
            held("frontmatter", format!("schema {}, every key known", frontmatter.schema)),
            held("payload", content),
            held("world", format!("{}, code {}", World::Flow.name(), prepared.code_digest())),
        ];
        Ok(Validated {
            flow: frontmatter.name.to_string(),
            version: frontmatter.version.clone(),
            bytes: package.bytes().len(),
            sha256: package.digest(),
            path,
            checks,
        })
    }
}

/// Holds the frontmatter, as it stands in the file, against the published schema.
fn check_frontmatter(package: &Package) -> Result<(), FlowError> {
    let malformed = |message: String| FlowError::Package(PackageError::Malformed { what: "frontmatter", message });
    let section = custom_section(package.bytes(), FRONTMATTER_SECTION)?.unwrap_or_default();
    let value: Value = serde_json::from_slice(section).map_err(|error| malformed(error.to_string()))?;
    frontmatter_problem(&value).map_or(Ok(()), |problem| Err(malformed(problem)))
}

/// Says what of a frontmatter does not fit the published schema.
pub(crate) fn frontmatter_problem(value: &Value) -> Option<String> {
    let schema: Value = serde_json::from_str(FRONTMATTER_SCHEMA).expect("a test reads the file that is compiled in");
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    let validator = options.build(&schema).expect("a test compiles the schema that is compiled in");
    let error = validator.validate(value).err()?;
    Some(format!("at `{}`: {error}", error.instance_path()))
}
