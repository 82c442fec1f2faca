//! Writes for several things at once, whose ids an answer gives as a list: where there are none, nothing is written, as a loop over
//! none writes nothing.

use rote_plan::{Comparison, Condition, Expression, Operator, Reference};
use rote_types::command;
use serde_json::Value;

use crate::crystallize::context::{Context, names_id};
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::Draft;
use crate::question::QuestionId;

/// Makes each such write only where there is one.
pub(super) fn guard(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) {
    for at in 0..draft.steps.len() {
        let step = &draft.steps[at];
        if step.out.is_some() || step.broken.is_some() || step.for_each.is_some() || !step.is_write(cx.trace) {
            continue;
        }
        let Expression::Object(members) = &step.arguments else { continue };
        let sent = |name: &str| step.call(cx.trace).arguments.get(name).and_then(Value::as_array);
        let ids = members.iter().find_map(|(name, one)| match one {
            Expression::From(reference) if names_id(name) => {
                sent(name).filter(|sent| !sent.is_empty()).map(|_| (name.clone(), reference.clone()))
            }
            _ => None,
        });
        let Some((name, reference)) = ids else { continue };
        let id = step.id.clone();
        if desk.given(&QuestionId::When(id.clone()), &["no"]).is_some() {
            continue;
        }
        let list = if reference.each { format!("[{}]", reference.jq) } else { reference.jq.clone() };
        let text = format!("{id} only when `{list}` of {} has one: it sends all of them as {name}", reference.step);
        desk.note(Some(&id), text, Some(command("--when").assignment(&id, "no")));
        let many = Reference { jq: format!("{list} | length"), each: false, ..reference };
        let (left, right) = (Expression::From(many), Some(Expression::Literal(Value::from(0))));
        let some = Condition::Compare(Comparison { left, op: Operator::Gt, right });
        let when = &mut draft.steps[at].when;
        *when = Some(match when.take() {
            Some(known) => Condition::All(vec![some, known]),
            None => some,
        });
    }
}
