//! Steps that fall out and hold what a parameter is asked for: why they do, and what would keep them.

use std::collections::BTreeSet;

use rote_plan::text_of;
use rote_types::ResponseId;
use serde_json::Value;

use super::super::draft::DraftStep;
use super::{Binder, place};
use crate::literals::walk_scalars;
use crate::question::{Answer, Place, QuestionId, QuestionKind};
use crate::trace::RecordedCall;

impl Binder<'_, '_> {
    /// A step that falls out, why, and what would keep it.
    pub(super) fn left_out(&self, step: &DraftStep) -> String {
        let call = step.call(self.cx.trace);
        let why = step.out.clone().unwrap_or_else(|| "nothing that stays uses it".to_owned());
        let link = match self.asked_link(step) {
            Some((id, flag)) => format!("the open question {id} decides that; {flag} keeps it"),
            None => format!("say what was read from it: --link STEP:/PLACE={}{{JQ}}", call.response),
        };
        format!("{} {}/{}, which is left out ({why}); {link}", step.id, call.adapter, call.tool)
    }

    /// An open question that has what this step gave, or one that used it, as an answer, and the flag that says so.
    pub(super) fn asked_link(&self, step: &DraftStep) -> Option<(QuestionId, String)> {
        let mut using: BTreeSet<&str> = BTreeSet::from([step.id.as_str()]);
        // A step uses only earlier ones.
        for later in &self.draft.steps {
            if later.uses().any(|used| using.contains(used)) {
                using.insert(&later.id);
            }
        }
        let used = self.draft.steps.iter().filter(|one| using.contains(one.id.as_str()));
        let responses: Vec<ResponseId> = used.map(|one| one.call(self.cx.trace).response).collect();
        let reads = |word: &str| responses.iter().any(|response| word.starts_with(&format!("{response}{{")));
        let mut asked = self.desk.open().filter(|question| question.kind == QuestionKind::Source);
        asked.find_map(|question| {
            // Of a text, what stands in it is taken from all of its sources at once.
            let among = question.evidence.iter().any(|one| one.response.is_some_and(|one| responses.contains(&one)));
            let fits = |answer: &&Answer| reads(&answer.word) || among && answer.word == "taken";
            let answer = question.answers.iter().find(fits)?;
            Some((question.id.clone(), answer.flag.clone()))
        })
    }

    /// What was typed under the name into a call that falls out, where what stays is of a thing that the job made itself: that
    /// is hardly what differs from run to run.
    pub(super) fn typed_before(&self, (made, places): &(Value, Vec<Place>)) -> Option<(Value, Vec<Place>)> {
        let first =
            self.steps().filter(|step| places.iter().any(|place| place.step == step.id)).map(|step| step.calls[0]);
        let before = &self.cx.trace.calls[..first.min()?];
        let gives = |call: &RecordedCall| {
            let mut found = false;
            let body = self.cx.body(call.response).filter(|_| call.is_write());
            body.into_iter()
                .for_each(|body| walk_scalars(&body, String::new(), &mut |_, value| found |= value == made));
            found
        };
        if !before.iter().any(gives) {
            return None;
        }
        let mut gone = self.draft.steps.iter().enumerate().filter(|(position, _)| !self.kept.contains(position));
        gone.find_map(|(_, step)| {
            let mut typed = None;
            place::walk_named(&step.arguments, self.name, &mut |pointer, value| {
                let place = Place { step: step.id.clone(), pointer: pointer.to_owned() };
                typed = (value != made).then(|| (value.clone(), vec![place])).or_else(|| typed.take());
            });
            typed
        })
    }

    /// The one value that was typed under the name into calls that fall out.
    pub(super) fn gone_value(&self) -> Option<String> {
        let mut found = BTreeSet::new();
        for (_, step) in self.draft.steps.iter().enumerate().filter(|(position, _)| !self.kept.contains(position)) {
            place::walk_named(&step.arguments, self.name, &mut |_, value| {
                found.insert((value.is_string() || value.is_number()).then(|| text_of(value)));
            });
        }
        found.pop_first().filter(|_| found.is_empty())?.filter(|value| !value.is_empty())
    }

    /// No argument of a step that stays has the name: perhaps one of a step that falls out has.
    pub(super) fn gone_argument(&self) -> String {
        let mut gone = self.draft.steps.iter().enumerate().filter(|(position, _)| !self.kept.contains(position));
        let holder = gone.find(|(_, step)| {
            let mut found = false;
            place::walk_named(&step.arguments, self.name, &mut |_, _| found = true);
            found
        });
        match holder {
            Some((_, step)) => format!("only an argument of {} has this name", self.left_out(step)),
            None => "no argument of a kept call has this name".to_owned(),
        }
    }
}
