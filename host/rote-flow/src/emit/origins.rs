//! Where the constants of a crystallized plan came from, for the comments of its sources.

use std::collections::BTreeMap;

use rote_plan::{At, Expression, Onward, Step};
use serde_json::Value;

use super::one_line;
use crate::literals::pointer_of;
use crate::question::{Question, QuestionKind};

/// Most letters of the names that a comment lists.
const WIDTH: usize = 80;

/// What is known of a plan's constants; nothing of one that was not crystallized, or was changed since.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    is_known: bool,
    /// By step and pointer: an answer that had the value before it was typed.
    answers: BTreeMap<(String, String), String>,
}

impl Origins {
    /// Takes them from what crystallize asked.
    pub(crate) fn of(questions: &[Question]) -> Self {
        let mut answers = BTreeMap::new();
        for question in questions.iter().filter(|one| one.kind == QuestionKind::Source && one.taken == "always") {
            let Some((response, jq)) =
                question.evidence.iter().find_map(|one| Some((one.response?, one.jq.as_deref()?)))
            else {
                continue;
            };
            for place in &question.places {
                answers.insert(
                    (place.step.clone(), place.pointer.clone()),
                    one_line(&format!("stood in {response} at {jq}")),
                );
            }
        }
        Self { is_known: true, answers }
    }

    /// What is said of the constant at a place, or in a list there, beside it.
    fn answer(&self, step: &Step, pointer: &str) -> Option<String> {
        let is_here =
            |place: &str| place.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let found = self.answers.iter().find(|((id, place), _)| *id == step.id && is_here(place));
        found.map(|(_, answer)| answer.clone())
    }

    /// What is said of a member of the arguments of `step` beside it, when it is a constant.
    pub(super) fn beside(&self, step: Option<&Step>, value: &Expression, pointer: &str) -> Option<String> {
        step.filter(|_| matches!(value, Expression::Literal(_))).and_then(|step| self.answer(step, pointer))
    }

    /// What is said of the other constants of a step, above its call.
    pub(super) fn typed(&self, step: &Step) -> Option<String> {
        if !self.is_known {
            return None;
        }
        let names = self.constants(step);
        let response = step.id.replacen('s', "@", 1);
        let mut listed = String::new();
        for (at, name) in names.iter().enumerate() {
            if listed.len() + name.len() > WIDTH {
                listed.push_str(&format!(" and {} more", names.len() - at));
                break;
            }
            listed.push_str(if at == 0 { "" } else { ", " });
            listed.push_str(name);
        }
        (!names.is_empty()).then(|| one_line(&format!("Typed by hand for {response}: {listed}.")))
    }

    /// The names of the arguments, and of the members of written objects in them, that are constants without an answer.
    fn constants(&self, step: &Step) -> Vec<String> {
        let mut names = Vec::new();
        let mut add = |way: &[At<'_>]| {
            if self.answer(step, &pointer_of(way)).is_none() {
                let keys = way.iter().filter_map(|step| if let At::Key(key) = step { Some(*key) } else { None });
                names.push(keys.collect::<Vec<_>>().join("."));
            }
        };
        step.arguments.visit(&mut |way, one| {
            match one {
                Expression::Object(_) => return Onward::Into,
                Expression::Literal(Value::Object(members)) if way.is_empty() => {
                    members.keys().for_each(|name| add(&[At::Key(name)]));
                }
                Expression::Literal(_) => add(way),
                _ => {}
            }
            Onward::Past
        });
        names
    }
}
