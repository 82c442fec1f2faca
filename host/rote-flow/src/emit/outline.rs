//! The order and the blocks of a written program, the same in every language.
//!
//! Steps stand in the order of the plan, each behind what it waits for. Neighbours that wait for nothing of each other are
//! made together. A step that may be skipped stands in a block with its condition, and so does what needs its answer.

use std::collections::BTreeSet;

use rote_plan::{Comparison, Condition, Expression, OnError, Onward, Operator, Plan, Step};

/// A part of a program.
pub(super) enum Part<'a> {
    /// Calls that are made at once.
    Together(Vec<&'a Step>),
    /// One call, or one for each of something or for each page of a list, or again and again until something is so.
    One(&'a Step),
    /// What is done on a condition.
    Block(Block<'a>),
}

/// Calls that are made only if something holds.
pub(super) struct Block<'a> {
    /// Steps that must have an answer.
    pub(super) present: BTreeSet<&'a str>,
    pub(super) when: Option<&'a Condition>,
    pub(super) body: Vec<Part<'a>>,
    /// Steps of the body that are looked at outside of it, in order.
    pub(super) outlives: Vec<&'a str>,
}

/// A plan as parts.
pub(super) struct Outline<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// Steps whose answers are looked at.
    pub(super) bound: BTreeSet<&'a str>,
    /// Steps that may be skipped.
    pub(super) maybe: BTreeSet<&'a str>,
    /// Those of them without which there is not a result.
    pub(super) needed: BTreeSet<&'a str>,
}

/// When a step runs.
#[derive(Clone, PartialEq)]
struct Guard<'a> {
    present: BTreeSet<&'a str>,
    when: Option<&'a Condition>,
}

impl<'a> Outline<'a> {
    /// Makes it, or says what of the plan is not written out.
    pub(super) fn of(plan: &'a Plan) -> Result<Self, String> {
        let order = in_order(plan);
        let mut guards: Vec<Guard<'a>> = Vec::with_capacity(order.len());
        let mut maybe = BTreeSet::new();
        for step in &order {
            let refused = |reason: &str| format!("step `{}` {reason}", step.id);
            if step.on_error != OnError::Stop {
                return Err(refused("may fail"));
            }
            if step.until.is_some() && step.for_each.is_some() {
                return Err(refused("waits for each of several"));
            }
            let guard = guard(step, &maybe).map_err(refused)?;
            if guard.when.is_some() || !guard.present.is_empty() {
                maybe.insert(step.id.as_str());
            }
            guards.push(guard);
        }
        let needed = lacks(&plan.result, &maybe).map_err(|reason| format!("the result {reason}"))?;
        let mut bound: BTreeSet<&str> = order.iter().flat_map(|step| used_by(step)).collect();
        bound.extend(steps_of(&plan.result));
        let mut blocks = Vec::new();
        for (step, guard) in order.iter().zip(&guards) {
            place(&mut blocks, step, guard);
        }
        // Whether an answer is there is asked of those that a block is about, even where no value of theirs is used.
        bound.extend(blocks.iter().flat_map(|(guard, _)| guard.present.iter().copied()));
        let outside = |members: &[&'a Step]| {
            let is_inside = |step: &&&Step| members.iter().any(|member| member.id == step.id);
            let mut seen: BTreeSet<&str> =
                order.iter().filter(|step| !is_inside(step)).flat_map(|step| used_by(step)).collect();
            seen.extend(steps_of(&plan.result));
            seen.extend(blocks.iter().flat_map(|(guard, _)| guard.present.iter().copied()));
            members.iter().map(|member| member.id.as_str()).filter(|member| seen.contains(member)).collect()
        };
        let mut parts = Vec::new();
        for (Guard { present, when }, members) in &blocks {
            let body = grouped(members);
            if present.is_empty() && when.is_none() {
                parts.extend(body);
                continue;
            }
            let outlives = outside(members);
            parts.push(Part::Block(Block { present: present.clone(), when: *when, body, outlives }));
        }
        Ok(Self { parts, bound, maybe, needed })
    }

    /// Returns the steps that are made together with others, in order.
    pub(super) fn together(&self) -> Vec<&'a str> {
        let mut found = Vec::new();
        each_group(&self.parts, &mut |steps| found.extend(steps.iter().map(|step| step.id.as_str())));
        found
    }
}

fn each_group<'a>(parts: &[Part<'a>], visit: &mut dyn FnMut(&[&'a Step])) {
    for part in parts {
        match part {
            Part::Together(steps) => visit(steps),
            Part::One(_) => {}
            Part::Block(block) => each_group(&block.body, visit),
        }
    }
}

/// The steps in the order of the plan, each behind all that it waits for.
fn in_order(plan: &Plan) -> Vec<&Step> {
    let (mut order, mut done): (Vec<&Step>, BTreeSet<&str>) = (Vec::new(), BTreeSet::new());
    let mut open: Vec<&Step> = plan.steps.iter().collect();
    // A plan that was validated has no cycle, so each round finds one.
    while let Some(at) = open.iter().position(|step| step.waits_for().is_subset(&done)) {
        let step = open.remove(at);
        done.insert(&step.id);
        order.push(step);
    }
    order
}

/// The conditions that all have to hold.
pub(super) fn conjuncts(condition: &Condition) -> Vec<&Condition> {
    match condition {
        Condition::All(inner) if inner.len() > 1 => inner.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// Whether a step uses the position of its item.
pub(super) fn counts(step: &Step) -> bool {
    let mut found = false;
    step.arguments.walk(&mut |one| found |= matches!(one, Expression::Index));
    found
}

/// Every step that an expression names.
pub(super) fn steps_of(expression: &Expression) -> impl Iterator<Item = &str> {
    expression.references().into_iter().map(|reference| reference.step.as_str())
}

fn used_by(step: &Step) -> impl Iterator<Item = &str> {
    step.expressions().into_iter().flat_map(steps_of)
}

fn guard<'a>(step: &'a Step, maybe: &BTreeSet<&'a str>) -> Result<Guard<'a>, &'static str> {
    let mut present: BTreeSet<&str> = step.needs.iter().map(String::as_str).filter(|id| maybe.contains(id)).collect();
    for value in step.for_each.iter().chain([&step.arguments]) {
        present.extend(lacks(value, maybe)?);
    }
    let mut sides = Vec::new();
    if let Some(condition) = &step.when {
        condition.walk(&mut |Comparison { left, op, right }| {
            // What `exists` looks at may be missing.
            if *op != Operator::Exists {
                sides.push(left);
                sides.extend(right);
            }
        });
    }
    for side in sides {
        present.extend(lacks(side, maybe)?);
    }
    Ok(Guard { present, when: step.when.as_ref() })
}

/// Returns those of the steps that may be skipped without which an expression has no value.
fn lacks<'a>(expression: &'a Expression, maybe: &BTreeSet<&'a str>) -> Result<BTreeSet<&'a str>, &'static str> {
    let mut found = Ok(BTreeSet::new());
    expression.visit(&mut |_, one| {
        let Ok(lacking) = &mut found else { return Onward::Past };
        match one {
            Expression::Default(first, fallback) => {
                if steps_of(first).any(|step| maybe.contains(step)) {
                    match lacks(fallback, maybe) {
                        Ok(lacking) if lacking.is_empty() => {}
                        Ok(_) => found = Err("has a fallback that may be missing too"),
                        Err(reason) => found = Err(reason),
                    }
                }
                return Onward::Past;
            }
            Expression::From(_) => lacking.extend(steps_of(one).filter(|step| maybe.contains(step))),
            _ => {}
        }
        Onward::Into
    });
    found
}

/// Puts a step into the last block where it belongs there, else into one of its own.
fn place<'a>(blocks: &mut Vec<(Guard<'a>, Vec<&'a Step>)>, step: &'a Step, guard: &Guard<'a>) {
    if let Some((open, members)) = blocks.last_mut() {
        let inside = |id: &&str| members.iter().any(|member| member.id == **id);
        let beyond: BTreeSet<&str> = guard.present.iter().copied().filter(|id| !inside(id)).collect();
        let same = guard.when == open.when && beyond == open.present;
        // With an answer of the block there, all that it asks for holds.
        let follows = guard.when.is_none()
            && (open.when.is_some() || !open.present.is_empty())
            && beyond.len() < guard.present.len()
            && beyond.is_subset(&open.present);
        if same || follows {
            return members.push(step);
        }
    }
    blocks.push((guard.clone(), vec![step]));
}

/// Groups neighbours that can be made together.
fn grouped<'a>(steps: &[&'a Step]) -> Vec<Part<'a>> {
    let mut groups: Vec<Vec<&'a Step>> = Vec::new();
    for step in steps {
        let waits = step.waits_for();
        match groups.last_mut() {
            Some(group)
                if step.is_one_call()
                    && group.iter().all(|one| one.is_one_call() && !waits.contains(one.id.as_str())) =>
            {
                group.push(step);
            }
            _ => groups.push(vec![step]),
        }
    }
    let part = |group: Vec<&'a Step>| match group.as_slice() {
        [one] => Part::One(one),
        _ => Part::Together(group),
    };
    groups.into_iter().map(part).collect()
}
