//! Numbers that two fields of a thing give: what is missing of a stock, `.par - .stock`; and such that are a part of one: `.total / 2`.

use serde_json::{Map, Value};

use super::chance::rounded;
use super::context::names_id;
use super::path::{Segment, jq_of};

/// Most fields of a thing that are tried in pairs.
const MAX_FIELDS: usize = 12;
/// What people take of a number in the head: twice, a half, a third, a quarter, a tenth.
const PARTS: [(char, f64); 5] = [('*', 2.0), ('/', 2.0), ('/', 3.0), ('/', 4.0), ('/', 10.0)];
/// Parts of one to which an amount is rounded.
const HUNDREDTHS: u32 = 100;

/// The program that gives of each of these things the number that was sent: the difference, the sum or the product of two fields.
pub(crate) fn of_two(things: &[&Map<String, Value>], sent: &[f64]) -> Option<String> {
    let numbers = |name: &String| things.iter().map(|thing| thing.get(name)?.as_f64()).collect::<Option<Vec<f64>>>();
    let names = things.first()?.keys().filter(|name| !names_id(name));
    // What is zero gives nothing but the other one, and what is one times another is that.
    let fields: Vec<(&String, Vec<f64>)> = names
        .filter_map(|name| Some((name, numbers(name).filter(|all| !all.contains(&0.0))?)))
        .take(MAX_FIELDS)
        .collect();
    let gives = |one: &[f64], other: &[f64], reckon: fn(f64, f64) -> f64| {
        one.iter().zip(other).zip(sent).all(|((one, other), sent)| near(reckon(*one, *other), *sent))
    };
    let told =
        |sign: char, one: &String, other: &String| exact(format!("{} {sign} {}", field(one), field(other)), sent);
    let pairs =
        || fields.iter().enumerate().flat_map(|(at, one)| fields[at + 1..].iter().map(move |other| (one, other)));
    let differences = pairs()
        .flat_map(|(one, other)| [(one, other), (other, one)])
        .find_map(|(one, other)| gives(&one.1, &other.1, |one, other| one - other).then(|| told('-', one.0, other.0)));
    let others = || {
        pairs().find_map(|(one, other)| {
            let is_factor = |all: &[f64]| !all.contains(&1.0);
            if gives(&one.1, &other.1, |one, other| one + other) {
                return Some(told('+', one.0, other.0));
            }
            let product = is_factor(&one.1) && is_factor(&other.1) && gives(&one.1, &other.1, |one, other| one * other);
            product.then(|| told('*', one.0, other.0))
        })
    };
    differences.or_else(others)
}

/// The program that gives the number that was sent of the only field of a thing of which it is twice, or a half, a third, a quarter or
/// a tenth. Of several fields nothing tells which is meant.
pub(crate) fn of_one(thing: &Map<String, Value>, sent: f64) -> Option<String> {
    let numbers = thing.iter().filter(|(name, _)| !names_id(name));
    // Of what is one or less, most is a part.
    let numbers = numbers.filter_map(|(name, value)| Some((name, value.as_f64().filter(|number| number.abs() > 1.0)?)));
    let mut programs = numbers.take(MAX_FIELDS).flat_map(|(name, number)| {
        PARTS.iter().filter_map(move |(sign, by)| {
            let found = if *sign == '*' { number * by } else { number / by };
            let plain = format!("{} {sign} {by}", field(name));
            if near(found, sent) {
                return Some(exact(plain, &[sent]));
            }
            let is_rounded = rounded(found, sent) == Some(HUNDREDTHS);
            is_rounded.then(|| format!("({plain}) * {HUNDREDTHS} | round / {HUNDREDTHS}"))
        })
    });
    let first = programs.next()?;
    programs.next().is_none().then_some(first)
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= other.abs() * 1e-9
}

fn field(name: &str) -> String {
    jq_of(&[Segment::Key(name.to_owned())])
}

/// A program that gives what was sent, without what a binary fraction has too much behind the point.
fn exact(plain: String, sent: &[f64]) -> String {
    let is_whole = sent.iter().all(|one| one.fract() == 0.0);
    if is_whole { plain } else { format!("({plain}) * 1e8 | round / 1e8") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_a_part_of_the_one_field_that_gives_it() {
        let thing = json!({"id": 500, "price": 100, "fee": 11.25, "least": 1, "stock": 640, "more": 320, "sku": "A-1"});
        for (sent, wanted) in [
            (200.0, Some(".price * 2")),
            (22.5, Some("(.fee * 2) * 1e8 | round / 1e8")),
            (50.0, Some(".price / 2")),
            (33.33, Some("(.price / 3) * 100 | round / 100")),
            (5.63, Some("(.fee / 2) * 100 | round / 100")),
            (25.0, Some(".price / 4")),
            (10.0, Some(".price / 10")),
            // Twice one field and the half of another one, and what is an id or too small.
            (1280.0, Some(".stock * 2")),
            (160.0, None),
            (1000.0, None),
            (0.5, None),
            (33.34, None),
            (33.0, None),
        ] {
            assert_eq!(of_one(thing.as_object().unwrap(), sent).as_deref(), wanted, "{sent}");
        }
    }
}
