//! Release: a draft becomes a flow that is found, is never overwritten and may be run by other flows.
//!
//! One transaction: the file, the search index and the journal have the release, or none of them has. The status is
//! part of the file, so a release changes its digest, and what was tied to the digest of the draft no longer holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rote_home::{Durability, FileMode, Journal, NewEvent, write_durable};
use rote_types::{Clock, FlowName, Sha256Digest, event};
use serde::Serialize;
use serde_json::{Value, json};

use crate::derive::next_version;
use crate::error::{AuthorError, LibraryError};
use crate::{
    FlowError, FlowReference, FlowStatus, Frontmatter, Library, LintOptions, Linter, Package, Severity, VersionPart,
};

/// A flow that is released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Released {
    pub name: FlowName,
    pub version: String,
    /// The file.
    pub path: PathBuf,
    /// Digest of the whole file.
    pub sha256: Sha256Digest,
    /// Digest of the draft, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_sha256: Option<Sha256Digest>,
    /// It had been released before; nothing was changed.
    pub already: bool,
    /// What a person should know, such as a blessing that no longer counts.
    pub notes: Vec<String>,
}

/// Releases drafts.
#[derive(Clone)]
pub struct Releases {
    linter: Linter,
    journal: Arc<Journal>,
    clock: Arc<dyn Clock>,
}

impl Releases {
    /// Makes it; what the linter finds stops a release, and the journal tells of each.
    #[must_use]
    pub fn new(linter: Linter, journal: Arc<Journal>, clock: Arc<dyn Clock>) -> Self {
        Self { linter, journal, clock }
    }

    fn library(&self) -> &Library {
        &self.linter.pins.library
    }

    /// Releases a draft. One that is released already stays as it is. With `force` what is wrong with it is written
    /// down with the release and stops nothing.
    ///
    /// # Errors
    /// [`PinError::MissingAdapters`](crate::PinError::MissingAdapters) or `FingerprintMismatch` when it could not be run here;
    /// [`AuthorError::VersionTaken`] for a version that was released with other bytes, also with `force`;
    /// [`AuthorError::NotReleasable`] without `force`, with everything that its frontmatter lacks and every error that lint
    /// finds; or a file, the index or the journal refused. The draft is then as it was.
    pub async fn release(&self, name: &FlowName, force: bool) -> Result<Released, FlowError> {
        let (path, draft) = self.library().load(&FlowReference::Name(name.clone()))?;
        if draft.frontmatter.status == FlowStatus::Released {
            return self.released_before(name, path, &draft);
        }
        let frontmatter = Frontmatter { status: FlowStatus::Released, ..draft.frontmatter.clone() };
        self.put(name, path, &draft, frontmatter, force).await
    }

    /// Gives a released flow its next version. It is held against what is installed and linted as any release; what runs is
    /// the same, but its digest is another, so blessings and pins of it end. A draft is left as it is, with `None`.
    ///
    /// # Errors
    /// As [`Releases::release`], or a version that is not `major.minor.patch`. The flow is then as it was.
    pub async fn bump(&self, name: &FlowName, part: VersionPart) -> Result<Option<Released>, FlowError> {
        let (path, old) = self.library().load(&FlowReference::Name(name.clone()))?;
        if old.frontmatter.status != FlowStatus::Released {
            return Ok(None);
        }
        let version = next_version(&old.frontmatter.version, part)?;
        self.put(name, path, &old, Frontmatter { version, ..old.frontmatter.clone() }, false).await.map(Some)
    }

    /// Puts a release in the place of what is there: file, index and journal, or none of them.
    async fn put(
        &self,
        name: &FlowName,
        path: PathBuf,
        draft: &Package,
        frontmatter: Frontmatter,
        force: bool,
    ) -> Result<Released, FlowError> {
        let released = draft.with_frontmatter(frontmatter)?;
        refuse_other_release(&self.journal, &released, None)?;
        let violations = self.release_violations(&released).await?;
        if !violations.is_empty() && !force {
            return Err(FlowError::Author(AuthorError::NotReleasable { flow: name.clone(), problems: violations }));
        }
        let guard = self.library().lock_flows()?;
        let (_, current) = self.library().load(&FlowReference::Name(name.clone()))?;
        if current.digest() != draft.digest() {
            return Err(FlowError::Library(LibraryError::ChangedMeanwhile { flow: name.clone() }));
        }
        self.library().announce_change()?;
        write_durable(&path, released.bytes(), FileMode::Private)?;
        if let Err(error) = self.publish(name, draft, &released, &violations) {
            // The draft comes back first: the marker stays until the index has it too.
            write_durable(&path, draft.bytes(), FileMode::Private)?;
            if self.library().index_draft(name).is_ok() {
                self.library().settle_change()?;
            }
            return Err(error);
        }
        self.library().settle_change()?;
        drop(guard);
        let mut notes: Vec<String> = violations.iter().map(|one| format!("released in spite of {one}")).collect();
        if self.library().home.flow_permissions_file(name).exists() {
            notes.push(format!(
                "the release changed the flow's digest, so its blessing no longer counts: rote flow bless {name}"
            ));
        }
        notes.extend(
            self.linter
                .pins
                .pinned_by(name)
                .into_iter()
                .filter(|_| draft.frontmatter.status == FlowStatus::Released)
                .map(|other| format!("flow `{other}` runs the version before, and stops until it is made anew")),
        );
        let (version, sha256) = (released.frontmatter.version.clone(), released.digest());
        let draft_sha256 = Some(draft.digest());
        Ok(Released { name: name.clone(), version, path, sha256, draft_sha256, already: false, notes })
    }

    /// What speaks against a release and can be overruled.
    async fn release_violations(&self, package: &Package) -> Result<Vec<String>, FlowError> {
        let path = self.library().file(&package.frontmatter.name);
        self.linter.pins.check_adapters(package, &path)?;
        let mut problems = frontmatter_problems(&package.frontmatter);
        let linted = self.linter.lint(package, &LintOptions { path: Some(path), ..LintOptions::default() }).await?;
        let errors = linted.findings.into_iter().filter(|finding| finding.severity == Severity::Error);
        problems.extend(errors.map(|one| format!("{} at {}: {}", one.code, one.position, one.message)));
        Ok(problems)
    }

    /// Tells index and journal.
    fn publish(
        &self,
        name: &FlowName,
        draft: &Package,
        released: &Package,
        violations: &[String],
    ) -> Result<(), FlowError> {
        if self.library().search_index().exists() {
            self.library().index_flows(std::slice::from_ref(name))?
        } else {
            drop(self.library().write_index(None)?)
        }
        let body = json!({
            "flow": name,
            "version": released.frontmatter.version,
            "sha256": released.digest(),
            "draft_sha256": draft.digest(),
            "violations": violations,
        });
        let event = NewEvent { kind: event::FLOW_RELEASED, effect: None, body };
        self.journal.append(self.clock.now(), Durability::Disk, &[event])?;
        Ok(())
    }

    fn released_before(&self, name: &FlowName, path: PathBuf, package: &Package) -> Result<Released, FlowError> {
        Ok(Released {
            name: name.clone(),
            version: package.frontmatter.version.clone(),
            path,
            sha256: package.digest(),
            draft_sha256: None,
            already: true,
            notes: vec![format!("`{name}` was released before; nothing was changed")],
        })
    }
}

/// Refuses a version under which other bytes were released before: what somebody pinned or was told of stays what it was.
/// `source_file` says the version, where it is built.
pub(crate) fn refuse_other_release(
    journal: &Journal,
    package: &Package,
    source_file: Option<&Path>,
) -> Result<(), FlowError> {
    let Frontmatter { name, version, .. } = &package.frontmatter;
    let releases = journal.releases_of(name)?;
    let of = |version: &str| releases.iter().filter(move |event| event.body["version"] == version).collect::<Vec<_>>();
    let before = of(version);
    if before.is_empty() {
        return Ok(());
    }
    let frontmatter = Frontmatter { status: FlowStatus::Released, ..package.frontmatter.clone() };
    let digest = package.with_frontmatter(frontmatter)?.digest().to_string();
    if before.iter().any(|event| event.body["sha256"] == *digest) {
        return Ok(());
    }
    let mut next = next_version(version, VersionPart::Patch)?;
    // Ends: each turn passes one of the releases.
    while !of(&next).is_empty() {
        next = next_version(&next, VersionPart::Patch)?;
    }
    let (flow, version, source_file) = (name.clone(), version.clone(), source_file.map(Path::to_owned));
    Err(FlowError::Author(AuthorError::VersionTaken { flow, version, next, source_file }))
}

/// What a frontmatter lacks for other people to find and run the flow.
fn frontmatter_problems(frontmatter: &Frontmatter) -> Vec<String> {
    let mut problems = Vec::new();
    if frontmatter.description.trim().is_empty() {
        problems.push("it has no description".to_owned());
    }
    if frontmatter.version.split('.').filter(|part| part.parse::<u32>().is_ok()).count() != 3 {
        problems.push(format!("`{}` is not a version of the form 1.2.3", frontmatter.version));
    }
    if frontmatter.output.format.is_empty() {
        problems.push("it does not say what it returns".to_owned());
    }
    let untyped = frontmatter.parameter_schemas().filter(|(_, schema)| schema.get("type").is_none());
    problems.extend(untyped.map(|(name, _)| format!("parameter `{name}` has no type")));
    let known = |name: &str| frontmatter.parameter_schemas().any(|(one, _)| one == name);
    let required = frontmatter.parameters.get("required").and_then(Value::as_array).into_iter().flatten();
    let unknown = required.filter_map(Value::as_str).filter(|name| !known(name));
    problems.extend(unknown.map(|name| format!("it requires parameter `{name}`, which it does not describe")));
    let pinned = |adapter, tool: &str| {
        frontmatter.adapters.get(adapter).is_some_and(|pin: &crate::AdapterPin| pin.tools.contains_key(tool))
    };
    let loose = frontmatter.write_permissions.iter().filter(|one| !pinned(&one.adapter, &one.tool));
    problems
        .extend(loose.map(|one| format!("it may write with `{}/{}`, which it does not pin", one.adapter, one.tool)));
    problems
}
