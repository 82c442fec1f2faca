//! The review of a crystallized flow: what it does in words, what was done without asking, and what is asked.
//!
//! `review.json` beside the flow has what it was made from, so that an answer makes the flow again. It decides nothing: the
//! open questions that a run, a release and a blessing look at are in the flow itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rote_gate::Redaction;
use rote_home::{FileMode, read_capped, write_durable};
use rote_types::{FlowName, Sha256Digest, WorkspaceIdentity};
use rote_workspace::Workspace;
use serde::{Deserialize, Serialize};

use crate::emit::Origins;
use crate::error::{CrystallizeError, PackageError};
use crate::{
    CrystallizeRequest, Crystallized, Crystallizer, Dropped, FlowError, FlowQuestion, FlowReference, FlowStatus,
    Frontmatter, Library, Note, Package, Report, Sentences,
};

/// The file in the folder of a crystallized flow.
const FILE: &str = "review.json";
/// Version of the file.
const VERSION: u32 = 1;
/// Most bytes of it.
const MAX_BYTES: u64 = 1 << 20;

/// What a person is shown of a flow before it is accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Review {
    /// What the flow says of itself, with its open questions.
    pub frontmatter: Frontmatter,
    /// Its plan in words, when it is one.
    pub sentences: Option<Sentences>,
    /// All questions of its recording, answered ones too.
    pub questions: Vec<FlowQuestion>,
    /// What was done without asking.
    pub notes: Vec<Note>,
    /// What was left out of it.
    pub left_out: Vec<Dropped>,
    /// It is not the file that crystallize made last, so nothing more is known of it than it says.
    pub by_hand: bool,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    review: u32,
    /// Digest of the whole flow that it is about.
    flow_sha256: Sha256Digest,
    /// The workspace that was recorded.
    recorded: WorkspaceIdentity,
    request: CrystallizeRequest,
    questions: Vec<FlowQuestion>,
    notes: Vec<Note>,
    left_out: Vec<Dropped>,
}

impl Kept {
    pub(crate) fn of(
        request: &CrystallizeRequest,
        package: &Package,
        report: &Report,
        recorded: WorkspaceIdentity,
    ) -> Self {
        Self {
            review: VERSION,
            flow_sha256: package.digest(),
            recorded,
            request: request.clone(),
            questions: report.questions.clone(),
            notes: report.notes.clone(),
            left_out: report.dropped.clone(),
        }
    }

    pub(crate) fn write(&self, library: &Library, redaction: &Redaction) -> Result<(), FlowError> {
        let malformed = |error: serde_json::Error| {
            FlowError::Package(PackageError::Malformed { what: "review", message: error.to_string() })
        };
        let path = library.review_file(&self.request.name);
        redaction.refuse(&format!("review `{}`", path.display()), &serde_json::to_value(self).map_err(malformed)?)?;
        let text = serde_json::to_string_pretty(self).map_err(malformed)?;
        Ok(write_durable(&path, (text + "\n").as_bytes(), FileMode::Private)?)
    }
}

impl Library {
    fn review_file(&self, name: &FlowName) -> PathBuf {
        self.home.flow_dir(name).join(FILE)
    }

    /// What was kept of the flow when it was crystallized, if it is that flow still.
    fn kept(&self, package: &Package) -> Result<Option<Kept>, FlowError> {
        let path = self.review_file(&package.frontmatter.name);
        if !path.exists() {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_slice(&read_capped(&path, MAX_BYTES)?).map_err(|error| {
            FlowError::Package(PackageError::Malformed { what: "review", message: error.to_string() })
        })?;
        Ok((kept.flow_sha256 == package.digest()).then_some(kept))
    }

    /// Where the constants of a flow came from, as far as that was kept.
    pub(crate) fn origins(&self, package: &Package) -> Result<Origins, FlowError> {
        Ok(self.kept(package)?.map_or_else(Origins::default, |kept| Origins::of(&kept.questions)))
    }

    /// Says in words what a flow does, and what its recording did not decide.
    ///
    /// # Errors
    /// There is no such flow, or what is kept of it cannot be read.
    pub fn review(&self, flow: &FlowReference) -> Result<Review, FlowError> {
        let (_, package) = self.load(flow)?;
        let kept = self.kept(&package)?;
        let sentences = package.plan().map(|plan| Sentences::of(&package.frontmatter, plan));
        let by_hand = kept.is_none();
        let (questions, notes, left_out) =
            kept.map(|kept| (kept.questions, kept.notes, kept.left_out)).unwrap_or_default();
        Ok(Review { frontmatter: package.frontmatter, sentences, questions, notes, left_out, by_hand })
    }
}

impl Crystallizer {
    /// Makes a draft again with answers to its questions, each named by its id or its number. What was answered before
    /// stays answered.
    ///
    /// # Errors
    /// [`CrystallizeError::NotAnswerable`] for a flow that is released, was not crystallized or is another one by now, and
    /// when its workspace is gone; a question that was not asked; those of [`Crystallizer::crystallize`].
    pub async fn answer(&self, name: &FlowName, answers: &[(String, String)]) -> Result<Crystallized, FlowError> {
        let request = self.answered(name, answers)?;
        self.crystallize(&request).await
    }

    fn answered(&self, name: &FlowName, answers: &[(String, String)]) -> Result<CrystallizeRequest, FlowError> {
        let refused =
            |reason: String| FlowError::Crystallize(CrystallizeError::NotAnswerable { flow: name.clone(), reason });
        let library = &self.pins.library;
        let (_, package) = library.load(&FlowReference::Name(name.clone()))?;
        if package.frontmatter.status == FlowStatus::Released {
            return Err(refused("it is released".to_owned()));
        }
        let Some(Kept { mut request, questions, recorded, .. }) = library.kept(&package)? else {
            return Err(refused("it is not the one that crystallize made".to_owned()));
        };
        let gone = || refused(format!("workspace `{}` is gone; record it again", recorded.name));
        if !library.home.workspace_dir(&recorded.name).exists()
            || *Workspace::open(&library.home, &recorded.name)?.identity() != recorded
        {
            return Err(gone());
        }
        request.answers.extend(by_id(answers, &questions)?);
        request.force = true;
        Ok(request)
    }
}

/// Answers by the ids of their questions, of which some were named by number.
fn by_id(answers: &[(String, String)], questions: &[FlowQuestion]) -> Result<BTreeMap<String, String>, FlowError> {
    let mut found = BTreeMap::new();
    for (question, answer) in answers {
        let id = match question.parse::<usize>() {
            Ok(number) => number.checked_sub(1).and_then(|index| questions.get(index)).map(|one| one.id.clone()),
            Err(_) => Some(question.clone()),
        };
        let Some(id) = id else {
            let message = format!("there is not a question {question}; it has {}", questions.len());
            return Err(FlowError::Usage { message });
        };
        found.insert(id, answer.clone());
    }
    Ok(found)
}
