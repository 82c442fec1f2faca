//! Numbers of a write that two fields of a thing give of which the write takes something else, its sku, its id; or one of them: twice,
//! or a part of it.

use rote_plan::{Bound, Expression, Reference};
use rote_types::command;
use serde_json::{Map, Value};

use crate::FlowError;
use crate::crystallize::bind::known;
use crate::crystallize::chance::{tells, tells_of_several};
use crate::crystallize::context::{Context, names_id};
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::{Draft, DraftStep};
use crate::crystallize::fields::{of_one, of_two};
use crate::crystallize::link::place_name;
use crate::crystallize::parameters::Parameters;
use crate::crystallize::path::{Segment, jq_of};
use crate::crystallize::program::last_field;
use crate::literals::{references, replace, walk_literals, walk_scalars};
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
        let read = |(thing, value): &(Reference, Value), formula: &dyn Fn(&Map<String, Value>) -> Option<String>| {
            let formula = formula(value.as_object()?)?;
            let jq = format!("{} | {formula}", thing.jq);
            Some((Reference { jq, ..thing.clone() }, formula))
        };
        let of_fields = || things.iter().find_map(|one| read(one, &|thing| of_two(&[thing], &[number])));
        // What is short is a part of most fields.
        let is_long = tells_of_several(&Value::from(number));
        let of_field = || things.iter().filter(|_| is_long).find_map(|one| read(one, &|thing| of_one(thing, number)));
        let found = of_fields().or_else(of_field);
        let Some((made, formula)) = found else {
            unexplained(&draft.steps[at], (&things, &id), (&pointer, number), desk)?;
            continue;
        };
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

/// Asks about an amount that nothing gives, where the write is for another thing in each run that was read before and has numbers:
/// somebody reckoned it, or it is the same for all.
fn unexplained(
    step: &DraftStep,
    (things, id): (&[(Reference, Value)], &QuestionId),
    (pointer, number): (&str, f64),
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let is_amount = tells_of_several(&Value::from(number));
    let is_number = |(name, value): (&String, &Value)| value.is_number() && !names_id(name);
    let counted =
        |thing: &&(Reference, Value)| thing.1.as_object().is_some_and(|members| members.iter().any(is_number));
    let Some((thing, _)) = things.iter().find(counted).filter(|_| is_amount && changes(step)) else { return Ok(()) };
    let name = place_name(pointer);
    let always = format!("it is {number} in each run, or the parameter that a `--param` makes of it");
    let spot = format!("{}:{pointer}", step.id);
    let ask = format!(
        "{name} `{number}` of {} is the same in each run, for whatever thing {} reads: was it reckoned? (`@N{{JQ}}` takes what \
         a program gives of the answer @N)",
        step.id, thing.step
    );
    let answers = vec![Answer::new("always", always, command("--no-link").argument(spot))];
    desk.ask(Question::of_value(id.clone(), (&step.id, pointer), ask, Vec::new(), answers)).map(drop)
}

/// Whether something that a write sends is another one in each run.
fn changes(step: &DraftStep) -> bool {
    let mut found = false;
    super::collect(&step.arguments, String::new(), &mut |_, from| found |= from.is_some());
    found
}

/// Most things whose fields are tried.
const MAX_THINGS: usize = 8;

/// The things of which a write takes a field, and those that were read by something that it sends: what it is for. Each with
/// what the recording has there.
pub(super) fn things(
    cx: &Context<'_>,
    draft: &Draft,
    parameters: &Parameters,
    step: &DraftStep,
) -> Vec<(Reference, Value)> {
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
    for read in draft.steps.iter().filter(|read| is_read_before(cx, read, step)) {
        let is_of_it = share(&read.call(cx.trace).arguments, &step.call(cx.trace).arguments);
        let is_known = found.iter().any(|(thing, _)| thing.step == read.id);
        let Some(body) = cx.body(read.call(cx.trace).response).filter(|_| is_of_it && !is_known) else { continue };
        found.extend(objects(&body).map(|(jq, value)| (Reference::new(read.id.clone(), jq), value.clone())));
    }
    found.truncate(MAX_THINGS);
    found
}

/// Whether a step is one read, made before the write.
fn is_read_before(cx: &Context<'_>, read: &DraftStep, write: &DraftStep) -> bool {
    let is_one = read.out.is_none() && read.broken.is_none() && read.for_each.is_none() && read.calls.len() == 1;
    is_one && !read.is_write(cx.trace) && read.calls[0] < write.calls[0]
}

/// A whole answer that is one thing, and what it has in it.
fn objects(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let members = body.as_object();
    let inner = members.into_iter().flatten().filter(|(_, value)| value.is_object());
    let inner = inner.map(|(name, value)| (jq_of(&[Segment::Key(name.clone())]), value));
    members.is_some().then(|| (".".to_owned(), body)).into_iter().chain(inner)
}

/// Whether a write sends a value by which something was read.
fn share(read: &Value, sent: &Value) -> bool {
    let mut found = false;
    walk_scalars(read, String::new(), &mut |_, asked| {
        walk_scalars(sent, String::new(), &mut |_, one| found |= one == asked && tells(one) && !one.is_boolean());
    });
    found
}
