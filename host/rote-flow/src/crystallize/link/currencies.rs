//! The code of a currency beside a sum of a text: the `EUR` of `Refund 25.00 EUR for order 7`. Of things of a list that share it the word
//! says nothing alone, and a short sum is chance alone; where one thing has both, the text was written off that thing. A sum of all
//! things of a list has the one currency that all of them have.

use std::ops::Range;

use serde_json::{Map, Value};

use super::super::chance::tells;
use super::super::context::names_id;
use super::super::occurrences::Hit;
use super::super::path::{Segment, at, jq_of};
use super::super::words::stands_alone;
use super::{Linker, Read};

/// Letters of the code of a currency (ISO 4217).
const CODE_LETTERS: usize = 3;
/// The program that gives the one value of a list of values, which are not one in each run.
const ONLY: &str = "unique | if length == 1 then .[] else error(\"there is not one currency\") end";

/// A sum of a text and the currency beside it.
pub(super) struct Sum {
    /// Where the code stands.
    pub(super) code: Range<usize>,
    /// Where the things have the currency.
    pub(super) currencies: Vec<Read>,
    /// Where they have the sum; nothing where a list has it in all.
    pub(super) sums: Vec<Read>,
}

impl Linker<'_, '_> {
    /// What has a number of a text and the currency beside it.
    pub(super) fn shared_currencies(&self, text: &str, range: &Range<usize>, number: &str) -> Option<Sum> {
        let code = code_beside(text, range)?;
        let value: Value = serde_json::from_str(number).ok().filter(tells)?;
        let mut hits = self.first_of_steps(self.seen.of_the_api(&value, "", self.step.calls[0]));
        let said = |hit: &Hit| [number, &text[code.clone()]].iter().any(|one| self.seen.is_said_before(one, hit.call));
        hits.retain(|hit| !names_id(hit.field()) && self.currency_of(hit, &text[code.clone()]).is_some() && !said(hit));
        let hits = self.nearest(hits);
        if hits.is_empty() {
            let currencies = self.of_all(&text[code.clone()], value.as_f64()?);
            return Some(Sum { code, currencies, sums: Vec::new() });
        }
        let currencies = hits.iter().filter_map(|hit| self.currency_of(hit, &text[code.clone()])).collect();
        Some(Sum { currencies, sums: hits.into_iter().map(|hit| self.read_of(hit)).collect(), code })
    }

    /// Where the thing that a number is of has a currency: beside it, or in what that is a part of.
    fn currency_of(&self, hit: &Hit, code: &str) -> Option<Read> {
        let body = self.cx.body(self.response(hit))?;
        for end in (0..hit.path.len()).rev() {
            let way = &hit.path[..end];
            if let Some((name, written)) = at(&body, way).and_then(Value::as_object).and_then(|one| coded(one, code)) {
                let path: Vec<Segment> = way.iter().cloned().chain([Segment::Key(name.clone())]).collect();
                return Some(Read { jq: in_capitals(jq_of(&path), written), ..self.read_of(hit) });
            }
            if matches!(way.last(), Some(Segment::Index(_))) {
                return None;
            }
        }
        None
    }

    /// Where the things of a list, of which a member is added up to this sum, all have a currency.
    fn of_all(&self, code: &str, sum: f64) -> Vec<Read> {
        let mut found = Vec::new();
        let earlier =
            self.draft.steps.iter().filter(|read| read.calls[0] < self.step.calls[0] && read.broken.is_none());
        for read in earlier.filter(|read| read.is_one() && read.out.is_none() && !read.is_write(self.cx.trace)) {
            let response = read.call(self.cx.trace).response;
            let Some(body) = self.cx.body(response).filter(|_| !self.seen.is_said_before(code, read.calls[0])) else {
                continue;
            };
            let inner = body.as_object().into_iter().flatten();
            let inner = inner.map(|(name, value)| (jq_of(&[Segment::Key(name.clone())]), value));
            for (list, value) in [(".".to_owned(), &*body)].into_iter().chain(inner) {
                if let Some(member) = value.as_array().and_then(|things| currency_of_all(things, code, sum)) {
                    let jq = format!("[{list}[] | {member}] | {ONLY}");
                    found.push(Read { step: read.id.clone(), response, jq });
                }
            }
        }
        found
    }
}

/// The program that reads the currency of each thing of a list, where all have the same and some member of them adds up to a sum.
fn currency_of_all(things: &[Value], code: &str, sum: f64) -> Option<String> {
    let things: Vec<&Map<String, Value>> = things.iter().map(Value::as_object).collect::<Option<_>>()?;
    let first = things.first().filter(|_| things.len() > 1)?;
    let (name, written) = coded(first, code)?;
    let is_shared = things.iter().all(|thing| thing.get(name).and_then(Value::as_str) == Some(written));
    let adds_up = |member: &&String| {
        let all: Option<Vec<f64>> = things.iter().map(|thing| thing.get(*member)?.as_f64()).collect();
        all.is_some_and(|all| (all.iter().sum::<f64>() - sum).abs() <= sum.abs() * 1e-9)
    };
    let member = first.keys().filter(|member| !names_id(member)).find(adds_up).filter(|_| is_shared);
    member.map(|_| in_capitals(jq_of(&[Segment::Key(name.clone())]), written))
}

/// The member of a thing that is the code of a currency, in whatever letters an API writes it.
fn coded<'t>(thing: &'t Map<String, Value>, code: &str) -> Option<(&'t String, &'t str)> {
    let mut members = thing.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    members.find(|(_, written)| written.eq_ignore_ascii_case(code))
}

fn in_capitals(jq: String, written: &str) -> String {
    if written.chars().all(|c| c.is_ascii_uppercase()) { jq } else { format!("{jq} | ascii_upcase") }
}

/// The code of a currency right behind a number of a text, else right before it.
fn code_beside(text: &str, number: &Range<usize>) -> Option<Range<usize>> {
    let is_code = |range: &Range<usize>| {
        let code = &text[range.clone()];
        code.len() == CODE_LETTERS && code.bytes().all(|byte| byte.is_ascii_uppercase()) && stands_alone(text, range)
    };
    let is_space = |c: char| matches!(c, ' ' | '\u{a0}' | '\u{202f}');
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let rest = text[number.end..].strip_prefix(is_space);
    let behind = rest.map(|rest| {
        let start = text.len() - rest.len();
        start..start + rest.find(|c| !part(c)).unwrap_or(rest.len())
    });
    let before = text[..number.start].strip_suffix(is_space).map(|rest| {
        let start = rest.char_indices().rev().take_while(|(_, c)| part(*c)).last().map_or(rest.len(), |(at, _)| at);
        start..rest.len()
    });
    [behind, before].into_iter().flatten().find(is_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crystallize::link::numbers;

    #[test]
    fn a_code_stands_right_beside_its_number() {
        for (text, wanted) in [
            ("Refund 25.00 EUR for order 7", Some("EUR")),
            ("Refund EUR 25.00.", Some("EUR")),
            ("CHF 25.00 EUR", Some("EUR")),
            ("25.00\u{a0}USD", Some("USD")),
            ("25.00  EUR", None),
            ("25.00 EUROS", None),
            ("25.00 eur", None),
            ("25.00 EUR-7", None),
            ("25.00, EUR", None),
        ] {
            let (number, _) = numbers(text).find(|(range, _)| &text[range.clone()] == "25.00").unwrap();
            assert_eq!(code_beside(text, &number).map(|code| &text[code]), wanted, "{text}");
        }
    }
}
