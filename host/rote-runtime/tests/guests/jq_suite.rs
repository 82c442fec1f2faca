//! jq's own tests, counted: how many the engine passes must not become fewer. What it does not pass is in the README.

use std::path::Path;
use std::time::Duration;

use rote_types::{QueryEngine, QueryLimits};
use serde_json::Value;

use crate::jq::engine;

/// The outputs of one program: those that are wanted, and those that came where it ran.
struct Case {
    program: String,
    wanted: Vec<String>,
    given: Option<Vec<String>>,
}

/// Runs one file. A test is a program, its input and its outputs, a line each; those of programs that must not parse
/// compare words that are not ours, and are left out.
fn run(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/jq").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let tests =
        lines.split(|line| line.trim().is_empty()).filter(|test| !test.is_empty() && !test[0].starts_with("%%FAIL"));
    let limits = QueryLimits { time: Duration::from_secs(5), memory_bytes: 256 << 20, output_bytes: 1 << 20 };
    tests
        .map(|test| {
            let input = test[1].trim_start_matches('\u{feff}');
            let given = engine().run(test[0], input.as_bytes(), &limits).ok().map(|output| output.values);
            let wanted = test[2..].iter().map(|line| (*line).to_owned()).collect();
            Case { program: test[0].to_owned(), wanted, given }
        })
        .collect()
}

/// Whether the outputs are the wanted values. The engine is not asked: it might think the same wrong thing of both.
fn passes(case: &Case) -> bool {
    let values = |texts: &[String]| serde_json::from_str::<Value>(&format!("[{}]", texts.join(",")));
    let given = case.given.as_ref().and_then(|given| values(given).ok());
    given.zip(values(&case.wanted).ok()).is_some_and(|(given, wanted)| is_same(&given, &wanted))
}

/// Equality of JSON values, where `1` and `1.0` are one number. A number that is not a double, such as `9E+999999999`, equals nothing.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_same = |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(has_same)
        }
        _ => one == other,
    }
}

#[track_caller]
fn check(file: &str, tests: usize, floor: usize) {
    let cases = run(file);
    assert_eq!(cases.len(), tests);
    let failed: Vec<&str> = cases.iter().filter(|case| !passes(case)).map(|case| case.program.as_str()).collect();
    let passed = tests - failed.len();
    assert!(passed >= floor, "{passed} of {tests} pass, {floor} did; not:\n{}", failed.join("\n"));
}

#[test]
fn as_many_tests_of_the_language_pass_as_did() {
    check("jq.test", 531, 472);
}

#[test]
fn as_many_examples_of_the_manual_pass_as_did() {
    check("man.test", 231, 227);
}
