//! What a loop goes through that uses the answers of another one: its items and those answers, side by side.
//!
//! The program is made of the other loop's own when the plan is, so that both go through the same things whatever the passes
//! made of that one.

use rote_plan::{Bound, Expression, Reference};

use super::path::path_of;

/// What stands between the program of the items and the members of what is gone through.
const GOES: &str = "] as $items | range($items | length) as $at | {";

/// The items of a loop and the answers of others beside it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Along {
    /// The step of the loop whose items they are.
    pub(crate) base: String,
    /// What is taken: of the answer of a step, or of the item; and the program.
    takes: Vec<(Option<String>, String)>,
}

impl Along {
    pub(crate) fn of(base: &str, takes: Vec<(Option<String>, String)>) -> Self {
        Self { base: base.to_owned(), takes }
    }

    /// The steps whose answers are taken, and that of the items.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.takes.iter().filter_map(|(step, _)| step.as_deref()).chain([self.base.as_str()])
    }

    /// The step that all is taken of: its answers are the items then.
    pub(crate) fn only(&self) -> Option<&str> {
        let first = self.takes.first()?.0.as_deref()?;
        self.takes.iter().all(|(step, _)| step.as_deref() == Some(first)).then_some(first)
    }

    /// The program that gives what is taken of an item.
    pub(crate) fn program(&self, take: usize) -> Option<String> {
        let (step, jq) = self.takes.get(take)?;
        Some(match (self.only(), step) {
            (Some(_), _) => jq.clone(),
            (None, Some(_)) => format!(".{}", self.variable(take)),
            (None, None) => of_item(jq),
        })
    }

    /// What the answers that are taken are called.
    fn variable(&self, take: usize) -> String {
        let (step, _) = &self.takes[take];
        let same: Vec<usize> = (0..self.takes.len()).filter(|other| self.takes[*other].0 == *step).collect();
        let name = step.as_deref().unwrap_or_default();
        match same.iter().position(|other| *other == take) {
            Some(place) if same.len() > 1 => format!("{name}_{}", place + 1),
            _ => name.to_owned(),
        }
    }

    /// What stands for the items until the plan is made.
    pub(crate) fn stand_in(&self) -> Expression {
        let step = self.only().map_or_else(|| self.base.clone(), str::to_owned);
        Expression::From(Reference::new(step, ".".to_owned()))
    }

    /// The items, where the other loop goes through these.
    pub(crate) fn items(&self, base: &Reference) -> Expression {
        if self.only().is_some() {
            return self.stand_in();
        }
        let (mut with, mut members) = (base.with.clone(), Vec::new());
        for (take, (step, jq)) in self.takes.iter().enumerate() {
            let Some(step) = step else { continue };
            let name = self.variable(take);
            let mut variable = name.clone();
            while base.with.contains_key(&variable) {
                variable.push('_');
            }
            members.push(format!("{name}: ${variable}[$at]"));
            let answers = Reference::new(step.clone(), jq.clone());
            with.insert(variable, Bound::From(Box::new(answers)));
        }
        let items = self.takes.iter().any(|(step, _)| step.is_none());
        members.extend(items.then(|| "item: $items[$at]".to_owned()));
        let jq = format!("[{}{GOES}{}}}", base.jq, members.join(", "));
        Expression::From(Reference { step: base.step.clone(), jq, each: true, with })
    }
}

/// The program that takes of the member `item` what another one takes of the item.
pub(crate) fn of_item(jq: &str) -> String {
    match jq {
        "." => ".item".to_owned(),
        jq if jq.starts_with('.') && path_of(jq).is_some() => format!(".item{jq}"),
        jq => format!(".item | {jq}"),
    }
}

/// The items of the other loop, and what is beside them; none where a reference is not to such items.
pub(crate) fn base(items: &Reference) -> Option<(Reference, Vec<(&str, &Bound)>)> {
    let (jq, members) = items.jq.strip_prefix('[')?.split_once(GOES)?;
    let is_beside = |name: &str| members.contains(&format!("${name}[$at]"));
    let (beside, with): (Vec<_>, Vec<_>) = items.with.iter().partition(|(name, _)| is_beside(name));
    let with = with.into_iter().map(|(name, bound)| (name.clone(), bound.clone())).collect();
    let base = Reference { jq: jq.to_owned(), with, ..items.clone() };
    Some((base, beside.into_iter().map(|(name, bound)| (name.as_str(), bound)).collect()))
}
