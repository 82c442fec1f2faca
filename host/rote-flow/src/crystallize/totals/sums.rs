//! Totals that no query printed: the number of a write that is the sum, or the mean, of one member of the things of a list that was read
//! before it, of some of them, or of the products of two members; and, beside one in a text, how many things there are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::crystallize::chance::tells_of_several;
use crate::crystallize::context::{Context, names_id};
use crate::crystallize::draft::{Draft, DraftStep};
use crate::crystallize::path::{Segment, jq_of};

use super::formula::counts_things;

/// Most members of the things of a list that are added up, and by which they are told apart.
const MAX_MEMBERS: usize = 12;
/// Most values of a member by which things are told apart: of more, it says who and not of what kind they are.
const MAX_KINDS: usize = 8;
/// Most characters of such a value.
const MAX_KIND_CHARS: usize = 40;
/// Most sums of one answer.
const MAX_SUMS: usize = 2_000;
/// Most members, in all, of an answer that is looked at.
const MAX_GROUPS: usize = 500;
/// Fewest letters and digits of a sum of some things of a list: there are many such sums.
const FEWEST_OF_SOME: usize = 4;

/// What is added up of a list.
#[derive(Debug, Clone)]
pub(super) struct Sum {
    /// Position of the call that answered with the list.
    pub(super) call: usize,
    pub(super) step: String,
    /// The way to the things, and the program that gives the numbers one by one.
    way: String,
    each: String,
    number: f64,
    /// How many numbers are added up, and how many things there are.
    added: usize,
    things: usize,
    /// Only some things of the list.
    is_of_some: bool,
    is_whole: bool,
}

/// A program that gives a number of a write, and whether that is not a whole one by nature.
pub(super) struct Way {
    pub(super) jq: String,
    pub(super) is_whole: bool,
}

/// The sums of the lists that the answers of the steps have.
pub(super) fn sums(cx: &Context<'_>, draft: &Draft) -> Vec<Sum> {
    let mut found = Vec::new();
    let kept = |step: &&DraftStep| step.out.is_none() && step.broken.is_none() && step.is_one();
    for step in draft.steps.iter().filter(kept) {
        let Some(body) = cx.body(step.call(cx.trace).response) else { continue };
        let mut gathering = Gathering { call: step.calls[0], step: &step.id, groups: 0, found: Vec::new() };
        gathering.group(".", &[&body], 1, false);
        found.append(&mut gathering.found);
    }
    // The plainest is offered first: of all things, and of the list that was read last.
    found.sort_by_key(|sum| (sum.is_of_some, std::cmp::Reverse(sum.call)));
    found
}

impl Sum {
    /// The program that gives a number that a write has with so many digits behind the point.
    pub(super) fn gives(&self, number: f64, decimals: usize) -> Option<Way> {
        let near = |one: f64| (one - number).abs() <= number.abs() * 1e-9;
        let power = 10_f64.powi(i32::try_from(decimals).ok()?);
        // `1741` is not told to be 1741.25.
        let fits = |one: f64| near(one) || decimals > 1 && near((one * power).round() / power);
        let enough = !self.is_of_some || length(number) >= FEWEST_OF_SOME;
        if number == 0.0 || !tells_of_several(&Value::from(number)) || !enough {
            return None;
        }
        if fits(self.number) {
            return Some(Way { jq: format!("[{}] | add // 0", self.each), is_whole: self.is_whole });
        }
        let mean = self.number / count(self.added);
        let is_mean = !self.is_of_some && fits(mean);
        is_mean.then(|| Way { jq: format!("[{}] | add / length", self.each), is_whole: false })
    }

    /// Whether another one is of the same things.
    pub(super) fn is_of_the_list(&self, other: &Self) -> bool {
        (self.call, &self.way) == (other.call, &other.way)
    }

    /// What the list is called: its last member.
    pub(super) fn list(&self) -> &str {
        let name = if self.is_of_some { None } else { self.way.trim_end_matches(['[', ']', '?']).rsplit('.').next() };
        name.unwrap_or_default()
    }

    /// The program that counts the things, where there are just so many.
    pub(super) fn counts(&self, number: f64) -> Option<String> {
        (count(self.things) == number).then(|| format!("[{}] | length", self.way))
    }
}

fn length(number: f64) -> usize {
    number.to_string().chars().filter(|c| *c != '-').count()
}

// An answer has fewer things than a number has digits.
#[expect(clippy::cast_precision_loss, reason = "the count of the things of a recorded answer")]
fn count(things: usize) -> f64 {
    things as f64
}

/// What an answer has, gathered by the way to it.
struct Gathering<'a> {
    call: usize,
    step: &'a str,
    groups: usize,
    found: Vec<Sum>,
}

impl Gathering<'_> {
    /// Looks at the values that stand at one way; `of` so many things may have one.
    fn group(&mut self, way: &str, values: &[&Value], of: usize, listed: bool) {
        self.groups += 1;
        if self.groups > MAX_GROUPS || values.is_empty() {
            return;
        }
        let lists: Vec<&Vec<Value>> = values.iter().filter_map(|value| value.as_array()).collect();
        if !lists.is_empty() {
            let items: Vec<&Value> = lists.iter().flat_map(|list| list.iter()).collect();
            // Where one of them lacks the list, that is not an error of the run.
            let all = if lists.len() == of { "[]" } else { "[]?" };
            self.group(&format!("{way}{all}"), &items, items.len(), true);
        }
        let things: Vec<&Map<String, Value>> = values.iter().filter_map(|value| value.as_object()).collect();
        if things.is_empty() {
            return;
        }
        if listed && things.len() > 1 && things.len() == of {
            self.columns(way, &things);
        }
        let names: BTreeSet<&String> = things.iter().flat_map(|thing| thing.keys()).collect();
        for name in names {
            let inner: Vec<&Value> = things.iter().filter_map(|thing| thing.get(name)).collect();
            if inner.iter().any(|value| value.is_object() || value.is_array()) {
                self.group(&joined(way, name), &inner, of, listed);
            }
        }
    }

    /// Adds up the members of the things of a list: of all things, and of those of each kind.
    fn columns(&mut self, way: &str, things: &[&Map<String, Value>]) {
        self.sums(way, things, false);
        let names = things[0].keys().filter(|name| !names_id(name));
        let kinds: Vec<_> = names.filter_map(|name| Some((name, kinds(things, name)?))).take(MAX_MEMBERS).collect();
        for (name, kinds) in kinds {
            for (kind, some) in kinds.into_iter().filter(|(_, some)| some.len() > 1) {
                let member = jq_of(&[Segment::Key(name.clone())]);
                self.sums(&format!("{way} | select({member} == {kind})"), &some, true);
            }
        }
    }

    fn sums(&mut self, way: &str, things: &[&Map<String, Value>], is_of_some: bool) {
        let mut columns: Vec<(&String, String, Vec<f64>)> = Vec::new();
        let names: BTreeSet<&String> = things.iter().flat_map(|thing| thing.keys()).collect();
        for name in names.into_iter().filter(|name| !names_id(name)) {
            let values: Vec<&Value> =
                things.iter().filter_map(|thing| thing.get(name)).filter(|v| !v.is_null()).collect();
            let (numbers, is_text) = match values.first() {
                Some(Value::Number(_)) => {
                    (values.iter().map(|value| value.as_f64()).collect::<Option<Vec<f64>>>(), false)
                }
                Some(Value::String(_)) => (values.iter().map(|value| amount(value)).collect(), true),
                _ => continue,
            };
            // Amounts in texts are read, which one that is not there cannot be.
            let Some(numbers) = numbers.filter(|all| all.len() > 1 && (!is_text || all.len() == things.len())) else {
                continue;
            };
            let member = if is_text { format!("{} | tonumber", joined(way, name)) } else { joined(way, name) };
            columns.push((name, member, numbers));
        }
        columns.truncate(MAX_MEMBERS);
        let list = (way, things.len(), is_of_some);
        for (at, (name, each, numbers)) in columns.iter().enumerate() {
            self.add(list, each.clone(), numbers);
            for (other, _, further) in &columns[at + 1..] {
                // Of numbers that count nothing the products say nothing.
                let all = numbers.len() == things.len() && further.len() == things.len();
                if all && (counts_things(name) || counts_things(other)) {
                    let [one, other] = [name, other].map(|name| read(things[0], name));
                    let products: Vec<f64> = numbers.iter().zip(further).map(|(one, other)| one * other).collect();
                    self.add(list, format!("{way} | {one} * {other}"), &products);
                }
            }
        }
    }

    fn add(&mut self, (way, things, is_of_some): (&str, usize, bool), each: String, numbers: &[f64]) {
        if self.found.len() < MAX_SUMS {
            let is_whole = numbers.iter().all(|number| number.fract() == 0.0);
            let (number, added) = (numbers.iter().sum(), numbers.len());
            let (call, step) = (self.call, self.step.to_owned());
            self.found.push(Sum { call, step, way: way.to_owned(), each, number, added, things, is_of_some, is_whole });
        }
    }
}

/// A member of what stands at a way.
fn joined(way: &str, name: &str) -> String {
    let member = jq_of(&[Segment::Key(name.to_owned())]);
    if way == "." {
        member
    } else if way.contains(" | ") || member.starts_with(".[") {
        format!("{way} | {member}")
    } else {
        format!("{way}{member}")
    }
}

/// A member as a number.
fn read(thing: &Map<String, Value>, name: &str) -> String {
    let member = jq_of(&[Segment::Key(name.to_owned())]);
    if thing.get(name).is_some_and(Value::is_string) { format!("({member} | tonumber)") } else { member }
}

/// An amount in a text of an answer: `12.50`.
fn amount(value: &Value) -> Option<f64> {
    let text = value.as_str().filter(|text| text.contains('.') && text.len() < MAX_KIND_CHARS)?;
    text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The things of a list by what they have under one name, where that is of a few words or yes and no.
fn kinds<'t>(things: &[&'t Map<String, Value>], name: &str) -> Option<BTreeMap<String, Vec<&'t Map<String, Value>>>> {
    let mut found: BTreeMap<String, Vec<&Map<String, Value>>> = BTreeMap::new();
    for thing in things {
        let value = thing.get(name)?;
        let is_kind = value.is_boolean() || value.as_str().is_some_and(|text| text.len() <= MAX_KIND_CHARS);
        found.entry(is_kind.then(|| value.to_string())?).or_default().push(thing);
        if found.len() > MAX_KINDS {
            return None;
        }
    }
    (found.len() > 1).then_some(found)
}
