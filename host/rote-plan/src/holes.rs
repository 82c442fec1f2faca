//! The values of holes during a run: parameters, parts of responses by the host's jq, the item of a `for_each`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::condition::Compare;
use crate::evaluate::Values;
use crate::expression::Extent;
use crate::progress::Progress;
use crate::schedule::Host;
use crate::{Bound, Plan, Reference, RunError, bind};

/// Values of references that the items of one step share, so that each is looked up once.
pub(crate) type Memo = BTreeMap<Reference, Value>;

/// What the holes are filled from, for one evaluation.
pub(crate) struct Holes<'a, H: Host + ?Sized> {
    pub(crate) plan: &'a Plan,
    pub(crate) parameters: &'a Map<String, Value>,
    pub(crate) host: &'a mut H,
    pub(crate) progress: &'a Progress<'a, H::Response, H::Error>,
    /// Who needs the values: a step's id, with the position of the item, or `result`.
    pub(crate) by: &'a str,
    pub(crate) item: Option<(usize, &'a Value)>,
    pub(crate) memo: &'a mut Memo,
    /// A request must not carry `null` where the recorded one had a value; a result and a condition may.
    pub(crate) null_is_missing: bool,
}

impl<H: Host + ?Sized> Holes<'_, H> {
    /// Makes `null` a value that is missing.
    pub(crate) fn strict(mut self) -> Self {
        self.null_is_missing = true;
        self
    }

    fn missing(&self, message: String) -> RunError<H::Error> {
        RunError::Reference { by: self.by.to_owned(), message }
    }

    fn failed(&self, source: H::Error) -> RunError<H::Error> {
        RunError::Step { step: self.by.to_owned(), source }
    }

    /// Takes the one output that there must be.
    fn one(&self, mut outputs: Vec<Value>, jq: &str, of: &str) -> Result<Value, RunError<H::Error>> {
        match (outputs.pop(), outputs.len()) {
            (Some(Value::Null), 0) if self.null_is_missing => Err(self.missing(format!("`{jq}` of {of} is null"))),
            (Some(value), 0) => Ok(value),
            (None, _) => Err(self.missing(format!("`{jq}` of {of} has no output"))),
            (Some(_), more) => Err(self.missing(format!("`{jq}` of {of} has {} outputs, one is needed", more + 1))),
        }
    }

    /// Returns the program with its variables bound. A null is missing here as in a request.
    fn program(&mut self, Reference { jq, with, .. }: &Reference) -> Result<String, RunError<H::Error>> {
        let mut values = Vec::with_capacity(with.len());
        for (name, bound) in with {
            let value = match bound {
                Bound::Param(parameter) => match self.parameter(parameter)? {
                    Some(value) => value,
                    None => return Err(self.absent(parameter)),
                },
                Bound::From(inner) => self.reference(inner)?,
            };
            if value.is_null() {
                return Err(self.missing(format!("`${name}` of `{jq}` is null")));
            }
            values.push((name.as_str(), value));
        }
        Ok(bind(jq, values.iter().map(|(name, value)| (*name, value))))
    }

    fn look_up(&mut self, reference: &Reference) -> Result<Value, RunError<H::Error>> {
        let Reference { step, jq, each, .. } = reference;
        let program = self.program(reference)?;
        let Some((declared, outcome)) = self.progress.ended(step) else {
            return Err(self.missing(format!("step `{step}` has no response")));
        };
        let fanned_out = declared.for_each.is_some();
        if let Some(all) = self.all_pages(step)? {
            let outputs = self.host.query_value(all, &program).map_err(|source| self.failed(source))?;
            return if *each { Ok(Value::Array(outputs)) } else { self.one(outputs, jq, &format!("step `{step}`")) };
        }
        let mut values = Vec::new();
        for (item, response) in &outcome.responses {
            let outputs = self.host.query(response, &program).map_err(|source| self.failed(source))?;
            if *each {
                values.extend(outputs);
                continue;
            }
            let of = item.map_or_else(|| format!("step `{step}`"), |item| format!("step `{step}[{item}]`"));
            values.push(self.one(outputs, jq, &of)?);
        }
        if *each || fanned_out {
            return Ok(Value::Array(values));
        }
        values.pop().ok_or_else(|| self.missing(format!("step `{step}` has no response")))
    }
}

impl<'a, H: Host + ?Sized> Holes<'a, H> {
    /// Returns all pages of a step as one answer; none for a step that has not several.
    fn all_pages(&mut self, step: &str) -> Result<Option<&'a Value>, RunError<H::Error>> {
        let progress = self.progress;
        let Some((pages, joined)) = progress.pages(step) else { return Ok(None) };
        if joined.get().is_none() {
            let mut read = Vec::new();
            for response in progress.ended(step).into_iter().flat_map(|(_, outcome)| outcome.responses.values()) {
                let outputs = self.host.query(response, ".").map_err(|source| self.failed(source))?;
                read.extend(outputs);
            }
            let program = pages.join();
            let outputs = self.host.query_value(&Value::Array(read), &program).map_err(|source| self.failed(source))?;
            let all = self.one(outputs, &program, &format!("step `{step}`"))?;
            return Ok(Some(joined.get_or_init(|| all)));
        }
        Ok(joined.get())
    }
}

impl<H: Host + ?Sized> Values for Holes<'_, H> {
    type Error = RunError<H::Error>;

    fn parameter(&mut self, name: &str) -> Result<Option<Value>, Self::Error> {
        let default = self.plan.parameters.get(name).and_then(|parameter| parameter.default.clone());
        Ok(self.parameters.get(name).cloned().or(default))
    }

    fn reference(&mut self, reference: &Reference) -> Result<Value, Self::Error> {
        if let Some(known) = self.memo.get(reference) {
            return Ok(known.clone());
        }
        let value = self.look_up(reference)?;
        // Only the items of a `for_each` ask again.
        if self.item.is_some() {
            self.memo.insert(reference.clone(), value.clone());
        }
        Ok(value)
    }

    fn item(&mut self, program: &str) -> Result<Value, Self::Error> {
        let Some((_, item)) = self.item else {
            return Err(self.missing("there is no item here".to_owned()));
        };
        let outputs = match member(item, program) {
            Some(value) => vec![value.clone()],
            None => self.host.query_value(item, program).map_err(|source| self.failed(source))?,
        };
        self.one(outputs, program, "the item")
    }

    fn index(&mut self) -> Result<Value, Self::Error> {
        let index = self.item.map(|(index, _)| Value::from(index));
        index.ok_or_else(|| self.missing("there is no item here".to_owned()))
    }

    fn answered(&self, step: &str) -> bool {
        self.progress.has(step, Extent::Part)
    }

    fn absent(&mut self, name: &str) -> Self::Error {
        self.missing(format!("parameter `{name}` was not given"))
    }
}

impl<H: Host + ?Sized> Compare for Holes<'_, H> {
    fn unfit(&self, message: String) -> Self::Error {
        RunError::Value { by: self.by.to_owned(), message }
    }
}

/// Returns what `.` or a path of plain names such as `.user.id` picks, as jq would, without asking the host: with a
/// thousand items that is most of what would be asked. `None` for any other program, and where jq would fail.
fn member<'v>(value: &'v Value, program: &str) -> Option<&'v Value> {
    let path = program.strip_prefix('.')?;
    if path.is_empty() {
        return Some(value);
    }
    path.split('.').try_fold(value, |value, name| {
        let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match value {
            _ if !plain => None,
            Value::Null => Some(value),
            Value::Object(members) => Some(members.get(name).unwrap_or(&Value::Null)),
            _ => None,
        }
    })
}
