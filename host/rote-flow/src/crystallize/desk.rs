//! What the recording does not decide: questions and their answers, what was done without asking, what was left out.
//!
//! A pass that is sure does what it does and writes a [`Note`], with the words that undo it. One that is not sure asks:
//! the draft goes on with the answer that was given, else with the one that the question takes, and then the question is
//! open.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use rote_types::{CommandLine, ResponseId};

use super::request::{ParamSpec, Spot};
use super::written::{plainly, unwritten};
use crate::FlowError;
use crate::question::{Answer, Dropped, Note, Place, Question, QuestionId, QuestionKind, RECKONED};
use crate::trace::RecordedCall;

/// Most notes.
const MAX_NOTES: usize = 200;

/// The word for all answers that say where a value is read.
pub(crate) const REFERENCE: &str = "@N{JQ}";

/// What stands before the name of a parameter in the answer that says that a value is that.
pub(crate) const PARAMETER: &str = "parameter:";

/// Where passes ask, note and give reasons.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// By what was typed, which may not be the id of a question.
    given: BTreeMap<String, String>,
    used: BTreeSet<String>,
    /// The words of questions that were answered by another one.
    misread: BTreeMap<String, BTreeSet<String>>,
    /// Why what was answered may not be asked.
    unasked: BTreeMap<String, String>,
    /// Questions that are asked as another one, which has the same cause.
    same: BTreeMap<QuestionId, QuestionId>,
    pub(crate) questions: Vec<Question>,
    pub(crate) notes: Vec<Note>,
    pub(crate) left_out: Vec<Dropped>,
}

fn misread<'w>(question: impl Display, word: &str, words: impl Iterator<Item = &'w str>) -> FlowError {
    let words: Vec<&str> = words.collect();
    FlowError::Usage { message: format!("`{question}` is not answered by `{word}`: say {}", words.join(" or ")) }
}

/// A question as a person reads it. The words of its answers stay whole, since they are what is answered with.
fn told(mut question: Question) -> Question {
    question.ask = plainly(&question.ask);
    question.answers.iter_mut().for_each(|answer| answer.means = plainly(&answer.means));
    for one in &mut question.evidence {
        one.what = plainly(&one.what);
        one.jq = one.jq.take().map(|jq| unwritten(&jq).to_owned());
    }
    question
}

impl Desk {
    /// Makes a desk with the answers that were given.
    pub(crate) fn of(answers: &BTreeMap<String, String>) -> Self {
        Self { given: answers.clone(), ..Self::default() }
    }

    /// Returns the answer that was given if it is one of these words, of which [`REFERENCE`] stands for each `@N{JQ}`; without
    /// words, whatever it is.
    pub(crate) fn given(&mut self, question: &QuestionId, words: &[&str]) -> Option<String> {
        let question = question.to_string();
        let given = self.given.get(&question)?;
        let fits = |word: &&str| *word == given || *word == REFERENCE && given.starts_with('@');
        if words.is_empty() || words.iter().any(fits) {
            self.used.insert(question);
            return Some(given.clone());
        }
        let misread = self.misread.entry(question).or_default();
        misread.extend(words.iter().map(|word| (*word).to_owned()));
        None
    }

    /// Returns the calls that an answer leaves out, whatever was asked of them.
    pub(crate) fn skipped(&mut self) -> Vec<ResponseId> {
        let skips = self.given.iter().filter(|(_, word)| *word == "skip");
        let call = |id: &String| Some((id.clone(), id.parse::<QuestionId>().ok()?.skips()?));
        let found: Vec<(String, ResponseId)> = skips.filter_map(|(id, _)| call(id)).collect();
        self.used.extend(found.iter().map(|(id, _)| id.clone()));
        found.into_iter().map(|(_, response)| response).collect()
    }

    /// Returns the parameters that answers make of the place of their question, beside those that were asked for.
    pub(crate) fn parameters(&mut self, known: &[ParamSpec]) -> Vec<ParamSpec> {
        let made = |(id, word): (&String, &String)| {
            let name = word.strip_prefix(PARAMETER).filter(|name| known.iter().all(|spec| spec.name != **name))?;
            let QuestionId::Source(place) = id.parse().ok()? else { return None };
            // What stands in braces is a part of a text or of a program.
            let Place { step, pointer } = Some(place).filter(|place| !place.pointer.ends_with('}'))?;
            let spec = ParamSpec { name: name.to_owned(), spots: vec![Spot { step, pointer }], ..ParamSpec::default() };
            Some((id.clone(), spec))
        };
        let made: Vec<(String, ParamSpec)> = self.given.iter().filter_map(made).collect();
        self.used.extend(made.iter().map(|(id, _)| id.clone()));
        made.into_iter().map(|(_, spec)| spec).collect()
    }

    /// Returns the answer that was given, else the one that is taken, with the question left open.
    pub(crate) fn ask(&mut self, question: Question) -> Result<String, FlowError> {
        let mut question = told(question);
        let given = self.given(&question.id, &[]);
        if let Some(word) = &given {
            let known = question.answers.iter().any(|answer| answer.word == *word);
            let reads = question.kind.takes_reference() && word.starts_with('@');
            if !known && !reads {
                return Err(misread(&question.id, word, question.answers.iter().map(|answer| answer.word.as_str())));
            }
            question.taken.clone_from(word);
        }
        question.open = given.is_none();
        let taken = question.taken.clone();
        match self.questions.iter_mut().find(|known| known.id == question.id) {
            // Of one place there is one question, with all answers.
            Some(known) => {
                let is_new = |answer: &Answer| known.answers.iter().all(|other| other.word != answer.word);
                let new: Vec<Answer> = question.answers.into_iter().filter(is_new).collect();
                let last = known.answers.len().saturating_sub(1);
                known.answers.splice(last..last, new);
            }
            None => self.questions.push(question),
        }
        Ok(taken)
    }

    /// What somebody answered to a question, asked or not.
    pub(crate) fn word(&self, question: &QuestionId) -> Option<&str> {
        self.given.get(&question.to_string()).map(String::as_str)
    }

    /// Whether somebody answered a question, asked or not.
    pub(crate) fn is_answered(&self, question: &QuestionId) -> bool {
        self.word(question).is_some()
    }

    /// Says why a question is not asked, for somebody who answered it; the first reason stays.
    pub(crate) fn unasked(&mut self, question: &QuestionId, why: impl FnOnce() -> String) {
        if self.is_answered(question) {
            self.unasked.entry(question.to_string()).or_insert_with(why);
        }
    }

    /// Whether a number is to be reckoned by the answer that was given: how is asked later.
    pub(crate) fn is_to_be_reckoned(&self, question: &QuestionId) -> bool {
        self.given.get(&question.to_string()).is_some_and(|word| word.starts_with(RECKONED))
    }

    /// Makes a place one of a question that has the same answers, all words but the last one; whether it could.
    pub(crate) fn joins(&mut self, question: &QuestionId, words: &[String], place: Place) -> bool {
        let known = self.questions.iter().find(|known| known.id == *question);
        let rest = known.and_then(|known| known.answers.split_last()).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.iter().map(|one| &one.word).eq(words)) && self.is_at(question, place)
    }

    /// Makes a place one of a question; whether that is asked.
    pub(crate) fn is_at(&mut self, question: &QuestionId, place: Place) -> bool {
        let Some(known) = self.questions.iter_mut().find(|known| known.id == *question) else { return false };
        if !known.places.contains(&place) {
            known.ask.push_str(&format!(" ({}, too)", place.step));
            known.places.push(place);
        }
        true
    }

    /// Says that a question is not asked, since another one is whose answer is its answer.
    pub(crate) fn is_same(&mut self, question: QuestionId, other: QuestionId) {
        self.same.insert(question, other);
    }

    /// Asks about something that the finished plan still does: only the answer that leaves it so closes the question.
    pub(crate) fn insist(&mut self, question: Question) {
        let mut question = told(question);
        if let Some(other) = self.same.get(&question.id) {
            question.id = other.clone();
        }
        question.open &= self.given(&question.id, &[&question.taken]).is_none();
        match self.questions.iter().position(|known| known.id == question.id) {
            Some(known) => self.questions[known].open |= question.open,
            None => self.questions.push(question),
        }
    }

    /// Says of each question whether a write depends on it, now that it is known which steps there are and which of them the
    /// writes are or use. What is about a step that fell out keeps what it said; which item that took does not matter any more,
    /// unless another step takes the same one.
    pub(crate) fn weigh(&mut self, steps: &BTreeSet<&str>, for_writes: &BTreeSet<&str>) {
        self.questions.retain(|question| {
            let stays = || question.places.iter().any(|place| steps.contains(&*place.step));
            let is_shared = || self.same.values().any(|other| *other == question.id);
            question.kind != QuestionKind::Pick || !question.open || stays() || is_shared()
        });
        for question in &mut self.questions {
            let of = |step: &str| for_writes.contains(step) || question.writes && !steps.contains(step);
            question.writes = question.places.iter().any(|place| of(&place.step));
        }
    }

    /// Says what was done.
    pub(crate) fn note(&mut self, step: Option<&str>, text: String, undo: Option<CommandLine>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { step: step.map(str::to_owned), text: plainly(&text), undo: undo.map(String::from) });
        }
    }

    /// Says why a call is not part of the flow.
    pub(crate) fn leave_out(&mut self, call: &RecordedCall, reason: String) {
        let dropped = Dropped { response: call.response, call: format!("{}/{}", call.adapter, call.tool), reason };
        let at = self.left_out.partition_point(|known| known.response < call.response);
        self.left_out.insert(at, dropped);
    }

    /// Refuses an answer to a question that nobody asked, and one that is none of the words of its question. One that was
    /// asked or taken before, and that another answer leaves nothing of, is not needed.
    pub(crate) fn refuse_strays(&mut self, before: &BTreeSet<String>) -> Result<(), FlowError> {
        let strays: Vec<(String, String)> = self
            .given
            .iter()
            .filter(|(id, _)| !self.used.contains(*id))
            .map(|(id, word)| (id.clone(), word.clone()))
            .collect();
        for (stray, word) in strays {
            let why = self.unasked.get(&stray);
            // What was its word before, and is not any more, was one of a question that is not asked now.
            let is_asked = self.questions.iter().any(|known| known.id.to_string() == stray);
            let is_over = before.contains(&stray) && !is_asked;
            if let Some(words) = self.misread.get(&stray).filter(|_| why.is_none() && !is_over) {
                return Err(misread(stray, &word, words.iter().map(String::as_str)));
            }
            if !before.contains(&stray) {
                let asked: Vec<String> = self.questions.iter().map(|question| question.id.to_string()).collect();
                let asked = if asked.is_empty() { "none".to_owned() } else { asked.join(", ") };
                let why = why.map(|why| format!(", since {why}")).unwrap_or_default();
                let message = format!("there is not a question `{stray}`{why}; asked: {asked}");
                return Err(FlowError::Usage { message });
            }
            self.note(None, format!("the answer to `{stray}` is not needed: it is not asked any more"), None);
        }
        Ok(())
    }

    /// Returns the questions that nobody has answered.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.open)
    }
}
