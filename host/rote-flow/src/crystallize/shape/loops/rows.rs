//! Rows: what was done for each item in several calls, of which later ones use the answers of earlier ones. Each column of them
//! becomes a loop of its own; those behind the first go through the items and the answers side by side.

use rote_plan::{Expression, Onward, Reference};

use super::{Group, indexed};
use crate::crystallize::along::Along;
use crate::crystallize::context::Context;
use crate::crystallize::draft::Draft;
use crate::literals::replace_references;

/// The calls behind the first of each item, column by column.
pub(super) struct Rows {
    pub(super) columns: Vec<Column>,
    /// The positions of reads of some of them that nothing uses.
    pub(super) idle: Vec<usize>,
}

/// Calls of one tool, one for each item.
pub(super) struct Column {
    /// Of the steps in the draft, in the order of the items.
    pub(super) positions: Vec<usize>,
    /// With what a row has in the place of references to it.
    arguments: Expression,
    along: Along,
}

/// What an argument takes of its row.
#[derive(Debug, Clone, PartialEq)]
enum Take {
    /// Of the item.
    Item(String),
    /// Of the answer of the call in this column.
    Answer(usize, String),
}

impl Rows {
    /// The rows that the calls of a group begin; none where what uses their answers is not the same for each.
    pub(super) fn of(cx: &Context<'_>, draft: &Draft, group: &Group) -> Option<Self> {
        let mut idle = Vec::new();
        let mut rows: Vec<Vec<usize>> = group.members.iter().map(|member| vec![member.position]).collect();
        for (position, step) in draft.steps.iter().enumerate().filter(|(_, step)| step.out.is_none()) {
            let used: Vec<&str> = step.uses().collect();
            let uses = |row: &Vec<usize>| row.iter().any(|at| used.contains(&draft.steps[*at].id.as_str()));
            let of: Vec<usize> = (0..rows.len()).filter(|row| uses(&rows[*row])).collect();
            match of.as_slice() {
                [] => {}
                [_] if is_idle(cx, draft, position) => idle.push(position),
                [row] if step.calls.len() == 1 && step.broken.is_none() && step.for_each.is_none() => {
                    rows[*row].push(position);
                }
                _ => return None,
            }
        }
        let length = rows[0].len();
        if rows.iter().any(|row| row.len() != length) {
            return None;
        }
        let columns = (1..length).map(|column| Column::of(cx, draft, group, &rows, column));
        Some(Self { columns: columns.collect::<Option<_>>()?, idle })
    }

    /// The position of the last call of all.
    pub(super) fn last(&self) -> Option<usize> {
        self.columns.iter().flat_map(|column| column.positions.iter().copied()).max()
    }

    /// Whether a call is one of them.
    pub(super) fn has(&self, position: usize) -> bool {
        self.columns.iter().any(|column| column.positions.contains(&position))
    }
}

impl Column {
    fn of(cx: &Context<'_>, draft: &Draft, group: &Group, rows: &[Vec<usize>], column: usize) -> Option<Self> {
        let positions: Vec<usize> = rows.iter().map(|row| row[column]).collect();
        let tool = |at: &usize| {
            let call = draft.steps[*at].call(cx.trace);
            (&call.adapter, &call.tool)
        };
        if !positions.windows(2).all(|pair| pair[0] < pair[1] && tool(&pair[0]) == tool(&pair[1])) {
            return None;
        }
        let mut takes: Vec<Take> = Vec::new();
        let mut same: Option<Expression> = None;
        for (row, member) in rows.iter().zip(&group.members) {
            let mut arguments = draft.steps[row[column]].arguments.clone();
            let mut is_plain = true;
            replace_references(&mut arguments, &mut |reference| {
                let take = taken(draft, group, (row, member.index), reference)?;
                is_plain &= !reference.each && reference.with.is_empty();
                let at = takes.iter().position(|known| *known == take).unwrap_or_else(|| {
                    takes.push(take);
                    takes.len() - 1
                });
                Some(Expression::Item(at.to_string()))
            });
            if !is_plain || same.as_ref().is_some_and(|known| *known != arguments) {
                return None;
            }
            same = Some(arguments);
        }
        let along = Along::of(&base(draft, rows), takes.iter().map(|take| take.named(draft, rows)).collect());
        let mut arguments = same?;
        arguments.visit_mut(&mut |_, one| {
            if let Expression::Item(at) = one {
                let program = at.parse().ok().and_then(|at: usize| along.program(at));
                *at = program.unwrap_or_default();
            }
            Onward::Into
        });
        Some(Self { positions, arguments, along })
    }

    /// Makes the first call of the column the step for all.
    pub(super) fn merge(self, cx: &Context<'_>, draft: &mut Draft) {
        let calls = self.positions.iter().map(|at| draft.steps[*at].calls[0]).collect();
        let first = &mut draft.steps[self.positions[0]];
        first.calls = calls;
        first.arguments = self.arguments;
        first.in_order = first.is_write(cx.trace);
        first.for_each = Some(self.along.stand_in());
        first.along = Some(self.along);
    }
}

/// Whether nothing comes of a step: a read that no other uses, and that is not what was seen last.
fn is_idle(cx: &Context<'_>, draft: &Draft, position: usize) -> bool {
    let step = &draft.steps[position];
    let shown = cx.trace.queries.last().and_then(|query| query.source_response);
    let is_last = |call: &usize| call + 1 == cx.trace.calls.len() || Some(cx.trace.calls[*call].response) == shown;
    let is_used = draft.steps.iter().any(|other| other.uses().any(|used| used == step.id));
    !step.is_write(cx.trace) && !is_used && !step.calls.iter().any(is_last)
}

impl Take {
    /// The step whose answer it takes, if it does, and the program.
    fn named(&self, draft: &Draft, rows: &[Vec<usize>]) -> (Option<String>, String) {
        match self {
            Self::Item(rest) => (None, rest.clone()),
            Self::Answer(column, jq) => (Some(draft.steps[rows[0][*column]].id.clone()), jq.clone()),
        }
    }
}

/// The id of the step that goes through the items.
fn base(draft: &Draft, rows: &[Vec<usize>]) -> String {
    draft.steps[rows[0][0]].id.clone()
}

/// What a reference takes of its row; none for one to something else.
fn taken(draft: &Draft, group: &Group, (row, index): (&[usize], usize), reference: &Reference) -> Option<Take> {
    if let Some(column) = row.iter().position(|at| draft.steps[*at].id == reference.step) {
        return Some(Take::Answer(column, reference.jq.clone()));
    }
    let (array, at, rest) = Some(reference).filter(|one| one.step == group.source).and_then(|one| indexed(&one.jq))?;
    (array == group.array && at == index).then_some(Take::Item(rest))
}
