//! Parameters: declared against used, and whether a reader can tell what to give.

use std::collections::BTreeSet;

use rote_plan::Expression;
use serde_json::Value;

use super::finding::{Finding, Findings, Position};
use super::script::Script;
use crate::contract::Contract;
use crate::{Content, Package};
use rote_types::escape_token;

pub(super) fn lint(package: &Package, script: Option<&Script>, findings: &mut Findings) {
    let frontmatter = &package.frontmatter;
    let declared: BTreeSet<&str> = frontmatter.parameter_schemas().map(|(name, _)| name).collect();
    for (name, schema) in frontmatter.parameter_schemas() {
        let place = || Position::frontmatter(format!("/parameters/properties/{}", escape_token(name)));
        lint_schema(name, schema, &place, findings);
        if !is_used(package, script, name) {
            let finding = Finding::warning("PARAMETER_UNUSED", place(), format!("parameter `{name}` is not used"));
            findings.push(finding.edit(format!("take `{name}` out of `parameters`")));
        }
    }
    // Those of the frontmatter that are required are declared: it could not be read otherwise.
    let plan = package.plan().map(|plan| plan.parameters.keys()).into_iter().flatten();
    for name in plan.filter(|name| !declared.contains(name.as_str())) {
        let place = Position::plan(format!("/parameters/{}", escape_token(name)));
        let message = format!("parameter `{name}` is part of the plan and not declared");
        let finding = Finding::error("PARAMETER_UNDECLARED", place, message);
        findings.push(finding.edit(format!("declare `{name}` in `parameters`")));
    }
}

fn lint_schema(name: &str, schema: &Value, place: &dyn Fn() -> Position, findings: &mut Findings) {
    let described = schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    if !described {
        let message = format!("parameter `{name}` has no description");
        let finding = Finding::warning("PARAMETER_DESCRIPTION_MISSING", place(), message);
        findings.push(finding.edit("say what it is for in `description`"));
    }
    let examples = schema.get("examples").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let has_values = !examples.is_empty() || ["default", "enum", "const"].iter().any(|key| schema.get(key).is_some());
    let is_secret = schema.get("writeOnly") == Some(&Value::Bool(true));
    if !(has_values || is_secret) {
        let message = format!("parameter `{name}` has no example");
        let finding = Finding::warning("PARAMETER_EXAMPLE_MISSING", place(), message);
        findings.push(finding.edit("give one in `examples`"));
    }
    let contract = match Contract::new(schema) {
        Ok(contract) => contract,
        Err(error) => {
            let message = format!("the schema of parameter `{name}` is not a JSON Schema: {error}");
            findings.push(Finding::error("PARAMETER_VALUE_INVALID", place(), message).edit("correct the schema"));
            return;
        }
    };
    for value in examples.iter().chain(schema.get("default")) {
        if let Some(problem) = contract.problem(value) {
            let message = format!("`{value}` does not fit the schema of parameter `{name}`: {problem}");
            let finding = Finding::error("PARAMETER_VALUE_INVALID", place(), message);
            findings.push(finding.edit("correct the value or the schema"));
        }
    }
}

/// Whether a declared parameter is used; yes where it cannot be seen.
fn is_used(package: &Package, script: Option<&Script>, name: &str) -> bool {
    match (&package.content, script) {
        (Content::Plan(plan), _) => {
            let steps = plan.steps.iter().flat_map(rote_plan::Step::expressions);
            let mut all = steps.chain([&plan.result]);
            all.any(|expression: &Expression| expression.parameters().contains(&name))
        }
        (Content::Script { .. }, Some(script)) => script.mentions(name),
        _ => true,
    }
}
