//! What a program can call: jq's builtins less those that reach outside, and a few that rote adds.

use jaq_core::Error;
use jaq_core::data::JustLut;
use jaq_core::load::{self, parse::Def};
use jaq_core::native::{Fun, bome, run, v};
use jaq_json::Val;
use jaq_std::ValT as _;

type Data = JustLut<Val>;

/// Builtins that read the environment, the clock or the system's time zone, write to a log, or end the host.
const OUTSIDE: &[&str] = &[
    "env",
    "now",
    "localtime",
    "strflocaltime",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "halt",
    "halt_error",
    "input",
    "inputs",
];

/// Builtins whose jq form accepts more than jaq's: ours wraps the original, which gets another name.
const WRAPPED: &[(&str, &str)] =
    &[("ltrimstr", "_ltrimstr"), ("rtrimstr", "_rtrimstr"), ("implode", "_implode"), ("tojson", "_tojson")];

/// Returns the definitions written in jq.
pub(crate) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let ours = load::parse(include_str!("definitions.jq"), |p| p.defs()).expect("the definitions parse, by test");
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    theirs.filter(|def| !OUTSIDE.contains(&def.name)).chain(ours)
}

/// Returns the native functions.
pub(crate) fn functions() -> impl Iterator<Item = Fun<Data>> {
    let theirs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let theirs = theirs.filter(|(name, ..)| !OUTSIDE.contains(name)).map(|(name, arguments, function)| {
        let wrapped = WRAPPED.iter().find(|(from, _)| *from == name);
        (wrapped.map_or(name, |(_, to)| *to), arguments, function)
    });
    theirs.chain(ours())
}

fn ours() -> impl Iterator<Item = Fun<Data>> {
    [
        run::<Data>(("upper", v(0), |cv| bome(map_text(&cv.1, |text| text.to_uppercase())))),
        run::<Data>(("lower", v(0), |cv| bome(map_text(&cv.1, |text| text.to_lowercase())))),
        run::<Data>(("tojson", v(0), |cv| {
            let text = crate::write::json(&cv.1, usize::MAX);
            bome(text.map(Val::from).map_err(|_stop| Error::str("the value has no JSON form")))
        })),
    ]
    .into_iter()
}

fn map_text(value: &Val, change: impl FnOnce(&str) -> String) -> Result<Val, jaq_json::Error> {
    let bytes = value.as_utf8_bytes().ok_or_else(|| Error::typ(value.clone(), "string"))?;
    Ok(Val::from(change(&String::from_utf8_lossy(bytes))))
}
