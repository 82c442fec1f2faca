//! Numbers of a write that two fields of a thing give of which the write takes something else: its sku, its id.

use rote_plan::{Bound, Expression, Reference};
use rote_types::command;
use serde_json::Value;

use crate::FlowError;
use crate::crystallize::bind::known;
use crate::crystallize::chance::tells;
use crate::crystallize::context::{Context, names_id};
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::{Draft, DraftStep};
use crate::crystallize::fields::of_two;
use crate::crystallize::link::place_name;
use crate::crystallize::parameters::Parameters;
use crate::crystallize::path::{Segment, jq_of};
use crate::crystallize::program::last_field;
use crate::literals::{references, replace, walk_literals};
use crate::question::{Answer, Question, QuestionId, RECKONED};

/// Asks about the numbers of a write, and puts in those that are to be reckoned.
pub(super) fn ask(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    at: usize,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let things = things(cx, draft, parameters, &draft.steps[at]);
    let mut numbers = Vec::new();
    walk_literals(&draft.steps[at].arguments, &mut |pointer, value| {
        let number = value.as_f64().filter(|_| tells(value) && !names_id(&place_name(pointer)));
        numbers.extend(number.map(|number| (pointer.to_owned(), number)));
    });
    for (pointer, number) in numbers {
        let step = &draft.steps[at];
        let id = QuestionId::at(QuestionId::Source, &step.id, &pointer);
        let here =
            |question: &Question| question.places.iter().any(|place| place.step == step.id && place.pointer == pointer);
        if desk.questions.iter().any(here) {
            continue;
        }
        let found = things.iter().find_map(|(thing, value)| {
            let formula = of_two(&[value.as_object()?], &[number])?;
            let jq = format!("{} | {formula}", thing.jq);
            Some((Reference { jq, ..thing.clone() }, formula))
        });
        let Some((made, formula)) = found else { continue };
        let answers = vec![
            Answer::by_id(&id, RECKONED, format!("in each run it is that, of what {} has then", made.step)),
            Answer::new(
                "always",
                format!("it is {number} in each run, or the parameter that a `--param` makes of it"),
                command("--no-link").argument(format!("{}:{pointer}", step.id)),
            ),
        ];
        let (name, source) = (place_name(&pointer), &made.step);
        let ask = format!(
            "{name} `{number}` of {} was `{formula}` of the thing of {source} that it is for, which is another number in other runs: does it stay?",
            step.id
        );
        let question = Question::of_value(id, (&step.id, &pointer), ask, Vec::new(), answers);
        if desk.ask(question)? == RECKONED {
            let made = Expression::From(made);
            replace(&mut draft.steps[at].arguments, &mut |place, _| (place == pointer).then(|| made.clone()));
        }
    }
    Ok(())
}

/// The things of which a write takes a field, each with what the recording has there.
fn things(cx: &Context<'_>, draft: &Draft, parameters: &Parameters, step: &DraftStep) -> Vec<(Reference, Value)> {
    let mut found: Vec<(Reference, Value)> = Vec::new();
    references(&step.arguments, &mut |_, reference| {
        let field = last_field(&reference.jq).map(|name| jq_of(&[Segment::Key(name)]));
        let thing = field.and_then(|field| Some(reference.jq.strip_suffix(&field)?.trim_end().to_owned()));
        let Some(thing) = thing.filter(|_| !reference.each) else { return };
        let jq = if thing.is_empty() || thing.ends_with('|') { format!("{thing} .").trim().to_owned() } else { thing };
        let thing = Reference { jq, ..reference.clone() };
        let value = known(cx, draft, parameters, &Bound::From(Box::new(thing.clone())));
        found.extend(value.filter(|_| found.iter().all(|(other, _)| *other != thing)).map(|value| (thing, value)));
    });
    found
}
