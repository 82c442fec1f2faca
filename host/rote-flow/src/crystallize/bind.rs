//! Binding: parameters take the places of the values that they stand for.
//!
//! A text stands for every equal text and for its words inside longer ones, a day for the times of that day too. A number, a
//! boolean or a word of a fixed set means something only under a name: it is bound where the argument is named as the
//! parameter, else where it stands alone, and several places are a question. Places that were named take no other.

mod gone;
mod items;
pub(super) mod place;
mod query;
mod reach;
mod told;

use std::collections::BTreeSet;

use rote_plan::{Expression, text_of};
use rote_types::{CommandLine, command, escape_token};
use serde_json::Value;

use super::closure;
use super::context::Context;
use super::desk::Desk;
use super::draft::{Draft, DraftStep};
use super::parameters::{Parameters, refusal};
use super::program::string_literals;
use super::request::{ParamSpec, Spot};
use crate::FlowError;
use crate::literals::{change_references, last_segment, replace, walk_literals};
use crate::question::{Answer, Evidence, Place, Question, QuestionId, QuestionKind};
use place::{literal_at, replace_at};
use query::Binding;
pub(super) use query::{given_as, known, spliced, with_parameters};
pub(crate) use reach::bind_all;
use told::is_value;

/// Which parameters are made.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// Those whose value stands somewhere.
    Found,
    /// These, for which there was nothing before.
    These(&'a BTreeSet<String>),
}

/// Makes the parameters that were asked for, in the steps that stay; returns those whose value stands nowhere.
fn bind(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &mut Parameters,
    desk: &mut Desk,
    wanted: Wanted<'_>,
) -> Result<BTreeSet<String>, FlowError> {
    let kept = closure::needed(cx.trace, draft);
    parameters.keep_used(draft, &kept);
    let (mut asked, mut late) = (BTreeSet::new(), BTreeSet::new());
    // A longer value first: a shorter one may be a part of it.
    let mut specs: Vec<&ParamSpec> = cx.request.params.iter().collect();
    specs.sort_by_key(|spec| std::cmp::Reverse(spec.value.as_ref().map_or(0, String::len)));
    let is_late = |spec: &&ParamSpec| match wanted {
        Wanted::Found => true,
        Wanted::These(late) => late.contains(&spec.name),
    };
    for spec in specs.into_iter().filter(is_late) {
        if !asked.insert(&spec.name) {
            desk.note(None, format!("parameter `{}` was asked for more than once", spec.name), None);
        }
        let mut binder = Binder { cx, draft, kept: &kept, parameters, desk, name: &spec.name };
        binder.check(spec)?;
        match (&spec.value, spec.spots.as_slice()) {
            (value, [_, ..]) => binder.at_spots(&spec.spots, value.as_deref())?,
            (Some(value), []) => match (binder.by_value(value)?, wanted) {
                (true, _) => {}
                (false, _) if let Some(example) = binder.put_by_answer() => binder.declare(example)?,
                (false, Wanted::Found) => {
                    if binder.is_near_a_day(value) {
                        binder.declare(Value::from(value.as_str()))?;
                    }
                    late.insert(spec.name.clone());
                    continue;
                }
                (false, Wanted::These(_)) if binder.is_to_come(value) => continue,
                (false, Wanted::These(_)) => binder.nowhere(value)?,
            },
            (None, []) => binder.by_argument()?,
        }
        parameters.shape(spec)?;
    }
    Ok(late)
}

struct Binder<'a, 'b> {
    cx: &'a Context<'b>,
    draft: &'a mut Draft,
    kept: &'a BTreeSet<usize>,
    parameters: &'a mut Parameters,
    desk: &'a mut Desk,
    name: &'a str,
}

/// The places that hold a value.
#[derive(Default, PartialEq)]
struct Holding {
    /// Where it is the value whatever the argument is called.
    loose: Vec<Place>,
    /// Where the argument is named as the parameter.
    named: Vec<Place>,
    /// Where it may be equal by chance.
    chance: Vec<Place>,
}

impl Binder<'_, '_> {
    fn steps(&self) -> impl Iterator<Item = &DraftStep> {
        self.kept.iter().map(|position| &self.draft.steps[*position])
    }

    fn refuse(&self, reason: String) -> FlowError {
        refusal(self.name, reason, self.steps())
    }

    fn check(&self, spec: &ParamSpec) -> Result<(), FlowError> {
        let name = &spec.name;
        let fits = (1..=64).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if !fits {
            let reason = "use 1 to 64 letters, digits, `.`, `_` or `-`, and start with a letter or `_`";
            return Err(self.refuse(reason.to_owned()));
        }
        if spec.value.as_deref() == Some("") {
            return Err(self.refuse("an empty value stands everywhere and nowhere".to_owned()));
        }
        Ok(())
    }

    /// Makes the parameter where its value stands; whether there is such a place.
    fn by_value(&mut self, value: &str) -> Result<bool, FlowError> {
        // A text that has it as a part of a longer name takes it only where nothing else does.
        let held = Some(self.holding(value, false)).filter(|held| *held != Holding::default());
        let Holding { mut loose, named, chance } = held.unwrap_or_else(|| self.holding(value, true));
        loose.extend(named);
        let in_programs = !by_name_only(value) && self.in_programs(value, None);
        let bound = match (loose.is_empty(), chance.as_slice()) {
            (true, []) if in_programs => Vec::new(),
            (true, []) => return Ok(false),
            (true, [only]) if !self.was_named(value) => vec![only.clone()],
            (true, several) => self.ask(value, several, None)?,
            (false, others) => {
                // What a text says with the name of the parameter is that without a question.
                self.in_texts(&serde_json::from_str(value).unwrap_or(Value::Null));
                let others = self.still_holding(others, value);
                let (texts, others): (Vec<Place>, Vec<Place>) =
                    others.into_iter().partition(|place| self.is_told(place, value));
                if !others.is_empty() {
                    let text = format!("also {value} at {}, which `{}` is not", spots(&others), self.name);
                    let flag = at_places(self.name, value, &others);
                    self.desk.note(None, text, Some(flag));
                }
                if !texts.is_empty() {
                    loose.extend(self.ask(value, &texts, Some("the parameter is not a part of these texts"))?);
                }
                loose
            }
        };
        // A text that a query looks for is the text, also where it is written as a number.
        let is_text = |place: &Place| {
            let step = self.draft.steps.iter().find(|step| step.id == place.step);
            step.and_then(|step| literal_at(&step.arguments, &place.pointer)).is_some_and(|literal| literal.is_string())
        };
        let all = chance.iter().all(|place| bound.contains(place));
        let texts = by_name_only(value) && all && bound.iter().any(is_text);
        let in_programs = in_programs || texts && self.in_programs(value, None);
        let mut example = in_programs.then(|| Value::from(value));
        for place in &bound {
            let at = self.at(place);
            let put = self.placing(&self.draft.steps[at], value);
            replace(&mut self.draft.steps[at].arguments, &mut |pointer, literal| {
                let replaced = put.of(literal).filter(|_| pointer == place.pointer)?;
                let whole = matches!(replaced, Expression::Param(_));
                if whole || example.is_none() {
                    example = Some(if whole { literal.clone() } else { Value::from(value) });
                }
                Some(replaced)
            });
        }
        self.unbound_programs(value);
        self.ask_of_unwritten(value)?;
        example.map_or(Ok(()), |example| self.declare(example)).map(|()| true)
    }

    /// Whether a call that fell out has the value under the name of the parameter: elsewhere it may be equal by chance.
    fn was_named(&self, value: &str) -> bool {
        let gone = self.draft.steps.iter().enumerate().filter(|(position, _)| !self.kept.contains(position));
        let mut found = false;
        for (_, step) in gone {
            walk_literals(&step.arguments, &mut |pointer, literal| {
                found |= last_segment(pointer) == escape_token(self.name) && is_value(literal, value);
            });
        }
        found
    }

    /// Sorts the places of a value.
    fn holding(&self, value: &str, titled: bool) -> Holding {
        let mut found = Holding::default();
        for step in self.steps() {
            let put = self.placing(step, value);
            walk_literals(&step.arguments, &mut |pointer, literal| {
                if put.of(literal).is_none() || !titled && step.titled.contains(pointer) {
                    return;
                }
                let place = Place { step: step.id.clone(), pointer: pointer.to_owned() };
                let is_named = last_segment(pointer) == escape_token(self.name);
                let chosen = || self.cx.is_chosen(step.call(self.cx.trace), pointer);
                let list = match (is_named, by_name_only(value) || chosen()) {
                    (true, _) => &mut found.named,
                    (false, true) => &mut found.chance,
                    (false, false) => &mut found.loose,
                };
                if !list.contains(&place) {
                    list.push(place);
                }
            });
        }
        found
    }

    /// The places that still hold a value.
    fn still_holding(&self, places: &[Place], value: &str) -> Vec<Place> {
        let mut found = Vec::new();
        for step in self.steps() {
            let put = self.placing(step, value);
            walk_literals(&step.arguments, &mut |pointer, literal| {
                let is_here = |place: &&Place| place.step == step.id && place.pointer == pointer;
                found.extend(places.iter().filter(is_here).filter(|_| put.of(literal).is_some()).cloned());
            });
        }
        found
    }

    /// Whether a write tells the value as a part of a text.
    fn is_told(&self, place: &Place, value: &str) -> bool {
        let step = self.steps().find(|step| step.id == place.step).filter(|step| step.is_write(self.cx.trace));
        let mut found = false;
        if let Some(step) = step {
            walk_literals(&step.arguments, &mut |pointer, literal| {
                found |= pointer == place.pointer && literal.as_str().is_some_and(|text| text != value);
            });
        }
        found
    }

    /// Asks which of these places are the parameter's; `none` is an answer where it says what that means.
    fn ask(&mut self, value: &str, places: &[Place], none: Option<&str>) -> Result<Vec<Place>, FlowError> {
        let name = self.name;
        let one = |place: &Place| {
            let flag = at_places(name, value, std::slice::from_ref(place));
            Answer::new(spot(place), format!("`{name}` is what stands there"), flag)
        };
        let mut answers: Vec<Answer> = places.iter().map(one).collect();
        let all = format!("`{name}` is what stands in all of them");
        answers.push(Answer::new("all", all, at_places(name, value, places)));
        let id = QuestionId::Param(name.to_owned());
        answers.extend(none.map(|means| Answer::by_id(&id, "none", means.to_owned())));
        let evidence = places.iter().map(|place| Evidence {
            what: format!("{value} stands at {}", spot(place)),
            response: None,
            jq: None,
            value: Value::from(value),
        });
        let taken = self.desk.ask(Question {
            id,
            kind: QuestionKind::Value,
            ask: format!("{value} stands at {}: which of them is `{name}`?", spots(places)),
            places: places.to_vec(),
            evidence: evidence.collect(),
            answers,
            taken: "none".to_owned(),
            writes: true,
            open: true,
        })?;
        Ok(places.iter().filter(|place| taken == "all" || taken == spot(place)).cloned().collect())
    }

    /// Binds the parameter in the programs of the steps that stay and of the result; whether there is one.
    fn in_programs(&mut self, value: &str, only: Option<&Place>) -> bool {
        let binding = Binding { name: self.name, value };
        let mut found = false;
        let mut places: Vec<Option<usize>> = self.kept.iter().copied().map(Some).collect();
        places.push(None);
        for at in places {
            if let (Some(at), None) = (at, only) {
                self.with_the_items(at, value);
            }
            let step = at.map_or("result", |at| &self.draft.steps[at].id).to_owned();
            let mut expression = at.map_or(&self.draft.result, |at| &self.draft.steps[at].arguments).clone();
            change_references(&mut expression, &mut |pointer, reference| {
                if only.is_some_and(|only| only.step != step || only.pointer != format!("{pointer}{{}}")) {
                    return;
                }
                if let Some(bound) = binding.bind(self.cx, self.draft, self.parameters, reference) {
                    *reference = bound;
                    found = true;
                }
            });
            match at {
                Some(at) => self.draft.steps[at].arguments = expression,
                None => self.draft.result = expression,
            }
            if let (Some(at), None) = (at, only) {
                found |= self.beside_arguments(at, &binding);
            }
        }
        found
    }

    /// Binds the parameter in what a step is repeated for and in its condition: in the programs, and as what they are compared with.
    fn beside_arguments(&mut self, at: usize, binding: &Binding<'_>) -> bool {
        let old = self.draft.steps[at].others();
        let mut new: Vec<Expression> = old.into_iter().map(|(_, expression)| expression.clone()).collect();
        let mut found = false;
        for expression in &mut new {
            change_references(expression, &mut |_, reference| {
                if let Some(bound) = binding.bind(self.cx, self.draft, self.parameters, reference) {
                    *reference = bound;
                    found = true;
                }
            });
            if matches!(expression, Expression::Literal(Value::String(text)) if text == binding.value) {
                *expression = Expression::Param(self.name.to_owned());
                found = true;
            }
        }
        self.draft.steps[at].others_mut().into_iter().zip(new).for_each(|(old, new)| *old = new);
        found
    }

    /// Programs that hold the value and stay as they are.
    fn unbound_programs(&mut self, value: &str) {
        let found = self.programs(value, self.kept);
        if !found.is_empty() {
            let text = format!("also in the query of {}: {}", found.join(", "), Value::from(value));
            self.desk.note(None, text, None);
        }
    }

    /// The steps whose queries hold a text.
    fn programs(&self, value: &str, among: &BTreeSet<usize>) -> Vec<String> {
        let holds = |step: &DraftStep| {
            let in_program = |jq: &str| string_literals(jq).iter().any(|literal| literal.text == value);
            step.expressions().into_iter().any(|expression| {
                expression.references().iter().any(|reference| in_program(&reference.jq))
                    || items::programs(expression).iter().any(|program| in_program(program))
            })
        };
        let steps = among.iter().map(|position| &self.draft.steps[*position]);
        steps.filter(|step| holds(step)).map(|step| step.id.clone()).collect()
    }

    /// No argument of a step that stays holds the value: perhaps a variable, perhaps a step that falls out does.
    fn nowhere(&self, value: &str) -> Result<(), FlowError> {
        match self.parameters.example(self.name) {
            // A variable that a person set under this name has made it already.
            Some(example) if is_value(example, value) => return Ok(()),
            _ => {}
        }
        let in_query = self.programs(value, self.kept);
        if !in_query.is_empty() {
            let reason = format!("`{value}` stands only in the query of {}", in_query.join(", "));
            return Err(self.refuse(reason));
        }
        let mut gone = self.draft.steps.iter().enumerate().filter(|(position, _)| !self.kept.contains(position));
        let holder = gone.find(|(_, step)| {
            let (put, mut found) = (self.placing(step, value), false);
            walk_literals(&step.arguments, &mut |_, literal| {
                found |= put.of(literal).is_some();
            });
            found
        });
        let Some((_, step)) = holder else {
            return Err(self.refuse(format!("no argument of a kept call holds `{value}`")));
        };
        Err(self.refuse(format!("`{value}` stands only in {}", self.left_out(step))))
    }

    fn by_argument(&mut self) -> Result<(), FlowError> {
        if self.parameters.example(self.name).is_some() {
            return Ok(());
        }
        let mut found: Vec<(Value, Vec<Place>)> = Vec::new();
        for step in self.steps() {
            place::walk_named(&step.arguments, self.name, &mut |pointer, value| {
                let place = Place { step: step.id.clone(), pointer: pointer.to_owned() };
                match found.iter_mut().find(|(known, _)| known == value) {
                    Some((_, places)) => places.push(place),
                    None => found.push((value.clone(), vec![place])),
                }
            });
        }
        let mut values = found.into_iter();
        match (values.next(), values.next()) {
            // What a call that falls out was asked for may stand in what stays: its day in a time, its words in a text.
            (None, _) => match self.gone_value().filter(|value| self.holding(value, false) != Holding::default()) {
                Some(value) => self.by_value(&value).map(drop),
                None => Err(self.refuse(self.gone_argument())),
            },
            (Some(only), None) => match self.typed_before(&only) {
                Some(other) => Err(self.different(&[other, only])),
                None => {
                    self.put(&only.1);
                    if let Some(text) = only.0.as_str() {
                        self.in_programs_of(&only.1, text);
                    }
                    self.declare(only.0)
                }
            },
            (Some(one), Some(other)) => {
                let all: Vec<_> = [one, other].into_iter().chain(values).collect();
                Err(self.different(&all))
            }
        }
    }

    fn different(&self, all: &[(Value, Vec<Place>)]) -> FlowError {
        let shown: Vec<String> =
            all.iter().map(|(value, places)| format!("`{}` at {}", text_of(value), spots(places))).collect();
        let (shown, name) = (shown.join(", "), self.name);
        self.refuse(format!("its argument has different values: {shown}; say which with `{name}=value`"))
    }

    fn at_spots(&mut self, at: &[Spot], value: Option<&str>) -> Result<(), FlowError> {
        let mut example: Option<Value> = None;
        for Spot { step, pointer } in at {
            let place = Place { step: step.clone(), pointer: pointer.clone() };
            if let Some(value) = value.filter(|_| pointer.ends_with("{}")) {
                if !self.in_programs(value, Some(&place)) {
                    return Err(self.refuse(format!("the query of {} does not hold `{value}`", spot(&place))));
                }
                example.get_or_insert(Value::from(value));
                continue;
            }
            let known = self.steps().find(|one| one.id == *step);
            let literal = known.and_then(|step| Some((step, literal_at(&step.arguments, pointer)?)));
            let Some((known, literal)) = literal else {
                return Err(self.refuse(format!("nothing that was typed stands at {}", spot(&place))));
            };
            let whole = value.is_none_or(|value| is_value(&literal, value));
            let part = value.and_then(|value| self.placing(known, value).of(&literal));
            let (new, found) = match (whole, part, value) {
                (true, _, _) => (Expression::Param(self.name.to_owned()), literal),
                (false, Some(part), Some(value)) => (part, Value::from(value)),
                _ => return Err(self.refuse(format!("{} holds `{}`", spot(&place), text_of(&literal)))),
            };
            if example.as_ref().is_some_and(|example| !is_value(example, &text_of(&found))) {
                return Err(self.refuse(format!("{} holds another value: `{}`", spot(&place), text_of(&found))));
            }
            replace_at(&mut self.step_of(&place).arguments, pointer, &new);
            if let (Expression::Param(_), Some(text)) = (&new, found.as_str()) {
                self.in_programs_of(std::slice::from_ref(&place), text);
            }
            example.get_or_insert(found);
        }
        example.map_or(Ok(()), |example| self.declare(example))
    }

    /// Puts the parameter in these places, whole.
    fn put(&mut self, places: &[Place]) {
        let parameter = Expression::Param(self.name.to_owned());
        for place in places {
            replace_at(&mut self.step_of(place).arguments, &place.pointer, &parameter);
        }
    }

    fn at(&self, place: &Place) -> usize {
        self.draft.steps.iter().position(|step| step.id == place.step).unwrap_or_default()
    }

    fn step_of(&mut self, place: &Place) -> &mut DraftStep {
        let at = self.at(place);
        &mut self.draft.steps[at]
    }

    fn declare(&mut self, example: Value) -> Result<(), FlowError> {
        self.in_texts(&example);
        match self.parameters.example(self.name) {
            Some(known) if !is_value(known, &text_of(&example)) => {
                let known = text_of(known);
                Err(self.refuse(format!("variable `{}` of the workspace has the value `{known}`", self.name)))
            }
            _ => {
                self.parameters.declare(self.name, example);
                Ok(())
            }
        }
    }
}

/// Whether a value means something only under a name.
fn by_name_only(value: &str) -> bool {
    value.parse::<f64>().is_ok() || matches!(value, "true" | "false")
}

/// A place as it is typed: `s2:/estimate/points`.
pub(crate) fn spot(place: &Place) -> String {
    format!("{}:{}", place.step, place.pointer)
}

/// The flag that gives a parameter these places and no others.
fn at_places(name: &str, value: &str, places: &[Place]) -> CommandLine {
    let at: Vec<String> = places.iter().map(spot).collect();
    command("--param").assignment(name, format!("{value}@{}", at.join(",")))
}

fn spots(places: &[Place]) -> String {
    places.iter().map(spot).collect::<Vec<_>>().join(", ")
}
