//! What a program can call: jq's builtins less those that reach outside, and a few that rote adds.

use std::collections::BTreeSet;

use jaq_core::Error;
use jaq_core::load::{self, parse::Def};
use jaq_core::native::{Fun, bome, run, v};
use jaq_json::Val;
use jaq_std::ValT as _;

use crate::{direct, index, numbers, paths};

type Data = crate::direct::Query;

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

/// Builtins whose jq form accepts more than jaq's, or fails in other words: ours wraps the original, which has another
/// name as well.
const WRAPPED: &[(&str, &str)] = &[
    ("ltrimstr", "_ltrimstr"),
    ("rtrimstr", "_rtrimstr"),
    ("limit", "_limit"),
    ("skip", "_skip"),
    ("bsearch", "_bsearch"),
    ("utf8bytelength", "_utf8bytelength"),
    ("trim", "_trim"),
    ("ltrim", "_ltrim"),
    ("rtrim", "_rtrim"),
    ("fromjson", "_fromjson"),
    ("strftime", "_strftime"),
    ("mktime", "_mktime"),
];

/// Builtins that are ours alone.
const REPLACED: &[&str] = &["tojson", "implode", "has"];

/// Definitions of jaq's that ours of the same name replace.
const REDEFINED: &[&str] = &["tonumber", "getpath", "setpath", "delpaths"];

/// Returns the definitions written in jq.
pub(crate) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let ours = load::parse(include_str!("definitions.jq"), |p| p.defs()).expect("the definitions parse, by test");
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    theirs.filter(|def| !OUTSIDE.contains(&def.name) && !REDEFINED.contains(&def.name)).chain(ours)
}

/// Returns the native functions.
pub(crate) fn functions() -> impl Iterator<Item = Fun<Data>> {
    let kept = theirs().filter(|(name, ..)| !REPLACED.contains(name));
    let wrapped = theirs().filter_map(|(name, arguments, function)| {
        WRAPPED.iter().find(|(from, _)| *from == name).map(|(_, to)| (*to, arguments, function))
    });
    let natives = direct::functions().chain(index::functions()).chain(paths::functions()).chain(numbers::functions());
    ours().chain(natives).chain(kept).chain(wrapped)
}

fn theirs() -> impl Iterator<Item = Fun<Data>> {
    let all = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    all.filter(|(name, ..)| !OUTSIDE.contains(name))
}

fn ours() -> impl Iterator<Item = Fun<Data>> {
    [
        run::<Data>(("upper", v(0), |cv| bome(map_text(&cv.1, |text| text.to_uppercase())))),
        run::<Data>(("lower", v(0), |cv| bome(map_text(&cv.1, |text| text.to_lowercase())))),
        run::<Data>(("tojson", v(0), |cv| {
            let text = crate::write::json(&cv.1, usize::MAX);
            bome(text.map(Val::from).map_err(|_stop| Error::str("the value has no JSON form")))
        })),
        run::<Data>(("builtins", v(0), |_cv| bome(Ok(names().map(Val::from).collect())))),
    ]
    .into_iter()
}

/// The names that a program can call, each with how many arguments it takes.
fn names() -> impl Iterator<Item = String> {
    let defined = definitions().map(|def| (def.name, def.args.len()));
    let native = functions().map(|(name, arguments, _)| (name, arguments.len()));
    let all: BTreeSet<_> = defined.chain(native).filter(|(name, _)| !name.starts_with(['_', '@'])).collect();
    all.into_iter().map(|(name, count)| format!("{name}/{count}"))
}

fn map_text(value: &Val, change: impl FnOnce(&str) -> String) -> Result<Val, jaq_json::Error> {
    let bytes = value.as_utf8_bytes().ok_or_else(|| Error::typ(value.clone(), "string"))?;
    Ok(Val::from(change(&String::from_utf8_lossy(bytes))))
}
