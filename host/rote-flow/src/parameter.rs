//! Parameters of a run: text from a command line turned into what their schemas say, and checked.
//!
//! Nothing is guessed: an unknown name, a missing required one or a value of another type is an error that lists
//! what the flow takes. There is no state: a value that is not given is not remembered from an earlier run.

use rote_types::FlowName;
use serde_json::{Map, Value};

use crate::error::{ParameterProblem, RunnerError};
use crate::{FlowError, Frontmatter};

/// Nearness of two names, from 0 to 1, from which one is suggested for the other.
const NEAR: f64 = 0.7;

/// The parameters of a run, as given.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterInput {
    /// `key=value` words; the schema says what type a value has.
    Words(Vec<(String, String)>),
    /// A JSON object.
    Json(Map<String, Value>),
}

impl Default for ParameterInput {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

/// Returns the parameters, typed and complete with defaults.
///
/// # Errors
/// [`RunnerError::Parameters`] with everything that is wrong.
pub(crate) fn resolve(frontmatter: &Frontmatter, input: &ParameterInput) -> Result<Map<String, Value>, FlowError> {
    let mut problems = Vec::new();
    let mut values = Map::new();
    let schema_of = |name: &str| frontmatter.parameters.get("properties").and_then(|all| all.get(name));
    let given: Vec<(&str, Result<Value, String>)> = match input {
        ParameterInput::Words(words) => words
            .iter()
            .map(|(name, text)| (name.as_str(), schema_of(name).map_or(Ok(Value::Null), |schema| typed(schema, text))))
            .collect(),
        ParameterInput::Json(members) => {
            members.iter().map(|(name, value)| (name.as_str(), Ok(value.clone()))).collect()
        }
    };
    for (name, value) in given {
        let checked = match schema_of(name) {
            None => Err(unknown(frontmatter, name)),
            Some(_) if values.contains_key(name) => Err("is given twice".to_owned()),
            Some(schema) => value.and_then(|value| check(schema, &value).map(|()| value)),
        };
        match checked {
            Ok(value) => drop(values.insert(name.to_owned(), value)),
            Err(problem) => problems.push(ParameterProblem { name: name.to_owned(), problem }),
        }
    }
    for (name, schema) in frontmatter.parameter_schemas() {
        if values.contains_key(name) || problems.iter().any(|problem| problem.name == name) {
            continue;
        }
        if let Some(default) = schema.get("default") {
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
        let mut notes = vec![types_of(schema).join(" or ")];
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
    let nearness = |known: &&str| strsim::jaro_winkler(known, name);
    let nearest = frontmatter
        .parameter_schemas()
        .map(|(known, _)| known)
        .filter(|known| nearness(known) >= NEAR)
        .max_by(|one, other| nearness(one).total_cmp(&nearness(other)));
    match nearest {
        Some(nearest) => format!("is unknown, did you mean `{nearest}`?"),
        None => "is unknown".to_owned(),
    }
}

/// The types that a schema allows; `any` when it does not say.
pub(crate) fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any"],
    }
}

/// Reads a word as the type that the schema says.
pub(crate) fn typed(schema: &Value, text: &str) -> Result<Value, String> {
    let types = types_of(schema);
    let parsed = serde_json::from_str::<Value>(text).ok();
    if let Some(value) = parsed.filter(|value| !value.is_string() && types.iter().any(|name| is_type(value, name))) {
        // `any` takes JSON where the word is JSON; a type that allows strings beside others prefers the others.
        return Ok(value);
    }
    if types.iter().any(|name| matches!(*name, "string" | "any")) {
        return Ok(Value::String(text.to_owned()));
    }
    Err(format!("must be {}, not `{text}`", types.join(" or ")))
}

/// Checks what crystallize writes into a parameter's schema: the type and the allowed values.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let types = types_of(schema);
    if !types.iter().any(|name| is_type(value, name)) {
        return Err(format!("must be {}, not `{value}`", types.join(" or ")));
    }
    match schema.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.contains(value) => {
            let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
            Err(format!("must be one of {}, not `{value}`", allowed.join(", ")))
        }
        _ => Ok(()),
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        "any" => true,
        _ => false,
    }
}
