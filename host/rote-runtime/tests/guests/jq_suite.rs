//! jq's own tests, counted: how many the engine passes must not become fewer. What it does not pass is in the README.

use std::path::Path;
use std::time::Duration;

use rote_types::{QueryEngine, QueryLimits};

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

/// Which of the outputs are the wanted values, all compared in one evaluation.
fn judge(cases: &[Case]) -> Vec<bool> {
    let pairs: Vec<String> = cases
        .iter()
        .map(|case| match &case.given {
            Some(given) => format!("[[{}],[{}]]", given.join(","), case.wanted.join(",")),
            None => "[0,1]".to_owned(),
        })
        .collect();
    let input = format!("[{}]", pairs.join(","));
    let judged = engine().run(".[] | .[0] == .[1]", input.as_bytes(), &QueryLimits::default()).unwrap();
    judged.values.iter().map(|value| value == "true").collect()
}

#[track_caller]
fn check(file: &str, tests: usize, floor: usize) {
    let cases = run(file);
    assert_eq!(cases.len(), tests);
    let judged = judge(&cases);
    assert_eq!(judged.len(), tests);
    let passed = judged.iter().filter(|passed| **passed).count();
    let failed: Vec<&str> =
        cases.iter().zip(&judged).filter(|(_, passed)| !**passed).map(|(case, _)| case.program.as_str()).collect();
    assert!(passed >= floor, "{passed} of {tests} pass, {floor} did; not:\n{}", failed.join("\n"));
}

#[test]
fn as_many_tests_of_the_language_pass_as_did() {
    check("jq.test", 531, 467);
}

#[test]
fn as_many_examples_of_the_manual_pass_as_did() {
    check("man.test", 231, 227);
}
