//! A plan as the library of a Rust crate.

use std::collections::BTreeSet;

use rote_plan::{Expression, Plan, Step};
use serde_json::Value;

use super::{adapter_variable, literal, variable};
use crate::Frontmatter;

/// The helpers of the written program, each with what shows that it is used.
const HELPERS: [(&str, &str); 5] = [
    (
        "one(",
        r#"
/// Returns the one output of a jq program; null where a value is needed ends the run.
fn one(response: &Response, program: &str) -> Result<Value> {
    match response.query(program)? {
        Value::Null => Err(Error::msg(format!("`{program}` of @{} is null", response.id()))),
        value => Ok(value),
    }
}
"#,
    ),
    (
        "each(",
        r#"
/// Returns all outputs of a jq program.
fn each(response: &Response, program: &str) -> Result<Value> {
    response.query(&format!("[{program}]"))
}
"#,
    ),
    (
        "text(",
        r#"
/// Returns a value as it stands inside text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
"#,
    ),
    (
        "needed(",
        r#"
/// Returns a parameter that must have been given.
fn needed(params: &Map<String, Value>, name: &str) -> Result<Value> {
    params.get(name).cloned().ok_or_else(|| Error::msg(format!("parameter `{name}` was not given")))
}
"#,
    ),
    (
        "object(",
        r#"
/// Makes an object; a member without a value is left out.
fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}
"#,
    ),
];

/// Writes `src/lib.rs`.
pub(super) fn program(frontmatter: &Frontmatter, plan: &Plan) -> String {
    let about = frontmatter.description.replace('\n', " ");
    let body = body(plan);
    let helpers: String = HELPERS.iter().filter(|(used, _)| body.contains(used)).map(|(_, helper)| *helper).collect();
    let mut sdk = vec!["Result", "Rote"];
    sdk.extend(helpers.contains("Error::").then_some("Error"));
    sdk.extend(helpers.contains("&Response").then_some("Response"));
    sdk.sort_unstable();
    let json = if body.contains("json!(") { ", json" } else { "" };
    format!(
        "//! {about}\n\nuse rote_sdk::{{{}}};\nuse serde_json::{{Map, Value{json}}};\n\n{body}{helpers}",
        sdk.join(", ")
    )
}

fn body(plan: &Plan) -> String {
    let params = if plan.parameters.is_empty() { "_params" } else { "params" };
    let mut code = format!("#[rote_sdk::flow]\nfn main(cx: &Rote, {params}: Map<String, Value>) -> Result<Value> {{\n");
    let adapters: BTreeSet<&str> = plan.steps.iter().map(|step| step.adapter.as_str()).collect();
    for adapter in adapters {
        code.push_str(&format!("    let {} = cx.adapter({});\n", adapter_variable(plan, adapter), literal(adapter)));
    }
    let mut waited = BTreeSet::new();
    let mut open: Vec<&Step> = plan.steps.iter().collect();
    // Level by level: everything that can start is started before anything is waited for.
    while !open.is_empty() {
        let (ready, later): (Vec<&Step>, Vec<&Step>) =
            open.into_iter().partition(|step| step.waits_for().iter().all(|need| waited.contains(*need)));
        if ready.is_empty() {
            break;
        }
        for step in &ready {
            code.push_str(&start(plan, step));
        }
        for step in &ready {
            let name = variable(&step.id);
            code.push_str(&format!("    let {name} = {name}.wait()?;\n"));
        }
        waited.extend(ready.iter().map(|step| step.id.as_str()));
        open = later;
    }
    code + &format!("    {}\n}}\n", result(&plan.result))
}

fn start(plan: &Plan, step: &Step) -> String {
    let (name, adapter, tool) = (variable(&step.id), adapter_variable(plan, &step.adapter), literal(&step.tool));
    format!("    let {name} = {adapter}.call_bg({tool}, &{})?;\n", value(&step.arguments, 1))
}

/// The result: a null is a value there.
fn result(expression: &Expression) -> String {
    match expression {
        Expression::From(reference) if !reference.each => {
            format!("{}.query({})", variable(&reference.step), literal(&reference.jq))
        }
        other => format!("Ok({})", value(other, 1)),
    }
}

/// An expression of type `Value`.
fn value(expression: &Expression, depth: usize) -> String {
    match expression {
        Expression::Literal(value) => json(value, depth),
        Expression::Param(name) => format!("needed(&params, {})?", literal(name)),
        Expression::From(reference) => {
            let function = if reference.each { "each" } else { "one" };
            format!("{function}(&{}, {})?", variable(&reference.step), literal(&reference.jq))
        }
        Expression::Array(items) => {
            format!(
                "Value::Array(vec![{}])",
                items.iter().map(|item| value(item, depth)).collect::<Vec<_>>().join(", ")
            )
        }
        Expression::Object(members) => {
            let member = |(name, inner): &(String, Expression)| match inner {
                Expression::Param(parameter) => (name.clone(), format!("params.get({}).cloned()", literal(parameter))),
                inner => (name.clone(), format!("Some({})", value(inner, depth + 1))),
            };
            object(members.iter().map(member).collect(), depth)
        }
        Expression::Text(parts) => {
            let part = |part: &Expression| match part {
                Expression::Literal(Value::String(text)) => format!("{}.to_owned()", literal(text)),
                part => format!("text(&{})", value(part, depth)),
            };
            format!("Value::String([{}].concat())", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        // Refused before: a plain plan has none of them.
        Expression::Item(_) | Expression::Index | Expression::Default(..) => "Value::Null".to_owned(),
    }
}

fn object(members: Vec<(String, String)>, depth: usize) -> String {
    let pad = "    ".repeat(depth + 1);
    let lines: Vec<String> =
        members.iter().map(|(name, value)| format!("{pad}({}, {value}),\n", literal(name))).collect();
    if lines.is_empty() {
        "object([])".to_owned()
    } else {
        format!("object([\n{}{}])", lines.concat(), "    ".repeat(depth))
    }
}

fn json(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "Value::Null".to_owned(),
        Value::Bool(value) => format!("Value::Bool({value})"),
        Value::Number(number) => {
            let kind = if number.is_i64() {
                "_i64"
            } else if number.is_u64() {
                "_u64"
            } else {
                "_f64"
            };
            format!("json!({number}{kind})")
        }
        Value::String(text) => format!("Value::from({})", literal(text)),
        Value::Array(items) => {
            format!("Value::Array(vec![{}])", items.iter().map(|item| json(item, depth)).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, inner): (&String, &Value)| (name.clone(), format!("Some({})", json(inner, depth + 1)));
            object(members.iter().map(member).collect(), depth)
        }
    }
}
