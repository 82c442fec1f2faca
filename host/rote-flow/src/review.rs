//! The review of a crystallized flow: what it does in words, what was done without asking, and what is asked.
//!
//! `review.json` beside the flow has what it was made from, so that an answer makes the flow again. It decides nothing: the
//! open questions that a run, a release and a blessing look at are in the flow itself. A secret that was asked for as the value
//! of a parameter is not in it: an answer reads it back from the workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rote_gate::Redaction;
use rote_home::{HomeError, read_capped};
use rote_types::{FlowName, ResponseId, Sha256Digest, WorkspaceIdentity, sha256};
use rote_workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crystallize::companions::Made;
use crate::crystallize::literals::walk_scalars;
use crate::crystallize::mask::Masks;
use crate::emit::Origins;
use crate::error::{CrystallizeError, PackageError};
use crate::trace::Trace;
use crate::{
    CrystallizeRequest, Crystallized, Crystallizer, Dropped, FlowError, FlowQuestion, FlowReference, FlowStatus,
    Frontmatter, Library, Note, Package, Report, Sentences,
};

/// The file in the folder of a crystallized flow.
const FILE: &str = "review.json";
/// Version of the file.
const VERSION: u32 = 1;
/// Most bytes of it.
const MAX_BYTES: u64 = 8 << 20;
/// Most bytes of the value of an evidence; of a longer one the beginning is kept.
const MAX_EVIDENCE_BYTES: usize = 2 << 10;

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
    /// Its plan is not the one that crystallize made last, so nothing more is known of it than it says.
    pub by_hand: bool,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    review: u32,
    /// Digest of the whole flow that was made: only that one is made again.
    flow_sha256: Sha256Digest,
    /// Digest of its plan, which a release, a new version and new pins leave as it is.
    #[serde(default)]
    plan_sha256: Option<Sha256Digest>,
    /// The workspace that was recorded.
    recorded: WorkspaceIdentity,
    request: CrystallizeRequest,
    questions: Vec<FlowQuestion>,
    notes: Vec<Note>,
    left_out: Vec<Dropped>,
    /// Where the values of parameters stand that are not kept, by the parameter.
    #[serde(default)]
    unkept: BTreeMap<String, Standing>,
    /// What was written beside the flow, by its name there.
    #[serde(default)]
    pub(crate) companions: BTreeMap<String, Sha256Digest>,
}

/// Where a text stands in the arguments of a recorded call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Standing {
    response: ResponseId,
    pointer: String,
    at: usize,
    bytes: usize,
}

/// What was recorded, as far as an answer needs it.
pub(crate) struct Recorded {
    workspace: WorkspaceIdentity,
    unkept: BTreeMap<String, Standing>,
}

impl Recorded {
    /// Finds the values of parameters that `masks` hides.
    pub(crate) fn of(workspace: &Workspace, trace: &Trace, request: &CrystallizeRequest, masks: &Masks) -> Self {
        let hidden = request.params.iter().filter_map(|spec| {
            let value = spec.value.as_deref().filter(|value| masks.text(value) != **value)?;
            Some((spec.name.clone(), Standing::of(value, trace)?))
        });
        Self { workspace: workspace.identity().clone(), unkept: hidden.collect() }
    }
}

impl Standing {
    fn of(text: &str, trace: &Trace) -> Option<Self> {
        trace.calls.iter().find_map(|call| {
            let mut found = None;
            walk_scalars(&call.arguments, String::new(), &mut |pointer, literal| {
                if let Some(at) = literal.as_str().and_then(|whole| whole.find(text)).filter(|_| found.is_none()) {
                    found = Some(Self { response: call.response, pointer: pointer.to_owned(), at, bytes: text.len() });
                }
            });
            found
        })
    }

    fn read(&self, trace: &Trace) -> Option<String> {
        let call = &trace.calls[trace.position(self.response)?];
        let whole = call.arguments.pointer(&self.pointer)?.as_str()?;
        whole.get(self.at..self.at.checked_add(self.bytes)?).map(str::to_owned)
    }
}

impl Kept {
    /// What is kept of a flow, without the secrets that `masks` knows; the report has none by now.
    pub(crate) fn of(
        request: &CrystallizeRequest,
        (package, masks): (&Package, &Masks),
        report: &Report,
        Recorded { workspace: recorded, unkept }: Recorded,
        companions: BTreeMap<String, Sha256Digest>,
    ) -> Result<Self, FlowError> {
        let mut request = request.clone();
        masks.request(&mut request);
        let mut questions = report.questions.clone();
        questions.iter_mut().flat_map(|question| &mut question.evidence).for_each(|one| clip(&mut one.value));
        Ok(Self {
            review: VERSION,
            flow_sha256: package.digest(),
            plan_sha256: plan_digest(package)?,
            recorded,
            request,
            questions,
            notes: report.notes.clone(),
            left_out: report.dropped.clone(),
            unkept,
            companions,
        })
    }

    /// The file, checked.
    pub(crate) fn file(&self, library: &Library, redaction: &Redaction) -> Result<(PathBuf, Vec<u8>), FlowError> {
        let path = library.review_file(&self.request.name);
        redaction.refuse(&format!("review `{}`", path.display()), &serde_json::to_value(self).map_err(malformed)?)?;
        let bytes = (serde_json::to_string_pretty(self).map_err(malformed)? + "\n").into_bytes();
        if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
            return Err(FlowError::Home(HomeError::TooLarge { path, max_bytes: MAX_BYTES }));
        }
        Ok((path, bytes))
    }
}

fn malformed(error: serde_json::Error) -> FlowError {
    FlowError::Package(PackageError::Malformed { what: "review", message: error.to_string() })
}

fn plan_digest(package: &Package) -> Result<Option<Sha256Digest>, FlowError> {
    let digest = |plan| serde_json::to_vec(plan).map(|bytes| sha256(&bytes));
    // A plan that was read is spelled in one way; one that was made may not be.
    let read = Package::read(package.bytes().to_vec())?;
    read.plan().map(digest).transpose().map_err(malformed)
}

fn clip(value: &mut Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.len() > MAX_EVIDENCE_BYTES {
        *value = Value::from(format!("{}…", &text[..text.floor_char_boundary(MAX_EVIDENCE_BYTES)]));
    }
}

impl Library {
    fn review_file(&self, name: &FlowName) -> PathBuf {
        self.home.flow_dir(name).join(FILE)
    }

    /// What was kept of the flow when it was crystallized, if it has that plan still.
    fn kept(&self, package: &Package) -> Result<Option<Kept>, FlowError> {
        let path = self.review_file(&package.frontmatter.name);
        if !path.exists() {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_slice(&read_capped(&path, MAX_BYTES)?).map_err(malformed)?;
        let same = kept.plan_sha256.is_some() && kept.plan_sha256 == plan_digest(package)?;
        Ok(same.then_some(kept))
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
    /// stays answered. A source beside it that was edited meanwhile stays as it is.
    ///
    /// # Errors
    /// [`CrystallizeError::NotAnswerable`] for a flow that is released, was not crystallized or is another one by now, and
    /// when its workspace is gone; a question that was not asked; those of [`Crystallizer::crystallize`].
    pub async fn answer(&self, name: &FlowName, answers: &[(String, String)]) -> Result<Crystallized, FlowError> {
        let (request, instead_of) = self.answered(name, answers)?;
        self.make(&request, Some(&instead_of)).await
    }

    fn answered(&self, name: &FlowName, answers: &[(String, String)]) -> Result<(CrystallizeRequest, Made), FlowError> {
        let library = &self.pins.library;
        let (_, package) = library.load(&FlowReference::Name(name.clone()))?;
        let released = package.frontmatter.status == FlowStatus::Released;
        let refused = |reason: String| {
            FlowError::Crystallize(CrystallizeError::NotAnswerable { flow: name.clone(), released, reason })
        };
        if released {
            return Err(refused("it is released".to_owned()));
        }
        let kept = library.kept(&package)?.filter(|kept| kept.flow_sha256 == package.digest());
        let Some(Kept { mut request, questions, recorded, unkept, companions, .. }) = kept else {
            return Err(refused("it is not the one that crystallize made".to_owned()));
        };
        let gone = || refused(format!("workspace `{}` is gone; record it again", recorded.name));
        if !library.home.workspace_dir(&recorded.name).exists() {
            return Err(gone());
        }
        let workspace = Workspace::open(&library.home, &recorded.name)?;
        if *workspace.identity() != recorded {
            return Err(gone());
        }
        if !unkept.is_empty() {
            let trace = Trace::read(&workspace)?;
            for spec in &mut request.params {
                let Some(standing) = unkept.get(&spec.name).filter(|_| spec.value.is_some()) else { continue };
                let lost = || refused(format!("the secret value of `{}` is not in the workspace any more", spec.name));
                spec.value = Some(standing.read(&trace).ok_or_else(lost)?);
            }
        }
        request.answers.extend(by_id(answers, &questions)?);
        request.force = true;
        Ok((request, Made { sha256: package.digest(), companions }))
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
