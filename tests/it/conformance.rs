//! One flow, written with the SDK for TypeScript and with the one for Rust: both must tell the same of every case.
//!
//! The flows are in `tests/fixtures/conformance`; each case does one thing of the surface that both SDKs have. What
//! is compared is what a person and a program see of a run: the lines of every output mode, the log with its levels,
//! the steps of the progress, the result, the error with its exit code, the calls in the run's workspace in their
//! order and what arrived at the API. `transcript.txt` says what is right, so that both cannot be wrong together.

mod shelf;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use rote_testkit::{FakeApi, Run, TestHome};
use serde_json::Value;

use crate::{SECRET, home};

/// The sources below the fixtures: what `rote flow build` takes.
const TYPESCRIPT: &str = "ts/main.ts";
const RUST: &str = "rust/conformance.wasm";

/// All cases, in the order of the transcript.
const CASES: [&str; 53] = [
    "call",
    "write",
    "bodies",
    "http-errors",
    "upstream",
    "invalid-arguments",
    "undeclared",
    "confirmation",
    "endpoint",
    "batch",
    "background",
    "wait-any",
    "cancel",
    "unstarted",
    "dropped",
    "probe",
    "status",
    "fingerprint",
    "tokens",
    "credential",
    "preflight",
    "query-response",
    "query-value",
    "query-paths",
    "query-outputs",
    "query-errors",
    "variables",
    "files",
    "clock",
    "nested",
    "output",
    "result",
    "silent",
    "returned",
    "log",
    "steps",
    "ends-http",
    "ends-upstream",
    "ends-invalid",
    "ends-denied",
    "ends-confirmation",
    "ends-query",
    "ends-file",
    "ends-nested",
    "ends-fingerprint",
    "ends-own-not-found",
    "ends-own-invalid",
    "ends-context",
    "ends-context-confirmation",
    "ends-because",
    "ends-because-same",
    "ends-reworded",
    "ends-caught",
];

/// The cases that look at credentials: told again without one.
const WITHOUT_CREDENTIAL: [&str; 4] = ["tokens", "credential", "preflight", "ends-preflight"];

/// The cases that are run with `--output summary` and `--output json` too: what the others show there is the same.
const SHOWN: [&str; 5] = ["output", "result", "silent", "returned", "log"];

#[test]
fn both_languages_tell_the_same_of_every_case() {
    let (typescript, rust) = std::thread::scope(|scope| {
        let typescript = scope.spawn(|| Bench::new(TYPESCRIPT).tell_all());
        let rust = Bench::new(RUST).tell_all();
        (typescript.join().expect("the thread told all or said why not"), rust)
    });
    let mut differences = String::new();
    for (one, other) in typescript.iter().zip(&rust).filter(|(one, other)| one != other) {
        let _written = writeln!(differences, "TypeScript:\n{one}\nRust:\n{other}");
    }
    assert!(differences.is_empty(), "the SDKs differ\n{differences}");
    expect_file![fixture("transcript.txt")].assert_eq(&typescript.concat());
}

#[test]
fn a_failure_is_made_again_on_resume_whatever_words_the_flow_put_around_it() {
    for source in [TYPESCRIPT, RUST] {
        let bench = Bench::new(source);
        for (case, request) in
            [("ends-context", "GET /failing"), ("ends-because", "GET /items/404"), ("ends-reworded", "GET /failing")]
        {
            let run = bench.run(case, &[]);
            assert_ne!(run.code, 0, "{run}");
            let before = bench.received().len();
            let again = bench.home.rote(&["run", "--resume", "latest"]);
            assert_eq!(again.code, run.code, "{again}");
            assert_eq!(bench.received()[before..], [request], "{source} {case}: {again}");
        }
    }
}

#[test]
fn both_languages_declare_the_same() {
    let header = |source: &str| {
        let bench = Bench::new(source);
        let mut header = bench.home.data(&["flow", "info", "./conformance.wasm"])["frontmatter"].clone();
        assert_ne!(header["form"].take(), Value::Null);
        // Each has a server of its own.
        let shelf = &mut header["adapters"]["shelf"];
        assert_ne!(shelf["goes_to"].take(), Value::Null);
        for tool in shelf["tools"].as_object_mut().unwrap().values_mut() {
            assert_ne!(tool["below"].take(), Value::Null);
        }
        header
    };
    assert_eq!(header(TYPESCRIPT), header(RUST));
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/conformance").join(name)
}

/// A home with the flow in one language, and the API.
struct Bench {
    home: TestHome,
    api: FakeApi,
}

impl Bench {
    fn new(source: &str) -> Self {
        let (home, api) = (home(), shelf::start());
        let path = |name: &str| fixture(name).display().to_string();
        let document = path("shelf.openapi.yaml");
        let run = home.rote(&["adapter", "new", "shelf", &document, "--base-url", &api.url(), "--yes"]);
        assert_eq!(run.code, 0, "{run}");
        let run = home.invocation(&["token", "set", "SHELF_TOKEN", "--stdin", "--yes"]).input(SECRET).run();
        assert_eq!(run.code, 0, "{run}");
        let run = home.rote(&["flow", "build", &path(source), "--out", "conformance.wasm"]);
        assert_eq!(run.code, 0, "{run}");
        Self { home, api }
    }

    /// Tells every case, one text each.
    fn tell_all(&self) -> Vec<String> {
        let mut told: Vec<String> = CASES.iter().map(|case| self.tell(case, case)).collect();
        let run = self.home.rote(&["token", "delete", "SHELF_TOKEN", "--yes"]);
        assert_eq!(run.code, 0, "{run}");
        told.extend(WITHOUT_CREDENTIAL.iter().map(|case| self.tell(case, &format!("{case}, no credential"))));
        told
    }

    /// Runs one case in the forms of output and tells what is to be seen of it.
    fn tell(&self, case: &str, title: &str) -> String {
        let mut told = format!("\n=== {title}\n");
        let before = self.received().len();
        let run = self.run(case, &["--output", "human"]);
        told += &run.to_string();
        let mut sent = self.received().split_off(before);
        // What is under way together arrives in any order.
        sent.sort();
        sent.iter().for_each(|line| told += &format!("sent {line}\n"));
        for form in ["summary", "json"].into_iter().filter(|_| SHOWN.contains(&case)) {
            told += &self.run(case, &["--output", form]).to_string();
        }
        told += &self.as_data(case, &run);
        let normaliser = self.home.normaliser().text(&"x".repeat(1_000), "[x1000]").text(&"x".repeat(60), "[x60]");
        normaliser.apply(&told) + "\n"
    }

    fn received(&self) -> Vec<String> {
        self.api.settle();
        let line = |one: rote_testkit::Received| {
            let body = String::from_utf8_lossy(&one.body).into_owned();
            format!("{} {} {body}", one.method, one.target).trim_end().to_owned()
        };
        self.api.received().into_iter().map(line).collect()
    }

    /// Runs one case. The log on stderr has levels, and the steps that a terminal would show.
    fn run(&self, case: &str, words: &[&str]) -> Run {
        let case = format!("case={case}");
        // Calls that are under way together end in any order, so the progress is left to the log.
        let run = ["run", "./conformance.wasm", &case, "--max-writes", "2", "--quiet"];
        self.home.invocation(&[&run[..], words].concat()).env("ROTE_LOG", "rote::guest=debug").run()
    }

    /// What a program is told of a case: the same lines, the result, and the calls in the workspace of the run.
    fn as_data(&self, case: &str, human: &Run) -> String {
        let run = self.run(case, &["--json"]);
        assert_eq!(run.code, human.code, "{run}");
        let envelope = run.envelope();
        let data = &envelope["data"];
        if data.is_null() {
            return format!("error {}\n", envelope["error"]);
        }
        let lines = |name: &str| data[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        let shown = lines("human").collect::<Vec<_>>().join("\n");
        assert!(shown.is_empty() || human.stdout.trim_end() == shown.trim_end(), "{human}{shown}");
        let mut told = format!("result {}\n", data["result"]);
        for (name, line) in ["summary", "log"].into_iter().flat_map(|name| lines(name).map(move |line| (name, line))) {
            told += &format!("{name} {line}\n");
        }
        for step in data["steps"].as_array().into_iter().flatten() {
            let error = step["error"].as_str().map_or_else(String::new, |error| format!(": {error}"));
            told +=
                &format!("call {} {} {} {} B{error}\n", step["response"], step["call"], step["status"], step["bytes"]);
        }
        let workspace = data["workspace"].as_str().unwrap_or_default();
        told + &self.home.rote(&["ls", "-w", workspace]).to_string()
    }
}
