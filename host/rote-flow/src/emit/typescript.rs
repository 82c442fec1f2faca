//! A plan as one TypeScript module.

use rote_plan::{Expression, Plan, Step};
use serde_json::Value;

use super::{adapter_variable, literal, variable};
use crate::Frontmatter;

const ONE: &str = r#"
/** Returns the one output of a jq program; none, several or null where a value is needed end the run. */
function one(response: Response, program: string, nullable = false): Json {
  const outputs = response.query(program);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || (value === null && !nullable)) {
    throw new Error(`\`${program}\` of @${response.id} gave ${outputs.length} outputs, one value is needed`);
  }
  return value;
}
"#;

const TEXT: &str = r#"
/** Returns a value as it stands inside text. */
function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
"#;

/// Writes the module without its frontmatter.
pub(super) fn program(frontmatter: &Frontmatter, plan: &Plan) -> String {
    let body = body(plan);
    let mut code = "import { type Json, type Response, Rote } from \"@rote/sdk\";\n".to_owned();
    if body.contains("one(") {
        code.push_str(ONE);
    }
    if body.contains("text(") {
        code.push_str(TEXT);
    }
    if !code.contains(": Response") {
        code = code.replace(", type Response", "");
    }
    code.push_str("\ninterface Params {\n");
    for (name, parameter) in &plan.parameters {
        let optional = if parameter.required || parameter.default.is_some() { "" } else { "?" };
        let schema = frontmatter.parameter_schemas().find(|(known, _)| known == name).map(|(_, schema)| schema);
        let kind = schema.map_or("Json".to_owned(), |schema| type_of(&frontmatter.parameters, schema));
        code.push_str(&format!("  {}{optional}: {kind};\n", key(name)));
    }
    code + "}\n\n" + &body
}

/// The TypeScript type of a parameter, as far as its schema names scalars.
fn type_of(root: &Value, schema: &Value) -> String {
    let one = |name: &&str| match *name {
        "string" => "string",
        "integer" | "number" => "number",
        "boolean" => "boolean",
        "null" => "null",
        _ => "Json",
    };
    let mut types: Vec<&str> = crate::parameter::types_of(root, schema).iter().map(one).collect();
    types.dedup();
    if types.contains(&"Json") || types.is_empty() { "Json".to_owned() } else { types.join(" | ") }
}

fn body(plan: &Plan) -> String {
    let mut code = "export default async function main(params: Params): Promise<Json> {\n".to_owned();
    code.push_str("  const rote = await Rote.workspace(\"run\");\n");
    let mut adapters: Vec<&str> = plan.steps.iter().map(|step| step.adapter.as_str()).collect();
    adapters.sort_unstable();
    adapters.dedup();
    for adapter in adapters {
        code.push_str(&format!("  const {} = rote.adapter({});\n", adapter_variable(plan, adapter), literal(adapter)));
    }
    for step in &plan.steps {
        code.push_str(&call(plan, step));
    }
    let all: Vec<String> = plan.steps.iter().map(|step| variable(&step.id)).collect();
    code.push_str(&format!("\n  await Promise.all([{}]);\n", all.join(", ")));
    code + &format!("  return {};\n}}\n", Written { awaited: true, depth: 1 }.value(&plan.result))
}

/// One step, started as soon as what it needs is there.
fn call(plan: &Plan, step: &Step) -> String {
    let needs: Vec<String> = step.waits_for().into_iter().map(variable).collect();
    let (adapter, tool) = (adapter_variable(plan, &step.adapter), literal(&step.tool));
    let written = Written { awaited: false, depth: if needs.is_empty() { 1 } else { 2 } };
    let call = format!("{adapter}.call({tool}, {})", written.value(&step.arguments));
    let name = variable(&step.id);
    // Inside, the name of a step is its response; outside, the promise of it.
    match needs.as_slice() {
        [] => format!("\n  const {name} = {call};\n"),
        [one] => format!("\n  const {name} = {one}.then((${one}) =>\n    {call},\n  );\n"),
        needs => {
            let given: Vec<String> = needs.iter().map(|need| format!("${need}")).collect();
            let (needs, given) = (needs.join(", "), given.join(", "));
            format!("\n  const {name} = Promise.all([{needs}]).then(([{given}]) =>\n    {call},\n  );\n")
        }
    }
}

/// How values are written: at the end, where responses are awaited and null is a value, or inside a step.
struct Written {
    awaited: bool,
    depth: usize,
}

impl Written {
    fn value(&self, expression: &Expression) -> String {
        match expression {
            Expression::Literal(value) => self.json(value),
            Expression::Param(name) => parameter(name),
            Expression::From(reference) => {
                let (step, program) = (variable(&reference.step), literal(&reference.jq));
                match (reference.each, self.awaited) {
                    (true, true) => format!("(await {step}).query({program})"),
                    (true, false) => format!("${step}.query({program})"),
                    (false, true) => format!("one(await {step}, {program}, true)"),
                    (false, false) => format!("one(${step}, {program})"),
                }
            }
            Expression::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.value(item)).collect::<Vec<_>>().join(", "))
            }
            // A member that is undefined is left out, as an optional parameter that was not given must be.
            Expression::Object(members) => {
                let inner = Self { depth: self.depth + 1, ..*self };
                self.object(members.iter().map(|(name, value)| (name.as_str(), inner.value(value))).collect())
            }
            Expression::Text(parts) => {
                let part = |part: &Expression| match part {
                    Expression::Literal(Value::String(text)) => literal(text),
                    part => format!("text({})", self.value(part)),
                };
                format!("[{}].join(\"\")", parts.iter().map(part).collect::<Vec<_>>().join(", "))
            }
            // Refused before: a plain plan has none of them.
            Expression::Item(_) | Expression::Index | Expression::Default(..) => "null".to_owned(),
        }
    }

    fn json(&self, value: &Value) -> String {
        match value {
            Value::String(text) => literal(text),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.json(item)).collect::<Vec<_>>().join(", "))
            }
            Value::Object(members) => {
                let inner = Self { depth: self.depth + 1, ..*self };
                self.object(members.iter().map(|(name, value)| (name.as_str(), inner.json(value))).collect())
            }
            scalar => scalar.to_string(),
        }
    }

    fn object(&self, members: Vec<(&str, String)>) -> String {
        if members.is_empty() {
            return "{}".to_owned();
        }
        let pad = "  ".repeat(self.depth + 1);
        let lines: Vec<String> =
            members.iter().map(|(name, value)| format!("{pad}{}: {value},\n", key(name))).collect();
        format!("{{\n{}{}}}", lines.concat(), "  ".repeat(self.depth))
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name != "__proto__"
}

fn parameter(name: &str) -> String {
    if is_plain(name) { format!("params.{name}") } else { format!("params[{}]", literal(name)) }
}

/// A member's name. A computed one is a name like any other, `__proto__` too.
fn key(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { format!("[{}]", literal(name)) }
}
