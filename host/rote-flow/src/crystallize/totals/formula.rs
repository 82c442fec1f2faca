//! The ways in which a number of a write may have been reckoned from the numbers beside it and from what queries printed.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::Expression;
use serde_json::Value;

use crate::crystallize::chance::{rounded, tells, tells_of_several, times};
use crate::crystallize::context::names_id;

/// Most numbers beside a total that are tried in pairs.
const MAX_BESIDE: usize = 16;
/// Most numbers beside a total that are tried in threes: of more, some three add up by chance.
const MAX_IN_THREES: usize = 6;
/// Most formulas that are offered for one number.
const MAX_FORMULAS: usize = 3;
/// Parts of names of a number that was counted: its price times 1 was meant as that.
const COUNTS: [&str; 13] =
    ["count", "quantity", "qty", "unit", "number", "night", "day", "hour", "month", "seat", "guest", "person", "piece"];
/// Parts of names of a number that is left when another one is taken away.
const LEFT: [&str; 10] = ["net", "balance", "remain", "rest", "left", "due", "total", "amount", "refund", "payable"];

/// A number that a write sent, or that a query printed before it.
#[derive(Clone)]
pub(super) struct Amount {
    /// Its list and position, where it is a member of the thing of a list; else the object; of what a thing has, that thing.
    pub(super) around: String,
    pub(super) name: String,
    /// As a question calls it.
    pub(super) label: String,
    /// Where it was sent; none where a query printed it.
    pub(super) pointer: Option<String>,
    pub(super) number: f64,
    /// Where it comes from; none when it is the same in each run.
    pub(super) from: Option<Expression>,
    /// A call behind what printed it sends it as it is: it was looked at for that.
    pub(super) is_sent: bool,
    /// It is a number of a thing that the write is for, or takes something of.
    pub(super) is_of_thing: bool,
    /// The texts of the write say it.
    pub(super) is_said: bool,
    /// What it is reckoned from, by position: that is not reckoned from it.
    pub(super) of: BTreeSet<usize>,
}

impl Amount {
    /// One that is the same in each run and was sent as it is.
    pub(super) fn plain(name: &str, label: String, number: f64) -> Self {
        Self {
            around: String::new(),
            name: name.to_owned(),
            label,
            pointer: None,
            number,
            from: None,
            is_sent: true,
            is_of_thing: false,
            is_said: false,
            of: BTreeSet::new(),
        }
    }
}

/// A product that is added or taken away.
#[derive(Clone, PartialEq)]
pub(super) struct Term {
    pub(super) minus: bool,
    /// How many times it is taken.
    pub(super) times: u8,
    /// Positions among the numbers.
    pub(super) factors: Vec<usize>,
}

/// How a number is reckoned: a sum of products.
pub(super) type Formula = Vec<Term>;

fn plus(factors: Vec<usize>) -> Term {
    Term { minus: false, times: 1, factors }
}

fn is_named(amount: &Amount, words: &[&str]) -> bool {
    has_one_of(&amount.name, words)
}

fn has_one_of(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// Whether a member of this name says how many there are of what has a price.
pub(super) fn counts_things(name: &str) -> bool {
    has_one_of(name, &COUNTS)
}

/// The first formulas that give a number and of which a part is not the same in each run.
pub(super) fn formulas(amounts: &[Amount], total: usize) -> Vec<Formula> {
    let others: Vec<usize> =
        (0..amounts.len()).filter(|at| *at != total && !amounts[*at].of.contains(&total)).collect();
    let near = |formula: &Formula| {
        let product = |term: &Term| {
            let product: f64 = term.factors.iter().map(|at| amounts[*at].number).product();
            let product = product * f64::from(term.times);
            if term.minus { -product } else { product }
        };
        let (value, number): (f64, f64) = (formula.iter().map(product).sum(), amounts[total].number);
        let is_product = formula.iter().any(|term| term.factors.len() > 1);
        (value - number).abs() <= number.abs() * 1e-9 || is_product && rounded(value, number).is_some()
    };
    let changes =
        |formula: &Formula| formula.iter().flat_map(|term| &term.factors).any(|at| amounts[*at].from.is_some());
    // What is short is equal to most of what can be reckoned.
    let mut all = Vec::new();
    if tells(&Value::from(amounts[total].number)) {
        all.extend(listed(amounts, &others));
        all.extend(beside(amounts, total, &others));
    }
    let fits = |formula: &Formula| !formula.is_empty() && near(formula) && changes(formula);
    all.retain(fits);
    if all.is_empty() {
        all.extend(multiples(amounts, total, &others).into_iter().filter(fits));
    }
    all.truncate(MAX_FORMULAS);
    all
}

/// What was printed and is sent nowhere, some times.
fn multiples(amounts: &[Amount], total: usize, others: &[usize]) -> Vec<Formula> {
    let Amount { name, number, .. } = &amounts[total];
    let alone = others.iter().filter(|at| amounts[**at].pointer.is_none() && !amounts[**at].is_sent && !names_id(name));
    let taken =
        |at: &usize| Some(vec![Term { minus: false, times: times(amounts[*at].number, *number)?, factors: vec![*at] }]);
    alone.filter_map(taken).collect()
}

/// Numbers beside a number and such that were printed: two of them multiplied, added or taken away, three added.
fn beside(amounts: &[Amount], total: usize, others: &[usize]) -> Vec<Formula> {
    let of_write = |at: &usize| amounts[*at].pointer.is_some();
    let near = others.iter().copied().filter(|at| of_write(at) && amounts[*at].around == amounts[total].around);
    let printed = others.iter().copied().filter(|at| !of_write(at));
    let beside: Vec<usize> = near.take(MAX_BESIDE).chain(printed).filter(|at| amounts[*at].number != 0.0).collect();
    // What is 1 reckons nothing, unless it counts what is paid for.
    let is_factor = |at: &usize| amounts[*at].number != 1.0 || is_named(&amounts[*at], &COUNTS);
    let (mut products, mut sums, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let is_long = tells_of_several(&Value::from(amounts[total].number));
    let is_few = beside.iter().filter(|at| !amounts[**at].is_of_thing).count() <= MAX_IN_THREES;
    for (position, one) in beside.iter().enumerate() {
        for other in &beside[position + 1..] {
            let is_of_thing = amounts[*one].is_of_thing || amounts[*other].is_of_thing;
            // What things have gives most short numbers by chance; two fields of one thing are asked about by themselves (`fields`).
            let is_of_one = is_of_thing && amounts[*one].around == amounts[*other].around;
            let is_said = amounts[*one].is_said || amounts[*other].is_said;
            if is_of_one || is_of_thing && !is_long && !is_said {
                continue;
            }
            if is_factor(one) && is_factor(other) {
                products.push(vec![plus(vec![*one, *other])]);
            }
            sums.push(vec![plus(vec![*one]), plus(vec![*other])]);
            let is_left = is_of_thing || is_named(&amounts[total], &LEFT);
            for (more, less) in [(one, other), (other, one)].into_iter().filter(|_| is_left) {
                rest.push(vec![plus(vec![*more]), Term { minus: true, times: 1, factors: vec![*less] }]);
            }
            let is_third = |third: &&usize| *third > other && !amounts[**third].is_of_thing;
            for third in beside[position + 1..].iter().filter(|third| is_few && !is_of_thing && is_third(third)) {
                rest.push(vec![plus(vec![*one]), plus(vec![*other]), plus(vec![*third])]);
            }
        }
    }
    products.into_iter().chain(sums).chain(rest).collect()
}

/// The numbers of one name in the things of a list, added up; two of each thing, multiplied and added up.
fn listed(amounts: &[Amount], others: &[usize]) -> Vec<Formula> {
    // By the list and the name of the number: the position of the thing, and the number.
    let mut columns: BTreeMap<(&str, &str), BTreeMap<&str, usize>> = BTreeMap::new();
    for at in others {
        let Some((list, position)) = amounts[*at].around.rsplit_once('/') else { continue };
        if position.bytes().all(|byte| byte.is_ascii_digit()) && !position.is_empty() {
            columns.entry((list, &amounts[*at].name)).or_default().insert(position, *at);
        }
    }
    let mut found = Vec::new();
    for ((list, name), column) in &columns {
        found.push(column.values().map(|at| plus(vec![*at])).collect());
        let further = columns.range((*list, *name)..).skip(1).take_while(|((other, _), _)| other == list);
        for (_, other) in further.filter(|(_, other)| other.keys().eq(column.keys())) {
            found.push(column.iter().map(|(thing, at)| plus(vec![*at, other[thing]])).collect());
        }
    }
    found
}

/// A formula in words.
pub(super) fn said(amounts: &[Amount], formula: &Formula) -> String {
    let term = |term: &Term| {
        let times = (term.times > 1).then(|| term.times.to_string());
        let labels = term.factors.iter().map(|at| amounts[*at].label.clone());
        times.into_iter().chain(labels).collect::<Vec<_>>().join(" times ")
    };
    match formula.as_slice() {
        [first, _, ..] if formula.iter().all(|other| term(other) == term(first)) => {
            format!("the sum of {} of each", term(first))
        }
        terms => {
            let mut text = String::new();
            for one in terms {
                let sign = if one.minus { " minus " } else { " plus " };
                text.push_str(if text.is_empty() { "" } else { sign });
                text.push_str(&term(one));
            }
            text
        }
    }
}
