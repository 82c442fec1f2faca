//! Parameters of a run: text from a command line turned into what their schemas say, and checked.
//!
//! Words are read as those of a call ([`Given`]). Nothing is guessed: an unknown name, a missing required one or a
//! value of another type is an error that lists what the flow takes. There is no state: a value that is not given is not
//! remembered from an earlier run.

use rote_types::{FlowName, Given, Sha256Digest, add_word, did_you_mean, exact_json, is_type, nearest, sha256};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::error::{ParameterProblem, RunnerError};
use crate::{FlowError, Frontmatter};

/// Formats that a value is checked against before it is sent.
const FORMATS: [&str; 5] = ["date", "date-time", "email", "uri", "uuid"];

/// The parameters of a run, as given.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterInput {
    /// Single ones with their names.
    Words(Vec<(String, Given)>),
    /// A JSON object.
    Json(Map<String, Value>),
}

impl Default for ParameterInput {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

/// Returns what tells the parameters of two runs apart, on a tape, in the journal and within a run: `2` and `2.0` are one number.
pub(crate) fn digest<T: Serialize + ?Sized>(parameters: &T) -> Sha256Digest {
    sha256(&exact_json(parameters).unwrap_or_default())
}

/// Returns the parameters, typed and complete with defaults.
///
/// # Errors
/// [`RunnerError::Parameters`] with everything that is wrong.
pub(crate) fn resolve(frontmatter: &Frontmatter, input: &ParameterInput) -> Result<Map<String, Value>, FlowError> {
    let mut problems = Vec::new();
    let mut values = Map::new();
    let root = &frontmatter.parameters;
    let schema_of = |name: &str| root.get("properties").and_then(|all| all.get(name));
    let given: Vec<(&str, Result<Value, String>)> = match input {
        ParameterInput::Words(words) => words
            .iter()
            .map(|(name, word)| {
                (name.as_str(), schema_of(name).map_or(Ok(Value::Null), |schema| word.read(root, schema)))
            })
            .collect(),
        ParameterInput::Json(members) => {
            members.iter().map(|(name, value)| (name.as_str(), Ok(value.clone()))).collect()
        }
    };
    for (name, value) in given {
        let added = match schema_of(name) {
            None => Err(unknown(frontmatter, name)),
            Some(schema) => value
                .and_then(|value| check(root, schema, &value).map(|()| value))
                .and_then(|value| add_word(&mut values, root, name, value)),
        };
        if let Err(problem) = added {
            problems.push(ParameterProblem { name: name.to_owned(), problem });
        }
    }
    for (name, schema) in frontmatter.parameter_schemas() {
        if values.contains_key(name) || problems.iter().any(|problem| problem.name == name) {
            continue;
        }
        if let Some(default) = schema.get("default") {
            if let Err(problem) = check(root, schema, default) {
                problems
                    .push(ParameterProblem { name: name.to_owned(), problem: format!("has a default that {problem}") });
            }
            values.insert(name.to_owned(), default.clone());
        } else if frontmatter.is_required(name) {
            problems.push(ParameterProblem { name: name.to_owned(), problem: "is missing".to_owned() });
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(refusal(frontmatter, problems)) }
}

fn refusal(frontmatter: &Frontmatter, problems: Vec<ParameterProblem>) -> FlowError {
    let flow: FlowName = frontmatter.name.clone();
    FlowError::Run(RunnerError::Parameters {
        flow,
        problems,
        expected: expected(frontmatter),
        schema: Box::new(frontmatter.parameters.clone()),
    })
}

/// Describes each parameter in one line: `owner (string, such as "octocat")`.
pub(crate) fn expected(frontmatter: &Frontmatter) -> Vec<String> {
    let describe = |(name, schema): (&str, &Value)| {
        let mut notes = vec![types_of(&frontmatter.parameters, schema).join(" or ")];
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
            let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
            notes.push(format!("one of {}", allowed.join(", ")));
        }
        if let Some(example) = schema.get("examples").and_then(|all| all.get(0)) {
            notes.push(format!("such as {example}"));
        }
        if !frontmatter.is_required(name) {
            notes.push("optional".to_owned());
        }
        format!("{name} ({})", notes.join(", "))
    };
    frontmatter.parameter_schemas().map(describe).collect()
}

fn unknown(frontmatter: &Frontmatter, name: &str) -> String {
    let nearest = nearest(name, frontmatter.parameter_schemas().map(|(known, _)| known));
    format!("is unknown{}", did_you_mean(&nearest))
}

/// The types that a schema allows; `any` when it does not say.
pub(crate) fn types_of<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s str> {
    let types = rote_types::types_of(root, schema);
    if types.is_empty() { vec!["any"] } else { types }
}

/// Checks what crystallize writes into a parameter's schema: the type, the allowed values, the format.
pub(crate) fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let types = types_of(root, schema);
    if !types.iter().any(|name| *name == "any" || is_type(name, value) == Some(true)) {
        return Err(format!("must be {}, not `{value}`", types.join(" or ")));
    }
    match schema.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.contains(value) => {
            let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
            Err(format!("must be one of {}, not `{value}`", allowed.join(", ")))
        }
        _ => check_format(schema, value),
    }
}

/// Checks the format of a text. One that the recorded value does not have is not the API's: nothing is checked then.
fn check_format(schema: &Value, value: &Value) -> Result<(), String> {
    let format = schema.get("format").and_then(Value::as_str).filter(|format| FORMATS.contains(format));
    let Some((format, Ok(contract))) = format.map(|format| (format, Contract::of_format(format))) else {
        return Ok(());
    };
    let known = schema.get("examples").and_then(|all| all.get(0)).or_else(|| schema.get("default"));
    let holds = known.is_none_or(|known| contract.problem(known).is_none());
    match contract.problem(value) {
        Some(_) if holds => Err(format!("must have the format `{format}`, not `{value}`")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_format_is_checked_unless_the_recorded_value_does_not_have_it() {
        let refused = |schema: &Value, value: &str| check(schema, schema, &json!(value)).err();
        let date = json!({ "type": "string", "format": "date", "examples": ["2026-05-22"] });
        assert_eq!(refused(&date, "2026-06-01"), None);
        assert_eq!(refused(&date, "soon").as_deref(), Some("must have the format `date`, not `\"soon\"`"));
        for (format, good, bad) in [
            ("date-time", "2026-05-22T09:00:00Z", "2026-05-22"),
            ("email", "ada@example.test", "ada"),
            ("uri", "https://example.test/a", "example"),
            ("uuid", "5e0b1a4c-0d7f-4a3e-9d37-2f0f6f3f4b11", "5e0b"),
        ] {
            let schema = json!({ "type": "string", "format": format });
            assert_eq!((refused(&schema, good), refused(&schema, bad).is_some()), (None, true), "{format}");
        }
        let other = json!({ "type": "string", "format": "date", "examples": ["tomorrow"] });
        assert_eq!(
            (refused(&other, "soon"), refused(&json!({ "type": "string", "format": "ipv4" }), "x")),
            (None, None)
        );
    }
}
