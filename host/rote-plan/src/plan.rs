//! The plan: parameters, steps, result; and the checks that make it safe to run.
//!
//! Every key is known: an unknown one is refused, because it may mean something to a newer rote. A key that is left
//! out has the meaning that plans had before there was one, and is not written.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Comparison, Condition, Expression, Operator, PlanError};

/// The version of the format that this crate reads and writes.
pub const VERSION: u64 = 1;
/// Most bytes of a plan as JSON text.
pub const MAX_PLAN_BYTES: usize = 4 << 20;
/// Most steps of a plan.
pub const MAX_STEPS: usize = 1_000;
/// Most parameters of a plan.
pub const MAX_PARAMETERS: usize = 200;
/// Deepest nesting of an expression.
pub const MAX_DEPTH: usize = 64;
/// Most bytes of one jq program.
pub const MAX_PROGRAM_BYTES: usize = 16 << 10;
/// Most variables that one jq program is given.
pub const MAX_VARIABLES: usize = 20;
/// Most items of one `for_each`.
pub const MAX_ITEMS: usize = 1_000;
/// Most calls of one `for_each` step in flight at once, unless it says otherwise.
pub const DEFAULT_CONCURRENCY: usize = 10;
/// Most pages of one `pages` step; one more is an error, not an end.
pub const MAX_PAGES: usize = 100;
/// Most calls of one step with `until`.
pub const MAX_READS: usize = 1_000;
/// Longest pause between two calls of one step with `until`, in milliseconds: an hour.
pub const MAX_PAUSE: u64 = 3_600_000;
/// Most that a step may say. The host's own bound holds besides.
pub const MAX_CONCURRENCY: usize = 16;

/// A program over tools, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the format: [`VERSION`].
    pub version: u64,
    /// What a run can be given, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// The calls, in the order in which independent ones start.
    pub steps: Vec<Step>,
    /// What a run returns.
    pub result: Expression,
}

/// One parameter. Its type is declared in the flow's frontmatter and checked there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Whether a run without it is refused. A default makes it optional whatever this says.
    #[serde(default)]
    pub required: bool,
    /// The value when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub default: Option<Value>,
}

/// One call of one tool, or one for each item of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name in the plan.
    pub id: String,
    /// The adapter.
    pub adapter: String,
    /// The tool of that adapter.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Expression,
    /// Steps that must be done first although no value of theirs is used, such as a write before a read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Steps that must have ended first, however: unlike with `needs`, one of them that was skipped does not skip this
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The condition on which it runs; always without one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub when: Option<Condition>,
    /// An array of at most [`MAX_ITEMS`] items: one call for each, started in their order.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub for_each: Option<Expression>,
    /// Most calls in flight at once, 1 to [`MAX_CONCURRENCY`]; [`DEFAULT_CONCURRENCY`] when not given. Only with
    /// `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_concurrency: Option<usize>,
    /// It reads a list page by page, one call for each, as long as an answer names another one. Not with `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub pages: Option<Pages>,
    /// It is made again and again until something is so; what a reference finds is the last answer. With `for_each` so for
    /// each item; not with `pages`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub until: Option<Until>,
    /// What its failure means for the run.
    #[serde(default, skip_serializing_if = "OnError::is_stop")]
    pub on_error: OnError,
}

/// What a step waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The jq program that says of an answer whether it is so; no output, null and false are no.
    pub jq: String,
    /// The one that says, where it is not so, that it will never be: the step fails then.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub never: Option<String>,
    /// Milliseconds that pass before the call behind an answer, 1 to [`MAX_PAUSE`].
    pub pause: u64,
    /// Most calls of each item, 2 to [`MAX_READS`]. When the answer of the last one is not so, the step fails.
    pub most: usize,
}

/// How a list is read page by page. What a reference finds is the last answer with the items of all pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The argument that says which page; from the second call on it has what the answer before named. Without one only
    /// the first page can be read, and a list that has another one is a failure.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub argument: Option<String>,
    /// The jq program that gives the next page; no output, null, false or an empty text after the last one.
    pub next: String,
    /// The path of the array that every page has.
    pub items: String,
    /// The pages are counted: `next` only says whether there is another one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub count: Option<Count>,
}

/// How pages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The number of the first page, which is not sent for it.
    pub from: i64,
    /// How much more that of each page is than that of the one before, 1 or more.
    pub by: i64,
}

impl Count {
    /// The number of the page behind so many; none where that is too large.
    #[must_use]
    pub fn behind(self, pages: usize) -> Option<i64> {
        self.by.checked_mul(i64::try_from(pages).ok()?)?.checked_add(self.from)
    }
}

impl Pages {
    /// Returns the jq program that makes one answer of an array of pages. A page without the array has no items.
    #[must_use]
    pub fn join(&self) -> String {
        let items = &self.items;
        format!("[.[] | ({items} // [])[]] as $items | .[-1] | {items} = $items")
    }
}

/// What a failure of a step means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// Nothing new starts, and the run fails.
    #[default]
    Stop,
    /// Whatever does not need the step goes on, other items of its own included.
    Continue,
}

impl OnError {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_stop(&self) -> bool {
        *self == Self::Stop
    }
}

/// Keeps a key with the value `null` apart from no key.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl Step {
    /// Returns a step that has nothing but what every step has.
    #[must_use]
    pub fn new(id: String, adapter: String, tool: String, arguments: Expression) -> Self {
        Self {
            id,
            adapter,
            tool,
            arguments,
            needs: Vec::new(),
            after: Vec::new(),
            when: None,
            for_each: None,
            max_concurrency: None,
            pages: None,
            until: None,
            on_error: OnError::Stop,
        }
    }

    /// Whether it makes one call, if any.
    #[must_use]
    pub fn is_one_call(&self) -> bool {
        self.for_each.is_none() && self.pages.is_none() && self.until.is_none()
    }

    /// Returns every expression of the step: the sides of its condition, `for_each`, the arguments.
    #[must_use]
    pub fn expressions(&self) -> Vec<&Expression> {
        let mut found = Vec::new();
        if let Some(condition) = &self.when {
            condition.walk(&mut |Comparison { left, right, .. }| {
                found.push(left);
                found.extend(right);
            });
        }
        found.extend(&self.for_each);
        found.push(&self.arguments);
        found
    }

    /// Returns the ids of all steps that it cannot do without: the explicit needs and those whose responses its
    /// expressions use, in a `$default` too.
    #[must_use]
    pub fn all_needs(&self) -> BTreeSet<&str> {
        let references = self.expressions().into_iter().flat_map(Expression::references);
        let derived = references.map(|reference| reference.step.as_str());
        let mut all = BTreeSet::new();
        // Not collected: that sorts first, and each type sorted that way makes the guest larger.
        self.needs.iter().map(String::as_str).chain(derived).for_each(|need| {
            all.insert(need);
        });
        all
    }

    /// Returns the ids of all steps that must have ended first: what it needs, and what it only comes after.
    #[must_use]
    pub fn waits_for(&self) -> BTreeSet<&str> {
        let mut all = self.all_needs();
        self.after.iter().for_each(|step| {
            all.insert(step);
        });
        all
    }

    /// Returns how many of its calls may be in flight at once.
    pub(crate) fn concurrency(&self) -> usize {
        match self.for_each {
            Some(_) => self.max_concurrency.unwrap_or(DEFAULT_CONCURRENCY),
            None => 1,
        }
    }
}

impl Plan {
    /// Reads and validates a plan.
    ///
    /// # Errors
    /// See [`PlanError`]; the author of the text is to blame.
    pub fn parse(bytes: &[u8]) -> Result<Self, PlanError> {
        if bytes.len() > MAX_PLAN_BYTES {
            return Err(PlanError::TooLarge { what: "bytes", limit: MAX_PLAN_BYTES });
        }
        check_version(bytes)?;
        let plan: Self =
            serde_json::from_slice(bytes).map_err(|error| PlanError::Syntax { message: error.to_string() })?;
        plan.validate()?;
        Ok(plan)
    }

    /// Checks everything that [`Plan::parse`] promises.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.version != VERSION {
            return Err(PlanError::Version { found: self.version });
        }
        if self.steps.len() > MAX_STEPS {
            return Err(PlanError::TooLarge { what: "steps", limit: MAX_STEPS });
        }
        if self.parameters.len() > MAX_PARAMETERS {
            return Err(PlanError::TooLarge { what: "parameters", limit: MAX_PARAMETERS });
        }
        if let Some(name) = self.parameters.keys().find(|name| !is_name(name)) {
            return Err(PlanError::Name { name: name.clone() });
        }
        let steps = self.step_ids()?;
        for step in &self.steps {
            check_step(step)?;
            if let Some(unknown) = step.needs.iter().chain(&step.after).find(|id| !steps.contains(id.as_str())) {
                return Err(PlanError::UnknownStep { by: step.id.clone(), step: unknown.clone() });
            }
            for expression in step.expressions() {
                self.check_expression(&step.id, expression, &steps)?;
            }
        }
        self.check_expression("result", &self.result, &steps)?;
        check_no_item("result".to_owned(), &self.result)?;
        self.check_cycles()
    }

    fn step_ids(&self) -> Result<BTreeSet<&str>, PlanError> {
        let mut ids = BTreeSet::new();
        for step in &self.steps {
            if !is_name(&step.id) {
                return Err(PlanError::Name { name: step.id.clone() });
            }
            if !ids.insert(step.id.as_str()) {
                return Err(PlanError::DuplicateStep { step: step.id.clone() });
            }
        }
        Ok(ids)
    }

    fn check_expression(&self, by: &str, expression: &Expression, steps: &BTreeSet<&str>) -> Result<(), PlanError> {
        if expression.depth() > MAX_DEPTH {
            return Err(PlanError::TooLarge { what: "levels of nesting", limit: MAX_DEPTH });
        }
        if let Some(unknown) = expression.parameters().into_iter().find(|name| !self.parameters.contains_key(*name)) {
            return Err(PlanError::UnknownParameter { by: by.to_owned(), parameter: unknown.to_owned() });
        }
        for reference in expression.references() {
            if !steps.contains(reference.step.as_str()) {
                return Err(PlanError::UnknownStep { by: by.to_owned(), step: reference.step.clone() });
            }
            if reference.with.len() > MAX_VARIABLES {
                return Err(PlanError::TooLarge { what: "variables in a jq program", limit: MAX_VARIABLES });
            }
            if let Some(name) = reference.with.keys().find(|name| !is_variable(name)) {
                return Err(PlanError::Variable { by: by.to_owned(), name: name.clone() });
            }
        }
        let mut longest = 0;
        expression.walk(&mut |inner| match inner {
            Expression::From(reference) => reference.walk(&mut |one| longest = longest.max(one.jq.len())),
            Expression::Item(program) => longest = longest.max(program.len()),
            _ => {}
        });
        if longest > MAX_PROGRAM_BYTES {
            return Err(PlanError::TooLarge { what: "bytes in a jq program", limit: MAX_PROGRAM_BYTES });
        }
        Ok(())
    }

    /// Takes away steps whose needs are met until nothing changes; what is left is in or behind a cycle.
    fn check_cycles(&self) -> Result<(), PlanError> {
        let needs: Vec<(&str, BTreeSet<&str>)> =
            self.steps.iter().map(|step| (step.id.as_str(), step.waits_for())).collect();
        let mut done: BTreeSet<&str> = BTreeSet::new();
        loop {
            let before = done.len();
            for (id, needs) in &needs {
                if !done.contains(id) && needs.is_subset(&done) {
                    done.insert(id);
                }
            }
            if done.len() == self.steps.len() {
                return Ok(());
            }
            if done.len() == before {
                let steps = needs.iter().filter(|(id, _)| !done.contains(id)).map(|(id, _)| (*id).to_owned());
                return Err(PlanError::Cycle { steps: steps.collect() });
            }
        }
    }
}

/// Checks what a step says of itself, without looking at the plan around it.
fn check_step(step: &Step) -> Result<(), PlanError> {
    let id = || step.id.clone();
    if !step.arguments.is_object() {
        return Err(PlanError::Arguments { step: id() });
    }
    match &step.for_each {
        Some(items) => {
            check_no_item(format!("{}.for_each", step.id), items)?;
            check_items(&step.id, items)?;
        }
        None => check_no_item(id(), &step.arguments)?,
    }
    if let Some(most) = step.max_concurrency
        && (step.for_each.is_none() || !(1..=MAX_CONCURRENCY).contains(&most))
    {
        return Err(PlanError::Concurrency { step: id() });
    }
    if let Some(pages) = &step.pages {
        check_pages(step, pages)?;
    }
    if let Some(until) = &step.until {
        check_until(step, until)?;
    }
    let Some(condition) = &step.when else { return Ok(()) };
    if condition.depth() > MAX_DEPTH {
        return Err(PlanError::TooLarge { what: "levels of nesting", limit: MAX_DEPTH });
    }
    let mut wrong = Ok(());
    condition.walk(&mut |Comparison { left, op, right }| {
        let sides =
            std::iter::once(left).chain(right).try_for_each(|side| check_no_item(format!("{}.when", step.id), side));
        let misshapen = right.is_none() != (*op == Operator::Exists);
        let shape = if misshapen { Err(PlanError::Comparison { step: id(), op: op.name() }) } else { Ok(()) };
        if wrong.is_ok() {
            wrong = sides.and(shape);
        }
    });
    wrong
}

fn check_pages(step: &Step, pages: &Pages) -> Result<(), PlanError> {
    let Pages { argument, next, items, count } = pages;
    let is_empty = argument.as_ref().is_some_and(String::is_empty) || next.is_empty() || items.is_empty();
    let counts = count.is_none_or(|count| argument.is_some() && count.by > 0);
    if step.for_each.is_some() || is_empty || !counts {
        return Err(PlanError::Pages { step: step.id.clone() });
    }
    if next.len().max(items.len()) > MAX_PROGRAM_BYTES {
        return Err(PlanError::TooLarge { what: "bytes in a jq program", limit: MAX_PROGRAM_BYTES });
    }
    Ok(())
}

fn check_until(step: &Step, until: &Until) -> Result<(), PlanError> {
    let Until { jq, never, pause, most } = until;
    let is_empty = jq.is_empty() || never.as_ref().is_some_and(String::is_empty);
    let bounded = (1..=MAX_PAUSE).contains(pause) && (2..=MAX_READS).contains(most);
    if step.pages.is_some() || is_empty || !bounded {
        return Err(PlanError::Until { step: step.id.clone() });
    }
    if jq.len().max(never.as_ref().map_or(0, String::len)) > MAX_PROGRAM_BYTES {
        return Err(PlanError::TooLarge { what: "bytes in a jq program", limit: MAX_PROGRAM_BYTES });
    }
    Ok(())
}

/// Refuses a `for_each` that can be seen not to be an array, or to be too long.
fn check_items(step: &str, items: &Expression) -> Result<(), PlanError> {
    let count = match items {
        Expression::Literal(Value::Array(items)) => items.len(),
        Expression::Array(items) => items.len(),
        Expression::Param(_) | Expression::From(_) | Expression::Default(..) => 0,
        _ => return Err(PlanError::ForEach { step: step.to_owned() }),
    };
    if count > MAX_ITEMS { Err(PlanError::TooLarge { what: "items", limit: MAX_ITEMS }) } else { Ok(()) }
}

fn check_no_item(by: String, expression: &Expression) -> Result<(), PlanError> {
    match expression.item_use() {
        Some(used) => Err(PlanError::Item { by, used }),
        None => Ok(()),
    }
}

/// Reads the version alone first, so that a plan of a newer format is named as such and not as a typing error.
fn check_version(bytes: &[u8]) -> Result<(), PlanError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    let Versioned { version } =
        serde_json::from_slice(bytes).map_err(|error| PlanError::Syntax { message: error.to_string() })?;
    if version == VERSION { Ok(()) } else { Err(PlanError::Version { found: version }) }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Whether jq takes `$` and this name as a variable.
fn is_variable(name: &str) -> bool {
    is_name(name) && !name.contains(['.', '-'])
}
