//! What a flow sends to its tools: from its plan, and from what is recorded of its runs.
//!
//! A literal is known, a parameter has a schema, and what comes from an earlier answer is known only where a
//! recording has it. Nothing here judges a tool's change: see [`crate::surface`].

use std::collections::BTreeMap;

use rote_plan::{Expression, Plan, Step};
use rote_types::AdapterId;
use serde_json::Value;

use crate::Package;
use crate::contract::Contract;
use crate::evidence::Evidence;

/// What one flow sends.
pub(crate) struct Usage<'a> {
    plan: Option<&'a Plan>,
    parameters: &'a Value,
    evidence: Option<&'a Evidence>,
}

/// One argument of one call, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent<'a> {
    /// This value.
    Value(&'a Value),
    /// A parameter with this schema.
    Parameter(&'a str, Option<&'a Value>),
    /// Something of this type.
    Type(&'static str),
    /// Something of an earlier answer; these were recorded.
    Recorded(Vec<&'a Value>),
}

/// The arguments of one call by name, each with everything that it may be.
pub(crate) type Call<'a> = BTreeMap<&'a str, Vec<Sent<'a>>>;

impl<'a> Usage<'a> {
    /// What `package` sends.
    pub(crate) fn new(package: &'a Package, evidence: Option<&'a Evidence>) -> Self {
        Self { plan: package.plan(), parameters: &package.frontmatter.parameters, evidence }
    }

    /// Whether calls that are not listed are not made: so it is with a plan.
    pub(crate) fn calls_nothing_else(&self) -> bool {
        self.plan.is_some()
    }

    /// The calls of a tool: the plan's, else the recorded ones.
    pub(crate) fn calls(&self, adapter: &'a AdapterId, tool: &'a str) -> Vec<Call<'a>> {
        let Some(plan) = self.plan else {
            let recorded = self.evidence.into_iter().flat_map(|evidence| evidence.sent(adapter, tool));
            let whole = |arguments: &'a Value| {
                let members = arguments.as_object().into_iter().flatten();
                members.map(|(name, value)| (name.as_str(), vec![Sent::Value(value)])).collect()
            };
            return recorded.map(whole).collect();
        };
        let steps = plan.steps.iter().filter(|step| step.adapter == adapter.as_str() && step.tool == tool);
        steps.map(|step| self.call(adapter, step)).collect()
    }

    fn call(&self, adapter: &'a AdapterId, step: &'a Step) -> Call<'a> {
        let mut call = Call::new();
        match &step.arguments {
            Expression::Object(members) => {
                for (name, inner) in members {
                    let mut found = Vec::new();
                    self.sent(adapter, &step.tool, name, inner, &mut found);
                    call.insert(name, found);
                }
            }
            Expression::Literal(Value::Object(members)) => {
                call.extend(members.iter().map(|(name, value)| (name.as_str(), vec![Sent::Value(value)])));
            }
            _ => {}
        }
        call
    }

    fn sent(
        &self,
        adapter: &'a AdapterId,
        tool: &'a str,
        name: &'a str,
        expression: &'a Expression,
        found: &mut Vec<Sent<'a>>,
    ) {
        found.push(match expression {
            Expression::Literal(value) => Sent::Value(value),
            Expression::Param(parameter) => {
                let schema = self.parameters.get("properties").and_then(|all| all.get(parameter));
                Sent::Parameter(parameter, schema)
            }
            Expression::Text(_) => Sent::Type("string"),
            Expression::Index => Sent::Type("integer"),
            Expression::Default(first, fallback) => {
                self.sent(adapter, tool, name, first, found);
                return self.sent(adapter, tool, name, fallback, found);
            }
            Expression::From(_) | Expression::Item(_) | Expression::Object(_) | Expression::Array(_) => {
                let recorded = self.evidence.into_iter().flat_map(|evidence| evidence.sent(adapter, tool));
                Sent::Recorded(recorded.filter_map(|arguments| arguments.get(name)).collect())
            }
        });
    }
}

impl Sent<'_> {
    /// Says why this may not fit an argument's schema; `root` has the definitions that the schema may refer to.
    pub(crate) fn problem(&self, root: &Value, schema: &Value) -> Option<String> {
        let fits = |value: &Value| match Contract::of_argument(root, schema) {
            Ok(contract) => contract.problem(value).map(|problem| format!("does not take {}: {problem}", short(value))),
            Err(error) => Some(format!("has a schema that cannot be checked: {error}")),
        };
        match self {
            Self::Value(value) => fits(value),
            Self::Recorded(values) if values.is_empty() => {
                Some("comes from an earlier answer and no recorded call shows that it fits".to_owned())
            }
            Self::Recorded(values) => values.iter().find_map(|value| fits(value)),
            Self::Type(name) => wrong_type(schema, &[*name]).or_else(|| restricted(schema, name)),
            Self::Parameter(parameter, declared) => {
                let undeclared = || Some(format!("is parameter `{parameter}`, which has no schema"));
                let Some(declared) = declared else { return undeclared() };
                let types = types_of(declared);
                wrong_type(schema, &types)
                    .or_else(|| wrong_values(schema, declared, parameter))
                    .or_else(|| declared["examples"].as_array().into_iter().flatten().find_map(fits))
            }
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(40).chain(['…']).collect() }
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Says why a value of one of these types does not fit; nothing when the schema takes any type.
fn wrong_type(schema: &Value, sent: &[&str]) -> Option<String> {
    let taken = types_of(schema);
    if taken.is_empty() {
        return None;
    }
    if sent.is_empty() {
        return Some(format!("takes {} and is sent a value of any type", taken.join(" or ")));
    }
    let fits = |name: &&&str| taken.contains(*name) || (**name == "integer" && taken.contains(&"number"));
    let wrong = sent.iter().find(|name| !fits(name))?;
    Some(format!("takes {} and is sent a value of type {wrong}", taken.join(" or ")))
}

/// Says why a parameter may have values that are not among the allowed ones.
fn wrong_values(schema: &Value, declared: &Value, parameter: &str) -> Option<String> {
    let allowed = schema.get("enum")?.as_array()?;
    let texts: Vec<String> = allowed.iter().take(8).map(Value::to_string).collect();
    let more = if allowed.len() > texts.len() { ", …" } else { "" };
    let taken = format!("takes only {}{more}", texts.join(", "));
    match declared.get("enum").and_then(Value::as_array) {
        None => Some(format!("{taken}, and parameter `{parameter}` is not limited to them")),
        Some(sent) => {
            let wrong = sent.iter().find(|value| !allowed.contains(value))?;
            Some(format!("{taken}, and parameter `{parameter}` may be {wrong}"))
        }
    }
}

/// Says which restriction keeps a value that is known by type only from being shown to fit.
fn restricted(schema: &Value, sent: &str) -> Option<String> {
    let keywords = ["enum", "const", "pattern", "oneOf", "anyOf", "allOf", "not", "$ref"];
    let keyword = keywords.into_iter().find(|keyword| match schema.get(keyword) {
        None => false,
        Some(choices) => !(matches!(*keyword, "anyOf" | "oneOf") && takes_any(choices, sent)),
    })?;
    Some(format!("is restricted by `{keyword}` and is put together during the run"))
}

/// Whether one of the choices takes every value of a type and the others take none, as in `string or integer`:
/// right for `anyOf` and for `oneOf`.
fn takes_any(choices: &Value, sent: &str) -> bool {
    let open = |choice: &&Value| wrong_type(choice, &[sent]).is_none();
    let mut taking = choices.as_array().into_iter().flatten().filter(open);
    let only = taking.next().filter(|_| taking.next().is_none());
    only.is_some_and(|choice| choice.get("type").is_some() && restricted(choice, sent).is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_put_together_fits_a_choice_that_takes_all_text() {
        let problem = |schema: Value| Sent::Type("string").problem(&json!({}), &schema);
        for fits in [
            json!({"type": "string"}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"oneOf": [{"type": ["string", "null"]}, {"type": "integer"}]}),
        ] {
            assert_eq!(problem(fits), None);
        }
        for unsure in [
            json!({"type": "string", "enum": ["a"]}),
            json!({"anyOf": [{"type": "boolean"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer"}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "string"}]}),
            json!({"oneOf": [{"type": "string"}, {}]}),
        ] {
            assert!(problem(unsure.clone()).is_some(), "{unsure}");
        }
    }
}
