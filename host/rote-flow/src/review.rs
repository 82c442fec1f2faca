//! The review of a crystallized flow: what it does in words, what was done without asking, and what is asked.
//!
//! It decides nothing: the open questions that a run, a release and a blessing look at are in the flow itself. What an answer
//! makes the flow from again was kept when it was made.

use std::collections::BTreeMap;

use rote_types::FlowName;
use rote_workspace::Workspace;
use serde::Serialize;

use crate::crystallize::companions::Made;
use crate::crystallize::kept::Kept;
use crate::error::CrystallizeError;
use crate::trace::Trace;
use crate::{
    CrystallizeRequest, Crystallized, Crystallizer, Dropped, FlowError, FlowQuestion, FlowReference, FlowStatus,
    Frontmatter, Library, Note, Sentences,
};

/// What a person is shown of a flow before it is accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Review {
    /// What the flow says of itself, with its open questions.
    pub frontmatter: Frontmatter,
    /// Its plan in words, when it is one.
    pub sentences: Option<Sentences>,
    /// All questions of its recording, answered ones too.
    pub questions: Vec<FlowQuestion>,
    /// What was answered before it was asked, or is not asked any more because of its answer.
    pub decided: Vec<Decided>,
    /// What was done without asking.
    pub notes: Vec<Note>,
    /// What was left out of it.
    pub left_out: Vec<Dropped>,
    /// Its plan is not the one that crystallize made last, so nothing more is known of it than it says.
    pub by_hand: bool,
}

/// An answer that left nothing to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The id of the question, to answer it in another way.
    pub id: String,
    /// What was asked; nothing where the answer came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    pub answer: String,
}

impl Library {
    /// Says in words what a flow does, and what its recording did not decide.
    ///
    /// # Errors
    /// There is no such flow, or what is kept of it cannot be read.
    pub fn review(&self, flow: &FlowReference) -> Result<Review, FlowError> {
        let (_, package) = self.load(flow)?;
        let kept = self.kept(&package)?;
        let sentences = package.plan().map(|plan| Sentences::of(&package.frontmatter, plan));
        let by_hand = kept.is_none();
        let decided = kept.as_ref().map(decided).unwrap_or_default();
        let (questions, notes, left_out) =
            kept.map(|kept| (kept.questions, kept.notes, kept.left_out)).unwrap_or_default();
        Ok(Review { frontmatter: package.frontmatter, sentences, questions, decided, notes, left_out, by_hand })
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
        let Some(kept) = kept else {
            let reason = "it is not the one that crystallize made, or its `review.json` is not as it was written";
            return Err(refused(reason.to_owned()));
        };
        let asked = kept.all_asked();
        let Kept { mut request, questions, recorded, unkept, companions, .. } = kept;
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
        let answered = request.answers.keys().cloned().collect();
        request.answers.extend(by_id(answers, &questions)?);
        request.force = true;
        Ok((request, Made { sha256: package.digest(), companions, asked, answered }))
    }
}

/// The answers that left nothing to ask.
fn decided(kept: &Kept) -> Vec<Decided> {
    let is_asked = |id: &str| kept.questions.iter().any(|one| one.id.to_string() == id);
    let unasked = kept.request.answers.iter().filter(|(id, _)| !is_asked(id));
    let decided = |(id, answer): (&String, &String)| {
        let ask = kept.asked.get(id).cloned();
        Decided { id: id.clone(), ask, answer: answer.clone() }
    };
    unasked.map(decided).collect()
}

/// Answers by the ids of their questions, of which some were named by number.
fn by_id(answers: &[(String, String)], questions: &[FlowQuestion]) -> Result<BTreeMap<String, String>, FlowError> {
    let mut found = BTreeMap::new();
    for (question, answer) in answers {
        let id = match question.parse::<usize>() {
            Ok(number) => number.checked_sub(1).and_then(|index| questions.get(index)).map(|one| one.id.to_string()),
            Err(_) => Some(question.clone()),
        };
        let Some(id) = id else {
            let asked = questions.iter().enumerate().map(|(at, one)| format!("{} (`{}`)", at + 1, one.id));
            let asked: Vec<String> = asked.collect();
            let asked = if asked.is_empty() { "none".to_owned() } else { asked.join(", ") };
            let message = format!("there is not a question {question}; asked: {asked}");
            return Err(FlowError::Usage { message });
        };
        found.insert(id, answer.clone());
    }
    Ok(found)
}
