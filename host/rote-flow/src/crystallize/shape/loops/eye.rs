//! What was done for some of the items, chosen by the eye of a person: no query says which. A field may tell them from the others,
//! else only their places do; that is asked.

use rote_types::{ResponseId, command};
use serde_json::Value;

use crate::crystallize::context::Context;
use crate::crystallize::draft::DraftStep;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Most of the others that are shown.
const MAX_SHOWN: usize = 3;

/// Calls for some of the items of a list.
pub(super) struct Partial<'a, 'b> {
    pub(super) cx: &'a Context<'b>,
    /// The first of them.
    pub(super) step: &'a DraftStep,
    pub(super) items: &'a [Value],
    pub(super) indexes: &'a [usize],
    pub(super) response: ResponseId,
    pub(super) array: &'a str,
}

impl Partial<'_, '_> {
    /// Asks whether those with the one condition are meant that tells them.
    pub(super) fn question(&self, id: QuestionId, condition: &str) -> Question {
        let filter = self.answer("filter", condition);
        self.of(id, format!("those with `{condition}`?"), vec![filter], "filter")
    }

    /// Asks which are meant, where several conditions hold or none.
    pub(super) fn by_eye(&self, id: QuestionId, conditions: &[String]) -> Question {
        let answers: Vec<Answer> = conditions.iter().map(|condition| self.answer(condition, condition)).collect();
        let which = if conditions.is_empty() {
            "no field tells them from the others: are these places meant, or those with a condition, which is an answer too?"
        } else {
            "several fields tell them from the others, and another condition on one item is an answer, too: which are meant?"
        };
        self.of(id, which.to_owned(), answers, "no")
    }

    fn answer(&self, word: &str, condition: &str) -> Answer {
        let means = format!("one call for each item with `{condition}`");
        Answer::new(word, means, command("--loop").assignment(&self.step.id, word))
    }

    fn of(&self, id: QuestionId, which: String, mut answers: Vec<Answer>, taken: &str) -> Question {
        let Self { step, response, array, .. } = self;
        let left = (0..self.items.len()).filter(|index| !self.indexes.contains(index)).take(MAX_SHOWN);
        let evidence = left.map(|index| Evidence {
            what: "was left out".to_owned(),
            response: Some(*response),
            jq: Some(format!("{array}[{index}]")),
            value: self.items[index].clone(),
        });
        let no = command("--loop").assignment(&step.id, "no");
        answers.push(Answer::new("no", "these positions and no others".to_owned(), no));
        let (some, all) = (self.indexes.len(), self.items.len());
        Question {
            kind: id.kind(),
            ask: format!("{} and those like it take {some} of {all} items of {response} `{array}`: {which}", step.id),
            places: vec![Place { step: step.id.clone(), pointer: String::new() }],
            evidence: evidence.collect(),
            answers,
            taken: taken.to_owned(),
            writes: step.is_write(self.cx.trace),
            open: true,
            id,
        }
    }
}
