//! A table that a query made, typed off row by row: of a write that has several values of one row, these come from there. What a query reckons stands nowhere else.

use std::rc::Rc;

use rote_plan::{Expression, Reference, text_of};
use rote_types::command;
use serde_json::{Map, Value};

use super::super::chance::tells;
use super::super::path::{Segment, jq_of};
use super::super::program::{string_literals, values};
use super::printed::{same, says_nothing};
use super::source::same_name;
use super::{Linker, Read, place_name, reference};
use crate::crystallize::draft::DraftStep;
use crate::question::QuestionId;

/// Fewest values of a row that a write has.
const MIN_SAME: usize = 2;
/// Most rows of a table.
const MAX_ROWS: usize = 1_000;

/// A row of a table, and where it is read.
#[derive(Debug, Clone)]
pub(super) struct Row {
    read: Read,
    /// Of several.
    index: Option<usize>,
    members: Map<String, Value>,
}

impl Linker<'_, '_> {
    /// The expression that reads a value from the row that the write was typed off.
    pub(super) fn of_row(&mut self, pointer: &str, value: &Value) -> Option<Expression> {
        if pointer.matches('/').count() != 1 || text_of(value).is_empty() || !(value.is_number() || value.is_string()) {
            return None;
        }
        if self.row.is_none() {
            self.row = Some(Rc::new(self.row_of_write()));
        }
        let row = self.row.clone()?;
        let row = row.as_ref().as_ref()?;
        let name = place_name(pointer);
        let mut equal = row.members.iter().filter(|(_, found)| same(found, value));
        let named = equal.clone().find(|(field, _)| same_name(field, &name));
        let (field, found) = named.or_else(|| equal.next().filter(|_| equal.next().is_none()))?;
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        // A number that the answer had before the query may be another one by chance, which is asked.
        let is_told = same_name(field, &name) || value.is_string() || self.hits(&name, value).is_empty();
        if !is_told || self.is_typed_off(&name, value, &row.read) || self.desk.given(&id, &["always"]).is_some() {
            return None;
        }
        let member = jq_of(&[Segment::Key(field.clone())]);
        let jq = match row.index {
            Some(index) => format!("[{}][{index}]{member}", row.read.jq),
            None => format!("{} | {member}", row.read.jq),
        };
        let text = format!("linked {} {name} {} = {jq} of {}", self.step.id, text_of(value), row.read.step);
        let undo = command("--no-link").argument(format!("{}:{pointer}", self.step.id));
        self.desk.note(Some(&self.step.id), text, Some(undo));
        Some(reference(&row.read.step, jq, found, value))
    }

    /// The expression that reads a value from the list that calls of one tool, which are equal but for it, were typed off in order.
    pub(super) fn of_list(&mut self, pointer: &str, value: &Value) -> Option<Expression> {
        let name = pointer.strip_prefix('/').filter(|rest| !rest.contains('/') && self.call.is_write())?;
        let rest = |step: &DraftStep| {
            let call = step.call(self.cx.trace);
            let mut arguments = call.arguments.as_object()?.clone();
            let own = arguments.remove(&*rote_types::unescape_token(name))?;
            Some(((call.adapter.clone(), call.tool.clone(), arguments), own))
        };
        let (known, _) = rest(self.step)?;
        let stays = |step: &&DraftStep| step.out.is_none() && step.broken.is_none() && step.calls.len() == 1;
        let alike: Vec<(&str, Value)> = self
            .draft
            .steps
            .iter()
            .filter(stays)
            .filter_map(|step| rest(step).filter(|(other, _)| *other == known).map(|(_, own)| (step.id.as_str(), own)))
            .take(MAX_ROWS)
            .collect();
        let index = alike.iter().position(|(step, _)| *step == self.step.id).filter(|_| alike.len() > 1)?;
        let equal = |items: &[Value]| {
            items.len() == alike.len() && items.iter().zip(&alike).all(|(item, (_, own))| same(item, own))
        };
        let found = self.prints().into_iter().find_map(|(read, outputs)| {
            let jq = match outputs.as_slice() {
                [Value::Array(items)] if equal(items) => format!("{} | .[]", read.jq),
                items if equal(items) => read.jq.clone(),
                _ => return None,
            };
            let jq = format!("[{jq}][{index}]");
            (!self.is_typed_off(name, value, &read)).then(|| Reference::new(read.step, jq))
        })?;
        let text = format!("linked {} {name} {} = {} of {}", self.step.id, text_of(value), found.jq, found.step);
        let undo = command("--no-link").argument(format!("{}:{pointer}", self.step.id));
        self.desk.note(Some(&self.step.id), text, Some(undo));
        Some(Expression::From(found))
    }

    /// Whether a person had typed it before: into the query, or into a call that the answer says again.
    pub(super) fn is_typed_off(&self, name: &str, value: &Value, read: &Read) -> bool {
        values(&read.jq).iter().any(|(_, typed)| typed == value)
            || string_literals(&read.jq).iter().any(|literal| *value == *literal.text)
            || self.is_typed_before(name, value, read)
    }

    /// The row of the last table that the write has the values of.
    fn row_of_write(&self) -> Option<Row> {
        let arguments = self.call.arguments.as_object().filter(|_| self.call.is_write())?;
        let counts = |row: &Map<String, Value>| {
            let is_same = |(name, value): &(&String, &Value)| {
                let fits =
                    |(field, found): (&String, &Value)| (tells(value) || same_name(field, name)) && same(found, value);
                !says_nothing(value) && row.iter().any(fits)
            };
            arguments.iter().filter(is_same).count() >= MIN_SAME
        };
        self.prints().into_iter().filter(|(read, _)| read.jq.contains('{')).find_map(|(read, outputs)| {
            let (rows, jq) = match outputs.as_slice() {
                [Value::Array(rows)] => (rows.as_slice(), format!("{} | .[]", read.jq)),
                rows => (rows, read.jq),
            };
            let read = Read { jq, ..read };
            let rows: Vec<&Map<String, Value>> =
                rows.iter().take(MAX_ROWS).map(Value::as_object).collect::<Option<_>>()?;
            let mut fitting = rows.iter().enumerate().filter(|(_, row)| counts(row));
            let (index, members) = fitting.next()?;
            let index = (rows.len() > 1).then_some(index);
            fitting.next().is_none().then(|| Row { read, index, members: (*members).clone() })
        })
    }
}
