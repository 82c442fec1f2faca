//! jq for tests: jaq, less what reaches outside, with definitions (`definitions.jq`) of what a flow is most likely to call.
//!
//! The host's engine (`flows/_query`) has more: assignments that make what is not there, `?//`, fractions as places, products
//! and quotients in jq's cases, and jq's words for errors. The test `some_programs_fail_here_that_the_host_runs` lists
//! them; where that matters, test the flow in rote.

use std::fmt::Write as _;

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader, parse};
use jaq_core::native::{Fun, bome, run as native, v};
use jaq_core::{Compiler, Ctx, Vars, unwrap_valr};
use jaq_json::{Num, Val, read};
use jaq_std::ValT as _;

use super::state::invalid;
use crate::{Error, Result};

type Data = JustLut<Val>;

/// What jq has and jaq lacks, or has in another way. Not those of the query guest, which call functions that are not here.
const DEFINITIONS: &str = include_str!("definitions.jq");

/// Builtins that the host does not have: environment, clock, time zone, logs, exit.
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

/// Builtins that a definition wraps, and their other names there.
const WRAPPED: &[(&str, &str)] =
    &[("ltrimstr", "_ltrimstr"), ("rtrimstr", "_rtrimstr"), ("implode", "_implode"), ("tojson", "_tojson")];

/// Runs `program` on one JSON text; returns each output as a JSON text.
pub(super) fn run(program: &str, input: &str) -> Result<Vec<String>> {
    let arena = Arena::default();
    let syntax = |message: String| invalid("", &format!("jq program `{program}` does not parse: {message}"));
    let modules = Loader::new(definitions())
        .load(&arena, File { code: program, path: () })
        .map_err(|errors| syntax(format!("{errors:?}")))?;
    let filter = Compiler::default()
        .with_funs(functions())
        .compile(modules)
        .map_err(|errors| syntax(format!("unknown {errors:?}")))?;
    let input = read::parse_single(input.as_bytes()).map_err(|error| invalid("", &format!("not JSON: {error}")))?;
    let context = Ctx::<Data>::new(&filter.lut, Vars::new([]));
    filter
        .id
        .run((context, input))
        .map(unwrap_valr)
        .map(|output| {
            let output = output.map_err(|error| invalid("", &format!("jq program `{program}` failed: {error}")))?;
            let mut text = String::new();
            write_value(&mut text, &output)?;
            Ok(text)
        })
        .collect()
}

fn definitions() -> impl Iterator<Item = parse::Def<&'static str>> {
    let ours = jaq_core::load::parse(DEFINITIONS, |parser| parser.defs()).unwrap_or_default();
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    theirs.filter(|definition| !OUTSIDE.contains(&definition.name)).chain(ours)
}

fn functions() -> impl Iterator<Item = Fun<Data>> {
    let theirs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let theirs = theirs.filter(|(name, ..)| !OUTSIDE.contains(name)).map(|(name, arguments, function)| {
        let wrapped = WRAPPED.iter().find(|(from, _)| *from == name);
        (wrapped.map_or(name, |(_, to)| *to), arguments, function)
    });
    theirs.chain([
        native::<Data>(("upper", v(0), |cv| bome(map_text(&cv.1, |text| text.to_uppercase())))),
        native::<Data>(("lower", v(0), |cv| bome(map_text(&cv.1, |text| text.to_lowercase())))),
        native::<Data>(("tojson", v(0), |cv| {
            let mut text = String::new();
            let written = write_value(&mut text, &cv.1);
            bome(written.map(|()| Val::from(text)).map_err(jaq_core::Error::str))
        })),
    ])
}

fn map_text(value: &Val, change: impl FnOnce(&str) -> String) -> Result<Val, jaq_json::Error> {
    let bytes = value.as_utf8_bytes().ok_or_else(|| jaq_core::Error::typ(value.clone(), "string"))?;
    Ok(Val::from(change(&String::from_utf8_lossy(bytes))))
}

/// Writes a value as strict JSON; jaq's own writer knows a superset.
fn write_value(out: &mut String, value: &Val) -> Result<()> {
    match value {
        Val::Null => out.push_str("null"),
        Val::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Val::Num(number) => write_number(out, number),
        Val::TStr(bytes) | Val::BStr(bytes) => {
            out.push_str(&serde_json::to_string(&String::from_utf8_lossy(bytes))?);
        }
        Val::Arr(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                write_value(out, item)?;
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Val::Obj(entries) => {
            for (index, (key, item)) in entries.iter().enumerate() {
                let (Val::TStr(_) | Val::BStr(_)) = key else {
                    return Err(Error::msg("object keys must be strings"));
                };
                out.push(if index == 0 { '{' } else { ',' });
                write_value(out, key)?;
                out.push(':');
                write_value(out, item)?;
            }
            out.push_str(if entries.is_empty() { "{}" } else { "}" });
        }
    }
    Ok(())
}

/// Literals stay as they were written; computed numbers look as jq shows them.
fn write_number(out: &mut String, number: &Num) {
    // Writing to a string cannot fail.
    let _ = match number {
        Num::Float(value) if value.is_nan() => out.write_str("null"),
        Num::Float(value) if value.is_infinite() => {
            write!(out, "{}1.7976931348623157e308", if *value < 0.0 { "-" } else { "" })
        }
        Num::Float(value) if value.fract() == 0.0 && value.abs() < 1e17 => write!(out, "{value:.0}"),
        Num::Dec(text) => out.write_str(text.strip_prefix('+').unwrap_or(text)),
        other => write!(out, "{other}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, input: &str, expected: &[&str]) {
        assert_eq!(run(program, input).unwrap(), expected, "{program}");
    }

    #[test]
    fn programs_give_what_the_host_gives() {
        check(".", r#"{"b":1.50,"a":[],"c":{}}"#, &[r#"{"b":1.50,"a":[],"c":{}}"#]);
        check(".[] / 2", "[4, 3]", &["2", "1.5"]);
        check("map(.n) | sum, avg", r#"[{"n":1},{"n":3}]"#, &["4", "2"]);
        check("upper, ltrimstr(\"a\"), (tojson | length)", r#""ab""#, &[r#""AB""#, r#""b""#, "4"]);
        check("nan, infinite", "null", &["null", "1.7976931348623157e308"]);
    }

    /// Each of them has an output in the host; one that has it here as well is to leave the list and the words above.
    #[test]
    fn some_programs_fail_here_that_the_host_runs() {
        for (program, input) in [
            (".a.b = 1", "null"),
            (".[2] = 1", "[0]"),
            (". as [$a] ?// $a | $a", "1"),
            ("reduce 1, 2 as $x (0; . + $x)", "null"),
            (".[1.7]", "[1, 2]"),
            (".[:1]", "null"),
            ("JOIN({}; .a)", "[]"),
        ] {
            assert_eq!(run(program, input).unwrap_err().kind(), "invalid-input", "{program}");
        }
    }

    #[test]
    fn a_program_cannot_reach_outside() {
        for program in ["now", "env", "input", "halt", "$ENV"] {
            assert_eq!(run(program, "null").unwrap_err().kind(), "invalid-input", "{program}");
        }
    }
}
