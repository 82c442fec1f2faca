//! The score of a flow: rubric 1.1.0, seven weighted dimensions, 0 to 100.
//!
//! Made of what lint sees without a run, so that a score never depends on what is recorded where. Each dimension
//! says what it lost points for.

use serde::Serialize;
use serde_json::Value;

use crate::lint::Findings;
use crate::{FlowError, FlowReference, Form, Linter, Package};

/// The version of the rubric.
pub const RUBRIC: &str = "1.1.0";

/// One dimension of the rubric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dimension {
    pub name: &'static str,
    /// Its share of the score; all together are 1.
    pub weight: f64,
    /// How much of it there is, 0 to 1.
    pub value: f64,
    /// Why, one line each.
    pub reasons: Vec<String>,
}

/// The score of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowScore {
    pub flow: String,
    pub version: String,
    /// The rubric's version.
    pub rubric: &'static str,
    /// 0 to 100.
    pub score: u8,
    /// What it is made of.
    pub dimensions: Vec<Dimension>,
}

impl Linter {
    /// Scores a flow.
    ///
    /// # Errors
    /// There is no such flow, or an installed adapter cannot be read.
    pub fn score(&self, flow: &FlowReference) -> Result<FlowScore, FlowError> {
        let (path, package) = self.pins.library.load(flow)?;
        let findings = self.inspect(&package, Some(&path))?;
        let dimensions = vec![
            completeness(&package),
            parametrisation(&package, &findings),
            output(&package, &findings),
            provenance(&package),
            flawless("response_id_leak", &findings, "RESPONSE_ID_LEAK", "no literal names a response"),
            graph(&package, &findings),
            flawless("query_syntax", &findings, "QUERY_SYNTAX", "every query parses"),
        ];
        let sum: f64 = dimensions.iter().map(|one| one.weight * one.value).sum();
        let score = (0..=100_u8).rev().find(|points| f64::from(*points) <= (sum * 100.0).round()).unwrap_or(0);
        let frontmatter = package.frontmatter;
        let (flow, version) = (frontmatter.name.to_string(), frontmatter.version);
        Ok(FlowScore { flow, version, rubric: RUBRIC, score, dimensions })
    }
}

/// The weight of a dimension in rubric 1.1.0.
fn weight(name: &str) -> f64 {
    match name {
        "frontmatter_completeness" | "parametrisation" | "output_format" => 0.25,
        "provenance_url" => 0.10,
        _ => 0.05,
    }
}

fn dimension(name: &'static str, value: f64, reasons: Vec<String>) -> Dimension {
    Dimension { name, weight: weight(name), value: value.clamp(0.0, 1.0), reasons }
}

/// The share of checks that hold, with a reason for each that does not.
fn share(name: &'static str, checks: &[(bool, String)], all: &str) -> Dimension {
    let held = checks.iter().filter(|(holds, _)| *holds).count();
    let mut reasons: Vec<String> = checks.iter().filter(|(holds, _)| !holds).map(|(_, why)| why.clone()).collect();
    if reasons.is_empty() {
        reasons.push(all.to_owned());
    }
    let value = if checks.is_empty() { 1.0 } else { ratio(held, checks.len()) };
    dimension(name, value, reasons)
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(part) / number(whole)
}

fn completeness(package: &Package) -> Dimension {
    let frontmatter = &package.frontmatter;
    let has_text =
        |schema: &Value| schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let has_value = |schema: &Value| ["examples", "default", "enum"].iter().any(|key| schema.get(key).is_some());
    let all = |test: &dyn Fn(&Value) -> bool| frontmatter.parameter_schemas().all(|(_, schema)| test(schema));
    let long = frontmatter.description.trim().chars().count() >= crate::lint::MIN_DESCRIPTION_CHARS;
    let checks = [
        (long, "the description is missing or short".to_owned()),
        (all(&has_text), "a parameter has no description".to_owned()),
        (all(&has_value), "a parameter has no example".to_owned()),
        (!frontmatter.tags.is_empty(), "it has no tags".to_owned()),
        (!frontmatter.output.schema.is_null(), "the schema of its result is missing".to_owned()),
        (frontmatter.baseline.calls > 0, "it has no baseline to compare runs with".to_owned()),
    ];
    share("frontmatter_completeness", &checks, "everything is said")
}

/// Values that a run can choose against those that it could and cannot.
fn parametrisation(package: &Package, findings: &Findings) -> Dimension {
    let declared = package.frontmatter.parameter_schemas().count();
    let unused = findings.count("PARAMETER_UNUSED").min(declared);
    let (fixed, undeclared) = (findings.count("LITERAL_VARIES"), findings.count("PARAMETER_UNDECLARED"));
    let used = declared - unused;
    let mut reasons = Vec::new();
    let mut lost = |count: usize, what: &str| {
        if count > 0 {
            reasons.push(format!("{count} {what}"));
        }
    };
    lost(fixed, "of its literals look like they differ from run to run");
    lost(unused, "of its parameters are not used");
    lost(undeclared, "of its parameters are not declared");
    let open = package.frontmatter.questions.len();
    lost(open, "of its questions are open");
    let all = used + fixed + unused + undeclared + open;
    if reasons.is_empty() {
        reasons.push(match used {
            0 => "nothing in it looks like it differs from run to run".to_owned(),
            used => format!("{used} declared, all used, no literal that looks like one"),
        });
    }
    dimension("parametrisation", if all == 0 { 1.0 } else { ratio(used, all) }, reasons)
}

fn output(package: &Package, findings: &Findings) -> Dimension {
    let schema = !findings.has("OUTPUT_SCHEMA_MISSING") && !findings.has("OUTPUT_SCHEMA_INVALID");
    let lines = match package.frontmatter.form {
        // The plan template shows a line for each step and one in all.
        Form::Plan => (true, true),
        Form::Script => (shows(package, "human"), shows(package, "summary")),
        Form::Component => (!findings.has("OUTPUT_HUMAN_MISSING"), !findings.has("OUTPUT_HUMAN_MISSING")),
    };
    let checks = [
        (schema, "its result has no usable schema".to_owned()),
        (!findings.has("RESULT_MISSING"), "its result is a constant".to_owned()),
        (!findings.has("OUTPUT_FORMAT"), "its output format is not `json`".to_owned()),
        (lines.0, "it shows a person nothing".to_owned()),
        (lines.1, "it has no summary line".to_owned()),
    ];
    share("output_format", &checks, "a result with a schema, lines for a person and a summary")
}

/// Whether a script calls a method of its output.
fn shows(package: &Package, method: &str) -> bool {
    match &package.content {
        crate::Content::Script { code, .. } => code.contains(&format!(".{method}(")),
        _ => true,
    }
}

/// Whether every adapter can be made again elsewhere from where its document came from.
fn provenance(package: &Package) -> Dimension {
    let checks: Vec<(bool, String)> = package
        .frontmatter
        .adapters
        .iter()
        .map(|(id, pin)| {
            (
                pin.origin.is_some(),
                format!("the document of adapter `{id}` has no address that others could take it from"),
            )
        })
        .collect();
    share("provenance_url", &checks, "every adapter says where its document came from")
}

fn flawless(name: &'static str, findings: &Findings, code: &str, all: &str) -> Dimension {
    let count = findings.count(code);
    let reasons = vec![if count == 0 { all.to_owned() } else { format!("{count} findings {code}") }];
    dimension(name, if count == 0 { 1.0 } else { 0.0 }, reasons)
}

fn graph(package: &Package, findings: &Findings) -> Dimension {
    let Some(plan) = package.plan() else {
        return dimension("dag_structure", 1.0, vec!["its order is that of its program".to_owned()]);
    };
    let unused = findings.count("STEP_UNUSED");
    let steps = plan.steps.len();
    let reasons = vec![match (steps, unused) {
        (0, _) => "it has no steps".to_owned(),
        (_, 0) => format!("every one of {steps} steps is for something"),
        _ => format!("{unused} of {steps} steps are for nothing"),
    }];
    let value = if steps == 0 { 0.0 } else { 1.0 - ratio(unused, steps) };
    dimension("dag_structure", value, reasons)
}
