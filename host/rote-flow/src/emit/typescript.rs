//! A plan as one TypeScript module.

mod condition;
mod helpers;
mod value;

use std::cell::RefCell;
use std::collections::BTreeSet;

use rote_plan::{Expression, Pages, Plan, Step, Until};
use serde_json::{Number, Value};

use super::layout::{self, Doc, Member, Pad};
use super::names::{Case, Names};
use super::origins::Origins;
use super::outline::{Block, Outline, Part, conjuncts, counts};
use super::parameters::{Kind, Parameter, Parameters};
use super::{counted, literal};
use crate::Frontmatter;

/// Writes the module without its frontmatter, or says what of the plan is not written out.
pub(super) fn program(frontmatter: &Frontmatter, plan: &Plan, origins: &Origins) -> Result<String, String> {
    let outline = Outline::of(plan)?;
    if let Some(number) = inexact(plan) {
        return Err(format!("TypeScript does not hold its number {number} exactly"));
    }
    if let Some(step) = value::binds_pages(plan) {
        return Err(format!("a program on each answer of step `{step}` has a variable from all pages of a list"));
    }
    let writer = Writer {
        names: Names::of(plan, &outline, Case::Camel),
        parameters: Parameters::of(frontmatter, plan),
        plan,
        origins,
        outline: &outline,
        used: RefCell::default(),
    };
    let body = writer.main();
    let params = writer.interface();
    let helpers = helpers::helpers(writer.used.borrow().clone());
    let code = format!("{params}{body}{helpers}");
    let types = ["JsonObject", "Response"].into_iter().filter(|name| names_type(&code, name));
    let mut imports: Vec<(&str, &str)> = std::iter::once("Json").chain(types).map(|name| (name, "type ")).collect();
    imports.extend(code.contains("new Query(").then_some(("Query", "")));
    imports.push(("Rote", ""));
    imports.extend(code.contains("await sleep(").then_some(("sleep", "")));
    imports.sort_unstable();
    let imports: Vec<String> = imports.iter().map(|(name, kind)| format!("{kind}{name}")).collect();
    Ok(format!("import {{ {} }} from \"@rote/sdk\";\n\n{code}", imports.join(", ")))
}

/// Whether code names a type, as it stands in the parts that are written here.
fn names_type(code: &str, name: &str) -> bool {
    [format!(": {name}"), format!("as {name}"), format!("<{name}")].iter().any(|word| code.contains(word.as_str()))
}

/// What is known where a part is written.
#[derive(Clone, Copy)]
struct Scope<'s> {
    /// Steps whose answers are there although they may be skipped elsewhere.
    present: &'s BTreeSet<&'s str>,
    /// The step whose item is at hand.
    step: Option<&'s str>,
    /// Null is a value: in a result and a condition.
    nullable: bool,
}

struct Writer<'a> {
    plan: &'a Plan,
    outline: &'a Outline<'a>,
    names: Names,
    parameters: Parameters,
    origins: &'a Origins,
    used: RefCell<BTreeSet<&'static str>>,
}

impl Writer<'_> {
    /// Notes that a helper is used, and returns its name.
    fn helper(&self, name: &'static str) -> &'static str {
        self.used.borrow_mut().insert(name);
        name
    }

    /// The parameters' types.
    fn interface(&self) -> String {
        if self.parameters.is_empty() {
            return String::new();
        }
        let line = |parameter: &Parameter| {
            let optional = if parameter.is_optional { "?" } else { "" };
            let null = if parameter.is_nullable && parameter.kind != Kind::Any { " | null" } else { "" };
            format!("  {}{optional}: {}{null};\n", key(&parameter.name), type_of(&parameter.kind))
        };
        let lines: String = self.parameters.iter().map(line).collect();
        format!("interface Params {{\n{lines}}}\n\n")
    }

    fn main(&self) -> String {
        let mut lines = Vec::new();
        let mut adapters: Vec<&str> = self.plan.steps.iter().map(|step| step.adapter.as_str()).collect();
        adapters.sort_unstable();
        adapters.dedup();
        if !adapters.is_empty() {
            lines.push("  const rote = await Rote.workspace(\"run\");".to_owned());
        }
        for adapter in adapters {
            lines.push(format!("  const {} = rote.adapter({});", self.names.adapter(adapter), literal(adapter)));
        }
        let mut present = BTreeSet::new();
        for part in &self.outline.parts {
            lines.push(String::new());
            self.part(part, &mut present, 1, &mut lines);
        }
        lines.push(String::new());
        for step in &self.outline.needed {
            let message = format!("the result needs `{step}`, which was skipped");
            lines.push(format!(
                "  if ({} === undefined) throw new Error({});",
                self.names.step(step),
                literal(&message)
            ));
            present.insert(step);
        }
        let scope = Scope { present: &present, step: None, nullable: true };
        let result = self.result(scope);
        lines.push(result.lay(pad(1), "return ", ";"));
        let params = if self.parameters.is_empty() { "" } else { "params: Params" };
        let kind = if self.may_lack_members() { "unknown" } else { "Json" };
        let head = format!("export default async function main({params}): Promise<{kind}> {{");
        let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
        format!("{head}\n{}\n}}\n", lines[first..].join("\n"))
    }

    /// Writes a part; what it makes is known from then on.
    fn part<'p>(&self, part: &'p Part<'_>, present: &mut BTreeSet<&'p str>, depth: usize, lines: &mut Vec<String>) {
        match part {
            Part::One(step) => {
                let bound = self.outline.bound.contains(step.id.as_str());
                self.step(step, present, bound.then_some("const "), depth, lines);
            }
            Part::Together(steps) => self.together(steps, present, "const ", depth, lines),
            Part::Block(block) => self.block(block, present, lines),
        }
    }

    fn block<'p>(&self, block: &'p Block<'_>, present: &mut BTreeSet<&'p str>, lines: &mut Vec<String>) {
        let outlives = self.declared(block);
        for id in &outlives {
            let several = self.step_of(id).is_some_and(|step| step.for_each.is_some());
            let kind = match several {
                true => "Response[]",
                false if self.is_list(id) => "Json",
                false => "Response",
            };
            lines.push(format!("  let {}: {kind} | undefined;", self.names.step(id)));
        }
        let mut inside = present.clone();
        let mut parts = Vec::new();
        for id in &block.present {
            parts.push(format!("{} !== undefined", self.names.step(id)));
            inside.insert(id);
        }
        let scope = Scope { present: &inside.clone(), step: None, nullable: true };
        let all = block.when.map(conjuncts).unwrap_or_default();
        let alone = parts.is_empty() && all.len() == 1;
        parts.extend(all.into_iter().map(|when| self.condition(when, scope, alone)));
        lines.extend(layout::condition(pad(1), "if ", &parts, " {", ["(", ")"]));
        for part in &block.body {
            match part {
                Part::One(step) if outlives.contains(&step.id.as_str()) => {
                    self.step(step, &inside, Some(""), 2, lines);
                }
                Part::Together(steps) if steps.iter().any(|step| outlives.contains(&step.id.as_str())) => {
                    self.together(steps, &inside, "", 2, lines);
                }
                part => self.part(part, &mut inside.clone(), 2, lines),
            }
            match part {
                Part::One(step) => drop(inside.insert(&step.id)),
                Part::Together(steps) => inside.extend(steps.iter().map(|step| step.id.as_str())),
                Part::Block(_) => {}
            }
        }
        lines.push("  }".to_owned());
    }

    /// What is declared before a block: what is looked at behind it, and what is assigned in one go with that.
    fn declared<'b>(&self, block: &'b Block<'_>) -> Vec<&'b str> {
        let mut found = Vec::new();
        for part in &block.body {
            let ids: Vec<&str> = match part {
                Part::One(step) => vec![&step.id],
                Part::Together(steps) => steps.iter().map(|step| step.id.as_str()).collect(),
                Part::Block(_) => Vec::new(),
            };
            if ids.iter().any(|id| block.outlives.contains(id)) {
                found.extend(ids.into_iter().filter(|id| self.outline.bound.contains(id)));
            }
        }
        found
    }

    fn step_of(&self, id: &str) -> Option<&Step> {
        self.plan.steps.iter().find(|step| step.id == id)
    }

    /// Whether the answer of a step is all pages of a list.
    fn is_list(&self, id: &str) -> bool {
        self.step_of(id).is_some_and(|step| step.pages.is_some())
    }

    /// A list that is read page by page: what is sent besides the page is the same each time.
    fn pages(
        &self,
        step: &Step,
        pages: &Pages,
        scope: Scope<'_>,
        (bind, depth): (&str, usize),
        lines: &mut Vec<String>,
    ) {
        let pad = pad(depth);
        let Pages { argument, next, items, count } = pages;
        let (next, items) = (value::program(next), value::program(items));
        let turn = match (argument, count) {
            (None, _) => self.helper("onlyPage").to_owned(),
            (Some(argument), Some(count)) => format!("(_, read) => ({{ {}: {} }})", key(argument), counted(*count)),
            (Some(argument), None) => format!("(said) => ({{ {}: said }})", key(argument)),
        };
        let read = self.helper("pages");
        lines.push(format!("{}{bind}await {read}({turn}, {next}, {items}, (page) =>", pad.spaces()));
        let mut arguments = self.arguments(step, scope);
        if let Doc::Group { members, .. } = &mut arguments {
            members.push(Member { label: String::new(), value: Doc::text("...page"), note: None });
        }
        let before = format!("{}.call({}, ", self.names.adapter(&step.adapter), literal(&step.tool));
        lines.push(arguments.lay(pad.deeper(), &before, "),"));
        lines.push(format!("{});", pad.spaces()));
    }

    /// A call that is made again and again until something is so of its answer.
    fn until(
        &self,
        step: &Step,
        until: &Until,
        scope: Scope<'_>,
        (bind, depth): (&str, usize),
        lines: &mut Vec<String>,
    ) {
        let pad = pad(depth);
        let Until { jq, never, pause, most } = until;
        let (program, never) = (value::program(jq), value::program(never.as_deref().unwrap_or_default()));
        let wait = self.helper("until");
        lines.push(format!("{}{bind}await {wait}([{program}, {never}], [{pause}, {most}], () =>", pad.spaces()));
        let (before, arguments) = self.call(step, scope);
        lines.push(arguments.lay(pad.deeper(), &before, "),"));
        lines.push(format!("{});", pad.spaces()));
    }

    /// Calls that are made at once.
    fn together(&self, steps: &[&Step], present: &BTreeSet<&str>, bind: &str, depth: usize, lines: &mut Vec<String>) {
        let names: Vec<&str> = steps
            .iter()
            .map(|step| if self.outline.bound.contains(step.id.as_str()) { self.names.step(&step.id) } else { "" })
            .collect();
        let pad = pad(depth);
        let bound = names.join(", ").trim_end_matches([',', ' ']).to_owned();
        let bound = if bound.is_empty() { String::new() } else { format!("{bind}[{bound}] = ") };
        lines.push(format!("{}{bound}await Promise.all([", pad.spaces()));
        for step in steps {
            self.comment(step, pad.deeper(), lines);
            let (before, arguments) = self.call(step, Scope { present, step: None, nullable: false });
            lines.push(arguments.lay(pad.deeper(), &before, "),"));
        }
        lines.push(format!("{}]);", pad.spaces()));
    }

    /// The call of a step, or its loop. `bind` is what stands in front of the variable, if there is one.
    fn step(&self, step: &Step, present: &BTreeSet<&str>, bind: Option<&str>, depth: usize, lines: &mut Vec<String>) {
        let pad = pad(depth);
        let name = self.names.step(&step.id);
        self.comment(step, pad, lines);
        if let Some(pages) = &step.pages {
            let bind = bind.map(|bind| format!("{bind}{name} = ")).unwrap_or_default();
            let scope = Scope { present, step: None, nullable: false };
            return self.pages(step, pages, scope, (&bind, depth), lines);
        }
        if let Some(until) = &step.until {
            let bind = bind.map(|bind| format!("{bind}{name} = ")).unwrap_or_default();
            let scope = Scope { present, step: None, nullable: false };
            return self.until(step, until, scope, (&bind, depth), lines);
        }
        let Some(items) = &step.for_each else {
            let (before, arguments) = self.call(step, Scope { present, step: None, nullable: false });
            let bind = bind.map(|bind| format!("{bind}{name} = ")).unwrap_or_default();
            lines.push(arguments.lay(pad, &format!("{bind}await {before}"), ");"));
            return;
        };
        let items = self.items(items, Scope { present, step: None, nullable: false });
        let (before, arguments) = self.call(step, Scope { present, step: Some(&step.id), nullable: false });
        let (item, counts) = (self.item_name(step), counts(step));
        if step.max_concurrency.is_none() {
            let bind = bind.map(|bind| format!("{bind}{name} = ")).unwrap_or_default();
            let given = if counts { format!("({item}, index)") } else { format!("({item})") };
            lines.push(format!("{}{bind}await Promise.all(", pad.spaces()));
            lines.push(arguments.lay(pad.deeper(), &format!("{items}.map(async {given} => {before}"), ")),"));
            lines.push(format!("{});", pad.spaces()));
            return;
        }
        let (open, close) = match bind {
            Some(bind) => {
                let kind = if bind.is_empty() { "" } else { ": Response[]" };
                lines.push(format!("{}{bind}{name}{kind} = [];", pad.spaces()));
                (format!("{name}.push(await {before}"), "));")
            }
            None => (format!("await {before}"), ");"),
        };
        let over = if counts { format!("[index, {item}] of {items}.entries()") } else { format!("{item} of {items}") };
        lines.push(format!("{}for (const {over}) {{", pad.spaces()));
        lines.push(arguments.lay(pad.deeper(), &open, close));
        lines.push(format!("{}}}", pad.spaces()));
    }

    /// What stands before the arguments of a step's call, and they.
    fn call(&self, step: &Step, scope: Scope<'_>) -> (String, Doc) {
        let arguments = self.arguments(step, scope);
        let call = format!("{}.call({}", self.names.adapter(&step.adapter), literal(&step.tool));
        match &arguments {
            Doc::Group { members, .. } if members.is_empty() => (call, Doc::text("")),
            _ => (format!("{call}, "), arguments),
        }
    }

    fn comment(&self, step: &Step, pad: Pad, lines: &mut Vec<String>) {
        lines.extend(self.origins.typed(step).map(|text| format!("{}// {text}", pad.spaces())));
    }
}

/// A number of the plan that a double is not equal to.
fn inexact(plan: &Plan) -> Option<Number> {
    const EXACT: u64 = (1 << 53) - 1;
    fn of_value(value: &Value) -> Option<Number> {
        match value {
            Value::Number(number) => {
                let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
                whole.filter(|whole| *whole > EXACT).map(|_| number.clone())
            }
            Value::Array(items) => items.iter().find_map(of_value),
            Value::Object(members) => members.values().find_map(of_value),
            _ => None,
        }
    }
    let mut found = None;
    for expression in plan.steps.iter().flat_map(Step::expressions).chain([&plan.result]) {
        expression.walk(&mut |one| {
            if let Expression::Literal(value) = one
                && found.is_none()
            {
                found = of_value(value);
            }
        });
    }
    found.or_else(|| plan.parameters.values().find_map(|one| one.default.as_ref().and_then(of_value)))
}

fn pad(depth: usize) -> Pad {
    Pad { width: 2, depth }
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Text(allowed) if allowed.is_empty() => "string".to_owned(),
        Kind::Text(allowed) => allowed.iter().map(|one| literal(one)).collect::<Vec<_>>().join(" | "),
        Kind::Integer | Kind::Number => "number".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::List(inner) => match &**inner {
            Kind::Text(allowed) if allowed.len() > 1 => format!("({})[]", type_of(inner)),
            inner => format!("{}[]", type_of(inner)),
        },
        Kind::Object => "JsonObject".to_owned(),
        Kind::Any => "Json".to_owned(),
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name != "__proto__"
}

/// A member's name. Computed, `__proto__` is a name like any other.
fn key(name: &str) -> String {
    match name {
        "__proto__" => format!("[{}]", literal(name)),
        name if is_plain(name) => name.to_owned(),
        name => literal(name),
    }
}
