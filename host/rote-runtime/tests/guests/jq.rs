//! The jq sandbox: whatever a program does, it ends within its bounds and sees nothing but its input.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use rote_runtime::SandboxedJq;
use rote_types::{QueryEngine, QueryError, QueryLimits};

use crate::support::Fixture;

/// One engine for all tests: its guest is compiled once, and outside what they measure.
pub(crate) fn engine() -> &'static SandboxedJq {
    static ENGINE: LazyLock<(Fixture, SandboxedJq)> = LazyLock::new(|| {
        let fixture = Fixture::new();
        let engine = SandboxedJq::new(Arc::new(fixture.sandbox()));
        engine.run(".", b"null", &QueryLimits::default()).unwrap();
        (fixture, engine)
    });
    &ENGINE.1
}

fn limits() -> QueryLimits {
    QueryLimits { time: Duration::from_millis(500), memory_bytes: 64 << 20, output_bytes: 1 << 20 }
}

#[test]
fn programs_give_their_outputs_in_order_as_compact_json() {
    let engine = engine();
    let cases: [(&str, &str, &[&str]); 6] = [
        (".", r#"{"b": 1, "a": [1, 2]}"#, &[r#"{"b":1,"a":[1,2]}"#]),
        (".[] | .x", r#"[{"x": 1}, {"x": "two"}, {}]"#, &["1", "\"two\"", "null"]),
        ("map(.n) | add", r#"[{"n": 1}, {"n": 2}]"#, &["3"]),
        ("empty", "{}", &[]),
        ("12345678901234567890", "null", &["12345678901234567890"]),
        (".[0]", r#"["naïve 日本"]"#, &["\"naïve 日本\""]),
    ];
    for (program, input, expected) in cases {
        let output = engine.run(program, input.as_bytes(), &limits()).unwrap();
        assert_eq!(output.values, expected, "{program}");
    }
}

#[test]
fn mistakes_are_told_apart() {
    let engine = engine();
    assert!(matches!(engine.run(".[", b"{}", &limits()), Err(QueryError::Syntax { .. })));
    assert!(matches!(engine.run("nosuchfunction", b"{}", &limits()), Err(QueryError::Syntax { .. })));
    assert!(matches!(engine.run(".", b"{", &limits()), Err(QueryError::Input { .. })));
    assert!(matches!(engine.run(".a.b", b"{\"a\": 1}", &limits()), Err(QueryError::Runtime { .. })));
}

#[test]
fn a_program_without_end_reaches_a_limit() {
    let engine = engine();
    let programs = [
        "repeat(1)",
        "[range(infinite)] | length",
        "def f: f; f",
        "def f: 1 + f; f",
        "[limit(100000000; repeat(\"x\"))] | length",
        "reduce range(100) as $i (\"x\"; . + .) | length",
        "\"x\" * 1000000000 | length",
        "last(range(infinite))",
    ];
    for program in programs {
        let started = Instant::now();
        let result = engine.run(program, b"null", &limits());
        assert!(matches!(result, Err(QueryError::Limit { .. })), "{program}: {result:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "{program} took {:?}", started.elapsed());
    }
}

#[test]
fn output_beyond_its_bound_is_a_limit() {
    let engine = engine();
    let result = engine.run("range(1000000)", b"null", &limits());
    let Err(QueryError::Limit { limit, .. }) = result else { panic!("{result:?}") };
    assert_eq!(limit, "output limit of 1048576 bytes reached");
}

#[test]
fn input_beyond_the_memory_is_a_limit() {
    let engine = engine();
    let input = format!("[{}1]", "1,".repeat(20 << 20));
    let result = engine.run("length", input.as_bytes(), &limits());
    assert!(matches!(result, Err(QueryError::Limit { .. })), "{:?}", result.err());
}

#[test]
fn a_program_sees_no_environment_no_further_input_and_no_time() {
    let engine = engine();
    for program in ["$ENV", "env", "input", "inputs", "now", "input_filename", "stderr", "halt", "$__prog_args"] {
        match engine.run(program, b"{}", &limits()) {
            Err(QueryError::Syntax { .. } | QueryError::Runtime { .. }) => {}
            Ok(output) => {
                assert!(matches!(&output.values[..], [] | [_]) && !output.values.concat().contains("PATH"), "{program}")
            }
            Err(other) => panic!("{program}: {other}"),
        }
    }
}

#[test]
fn a_program_that_asks_for_a_module_is_refused_before_it_runs() {
    let engine = engine();
    for program in [
        "import \"/x\" as $x; $x",
        "import \"a\" as a; a::f",
        "include \"a\"; .",
        " # a comment\n#another\n\timport\"/x\" as $x; $x",
        "module {}; import \"/x\" as $x; $x",
    ] {
        let result = engine.run(program, b"{}", &limits());
        assert!(
            matches!(&result, Err(QueryError::Syntax { message, .. }) if message.contains("not offered")),
            "{result:?}"
        );
    }
    for program in
        [".import", "{import: 1, include: 2} | .import", "\"import \\\"x\\\" as $x;\"", "# import \"x\" as $x;\n1"]
    {
        assert!(engine.run(program, b"{\"import\": 1}", &limits()).is_ok(), "{program}");
    }
}

#[test]
fn deep_input_does_not_crash_the_host() {
    let engine = engine();
    let input = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let result = engine.run("flatten", input.as_bytes(), &limits());
    assert!(!matches!(result, Err(QueryError::Engine { .. })), "{result:?}");
}

#[test]
fn programs_run_on_many_threads_at_once() {
    let engine = engine();
    std::thread::scope(|scope| {
        for number in 0..32 {
            scope.spawn(move || {
                let output = engine.run(". + 1", number.to_string().as_bytes(), &limits()).unwrap();
                assert_eq!(output.values, [(number + 1).to_string()]);
            });
        }
    });
}
