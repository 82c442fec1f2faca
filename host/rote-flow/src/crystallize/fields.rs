//! Numbers that two fields of a thing give: what is missing of a stock, `.par - .stock`.

use serde_json::{Map, Value};

use super::context::names_id;
use super::path::{Segment, jq_of};

/// Most fields of a thing that are tried in pairs.
const MAX_FIELDS: usize = 12;

/// The program that gives of each of these things the number that was sent: the difference, the sum or the product of two fields.
pub(crate) fn of_two(things: &[&Map<String, Value>], sent: &[f64]) -> Option<String> {
    let numbers = |name: &String| things.iter().map(|thing| thing.get(name)?.as_f64()).collect::<Option<Vec<f64>>>();
    let names = things.first()?.keys().filter(|name| !names_id(name));
    // What is zero gives nothing but the other one, and what is one times another is that.
    let fields: Vec<(&String, Vec<f64>)> = names
        .filter_map(|name| Some((name, numbers(name).filter(|all| !all.contains(&0.0))?)))
        .take(MAX_FIELDS)
        .collect();
    let near = |one: f64, other: f64| (one - other).abs() <= other.abs() * 1e-9;
    let gives = |one: &[f64], other: &[f64], reckon: fn(f64, f64) -> f64| {
        one.iter().zip(other).zip(sent).all(|((one, other), sent)| near(reckon(*one, *other), *sent))
    };
    let told = |sign: char, one: &String, other: &String| {
        let field = |name: &String| jq_of(&[Segment::Key(name.clone())]);
        let plain = format!("{} {sign} {}", field(one), field(other));
        let is_whole = sent.iter().all(|one| one.fract() == 0.0);
        if is_whole { plain } else { format!("({plain}) * 1e8 | round / 1e8") }
    };
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
