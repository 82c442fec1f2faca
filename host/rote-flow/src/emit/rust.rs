//! A plan as the library of a Rust crate.

mod condition;
mod helpers;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Expression, Onward, Pages, Plan, Step, Until};
use serde_json::Value;

use super::layout::{self, Doc, Pad};
use super::names::{Case, Names, is_taken, written};
use super::origins::Origins;
use super::outline::{Block, Outline, Part, conjuncts, counts};
use super::parameters::{Kind, Parameter, Parameters};
use super::{counted, literal, one_line};
use crate::Frontmatter;

/// Writes `src/lib.rs`, or says what of the plan is not written out.
pub(super) fn program(frontmatter: &Frontmatter, plan: &Plan, origins: &Origins) -> Result<String, String> {
    let outline = Outline::of(plan)?;
    let writer = Writer {
        names: Names::of(plan, &outline, Case::Snake),
        parameters: Parameters::of(frontmatter, plan),
        plan,
        origins,
        outline: &outline,
        used: RefCell::default(),
    };
    let body = writer.main();
    let params = writer.params();
    let code = format!("{params}{body}{}", helpers::helpers(writer.used.borrow().clone()));
    let about = one_line(&frontmatter.description);
    let limit = if writer.is_large() { "#![recursion_limit = \"1024\"]\n\n" } else { "" };
    Ok(format!("//! {about}\n\n{limit}{}{code}", imports(&code)))
}

/// The `use` lines for what the code names.
fn imports(code: &str) -> String {
    let named = |words: &[(&'static str, &str)]| -> Vec<&'static str> {
        let mut names: Vec<_> = words.iter().filter(|(_, sign)| code.contains(sign)).map(|(name, _)| *name).collect();
        names.dedup();
        names
    };
    let sdk = named(&[
        ("Error", "Error::"),
        ("Response", "&Response"),
        ("Response", "Result<Response>"),
        ("Result", "Result<"),
        ("Rote", "&Rote"),
        ("Value", "Value"),
        ("bail", "bail!("),
        ("ensure", "ensure!("),
        ("join_all", "join_all("),
        ("json", "json!("),
    ]);
    let serde =
        named(&[("Deserialize", "(Deserialize)"), ("Deserializer", "Deserializer<"), ("Serialize", ": Serialize")]);
    let braced = |names: &[&str]| match names {
        [one] => (*one).to_owned(),
        several => format!("{{{}}}", several.join(", ")),
    };
    let mut text = if code.contains("Ordering") { "use std::cmp::Ordering;\n\n".to_owned() } else { String::new() };
    text.push_str(&format!("use rote_sdk::{};\n", braced(&sdk)));
    if !serde.is_empty() {
        text.push_str(&format!("use serde::{};\n", braced(&serde)));
    }
    let json = named(&[("Map", "Map<String"), ("Number", ": Number"), ("Number", "<Number")]);
    if !json.is_empty() {
        text.push_str(&format!("use serde_json::{};\n", braced(&json)));
    }
    text + "\n"
}

/// How the answer of a step is at hand.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Owned,
    Borrowed,
}

type Present<'s> = BTreeMap<&'s str, Seen>;

/// What is known where a part is written.
#[derive(Clone, Copy)]
struct Scope<'s> {
    /// Steps whose answers are there although they may be skipped elsewhere.
    present: &'s Present<'s>,
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
    fn params(&self) -> String {
        if self.parameters.is_empty() {
            return String::new();
        }
        let mut text = "#[derive(Deserialize)]\nstruct Params {\n".to_owned();
        for parameter in self.parameters.iter() {
            let field = self.field(&parameter.name);
            let is_any = parameter.is_nullable || parameter.kind == Kind::Any;
            let kind = if is_any { "Value".to_owned() } else { type_of(&parameter.kind) };
            let kind = if parameter.is_optional { format!("Option<{kind}>") } else { kind };
            let mut serde = Vec::new();
            if field != parameter.name {
                serde.push(format!("rename = {}", literal(&parameter.name)));
            }
            if parameter.is_optional && is_any {
                serde.push(format!("default, deserialize_with = \"{}\"", self.helper("present")));
            }
            if !serde.is_empty() {
                text.push_str(&format!("    #[serde({})]\n", serde.join(", ")));
            }
            text.push_str(&format!("    {field}: {kind},\n"));
        }
        text + "}\n\n"
    }

    /// Whether a `json!` has more members than the compiler goes through by itself.
    fn is_large(&self) -> bool {
        const MOST: usize = 24;
        let values = self.plan.steps.iter().map(|step| &step.arguments).chain([&self.plan.result]);
        values.map(count).any(|count| count > MOST)
    }

    /// The field of a parameter, which no other has.
    fn field(&self, name: &str) -> String {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for parameter in self.parameters.iter() {
            let mut field = written(&parameter.name, Case::Snake);
            while is_taken(&field) || taken.contains(&field) {
                field.push('_');
            }
            if parameter.name == name {
                return field;
            }
            taken.insert(field);
        }
        name.to_owned()
    }

    fn main(&self) -> String {
        let params = if self.parameters.is_empty() { "" } else { ", params: Params" };
        let mut adapters: Vec<&str> = self.plan.steps.iter().map(|step| step.adapter.as_str()).collect();
        adapters.sort_unstable();
        adapters.dedup();
        let adapter = |id: &&str| format!("    let {} = cx.adapter({});", self.names.adapter(id), literal(id));
        let mut lines: Vec<String> = adapters.iter().map(adapter).collect();
        let mut present = BTreeMap::new();
        for part in &self.outline.parts {
            lines.push(String::new());
            match part {
                Part::Block(block) => self.block(block, &mut lines),
                part => self.part(part, &present, 1, &mut lines),
            }
        }
        lines.push(String::new());
        for step in &self.outline.needed {
            let (name, message) = (self.names.step(step), format!("the result needs `{step}`, which was skipped"));
            lines.push(format!("    let Some({name}) = &{name} else {{ bail!({}) }};", literal(&message)));
            present.insert(*step, Seen::Borrowed);
        }
        self.result(Scope { present: &present, step: None, nullable: true }, &mut lines);
        let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
        let cx = if lines.iter().any(|line| line.contains("cx")) { "cx" } else { "_cx" };
        let head = format!("#[rote_sdk::flow]\nfn main({cx}: &Rote{params}) -> Result<Value> {{");
        format!("{head}\n{}\n}}\n", lines[first..].join("\n"))
    }

    fn part(&self, part: &Part<'_>, present: &Present<'_>, depth: usize, lines: &mut Vec<String>) {
        match part {
            Part::One(step) => self.step(step, present, depth, lines),
            Part::Together(steps) => self.together(steps, present, depth, lines),
            // Blocks do not stand in one another.
            Part::Block(_) => {}
        }
    }

    /// A block is a value: what it made that others look at, else nothing.
    fn block(&self, block: &Block<'_>, lines: &mut Vec<String>) {
        let mut present: Present<'_> = block.present.iter().map(|id| (*id, Seen::Borrowed)).collect();
        let there = |id: &&str| format!("let Some({name}) = &{name}", name = self.names.step(id));
        let mut parts: Vec<String> = block.present.iter().map(there).collect();
        let all = block.when.map(conjuncts).unwrap_or_default();
        let alone = parts.is_empty() && all.len() == 1;
        let scope = Scope { present: &present, step: None, nullable: true };
        parts.extend(all.into_iter().map(|when| self.condition(when, scope, alone)));
        let names: Vec<&str> = block.outlives.iter().map(|id| self.names.step(id)).collect();
        let tuple = |one: &dyn Fn(&str) -> String| match names.as_slice() {
            [name] => one(name),
            several => format!("({})", several.iter().map(|name| one(name)).collect::<Vec<_>>().join(", ")),
        };
        let bind = if names.is_empty() { String::new() } else { format!("let {} = ", tuple(&str::to_owned)) };
        lines.extend(layout::condition(pad(1), &format!("{bind}if "), &parts, " {", ["", ""]));
        let only = match (block.body.as_slice(), names.as_slice()) {
            ([Part::One(step)], [_]) if step.is_one_call() => Some(*step),
            _ => None,
        };
        if let Some(step) = only {
            let scope = Scope { present: &present, step: None, nullable: false };
            self.call(step, scope, 2, ("Some(", "call", "?)"), lines);
        }
        for part in block.body.iter().filter(|_| only.is_none()) {
            self.part(part, &present, 2, lines);
            match part {
                Part::One(step) => drop(present.insert(&step.id, Seen::Owned)),
                Part::Together(steps) => present.extend(steps.iter().map(|step| (step.id.as_str(), Seen::Owned))),
                Part::Block(_) => {}
            }
        }
        if names.is_empty() {
            lines.push("    }".to_owned());
            return;
        }
        if only.is_none() {
            lines.push(format!("        {}", tuple(&|name| format!("Some({name})"))));
        }
        lines.push("    } else {".to_owned());
        lines.push(format!("        {}", tuple(&|_| "None".to_owned())));
        lines.push("    };".to_owned());
    }

    fn step_of(&self, id: &str) -> Option<&Step> {
        self.plan.steps.iter().find(|step| step.id == id)
    }

    /// Calls that are made at once.
    fn together(&self, steps: &[&Step], present: &Present<'_>, depth: usize, lines: &mut Vec<String>) {
        let names: Vec<&str> = steps.iter().map(|step| self.names.step(&step.id)).collect();
        for (step, name) in steps.iter().zip(&names) {
            let scope = Scope { present, step: None, nullable: false };
            self.call(step, scope, depth, (&format!("let {name} = "), "call_bg", "?;"), lines);
        }
        let spaces = pad(depth).spaces();
        for (step, name) in steps.iter().zip(&names) {
            let bound = self.outline.bound.contains(step.id.as_str());
            lines.push(if bound {
                format!("{spaces}let {name} = {name}.wait()?;")
            } else {
                format!("{spaces}{name}.wait()?;")
            });
        }
    }

    /// A list that is read page by page: what is sent besides the page is the same each time.
    fn pages(
        &self,
        step: &Step,
        Pages { argument, next, items, count }: &Pages,
        scope: Scope<'_>,
        place: (&str, usize),
        lines: &mut Vec<String>,
    ) {
        let turn = match (argument, count) {
            (None, _) => self.helper("only_page").to_owned(),
            (Some(argument), Some(count)) => {
                format!("|_, read| Ok(({}, json!({})))", literal(argument), counted(*count))
            }
            (Some(argument), None) => format!("|said, _| Ok(({}, said))", literal(argument)),
        };
        self.again(step, scope, place, ("pages", [next, items], &turn), lines);
    }

    /// A call that is made again and again until something is so of its answer.
    fn until(&self, step: &Step, until: &Until, scope: Scope<'_>, place: (&str, usize), lines: &mut Vec<String>) {
        let Until { jq, never, pause, most } = until;
        let never = never.as_deref().unwrap_or_default();
        self.again(step, scope, place, ("until", [jq, never], &format!("[{pause}, {most}]")), lines);
    }

    /// A call that a helper makes again and again, by two programs and something else.
    fn again(
        &self,
        step: &Step,
        scope: Scope<'_>,
        (bind, depth): (&str, usize),
        (helper, [first, second], other): (&'static str, [&str; 2], &str),
        lines: &mut Vec<String>,
    ) {
        let (pad, within) = (pad(depth), pad(depth).deeper());
        let (arguments, more) = self.arguments(step, scope);
        let is_made = !more.is_empty();
        if is_made {
            lines.push(arguments.lay(pad, "let mut arguments = json!(", ");"));
            lines.extend(self.optional("arguments", &more, scope, pad));
        }
        lines.push(format!("{}{bind}{}(", pad.spaces(), self.helper(helper)));
        lines.push(format!("{}cx,", within.spaces()));
        lines.push(format!("{}[{}, {}],", within.spaces(), value::program(first), value::program(second)));
        lines.push(if is_made {
            format!("{}arguments,", within.spaces())
        } else {
            arguments.lay(within, "json!(", "),")
        });
        lines.push(format!("{}{other},", within.spaces()));
        let (adapter, tool) = (self.names.adapter(&step.adapter), literal(&step.tool));
        lines.push(format!("{}|arguments| {adapter}.call({tool}, arguments),", within.spaces()));
        lines.push(format!("{})?;", pad.spaces()));
    }

    /// The call of a step, or its loop.
    fn step(&self, step: &Step, present: &Present<'_>, depth: usize, lines: &mut Vec<String>) {
        let bound = self.outline.bound.contains(step.id.as_str()).then(|| self.names.step(&step.id));
        let bind = bound.map(|name| format!("let {name} = ")).unwrap_or_default();
        let scope = Scope { present, step: None, nullable: false };
        if let Some(pages) = &step.pages {
            return self.pages(step, pages, scope, (&bind, depth), lines);
        }
        if let Some(until) = &step.until {
            return self.until(step, until, scope, (&bind, depth), lines);
        }
        let Some(items) = &step.for_each else {
            return self.call(step, scope, depth, (&bind, "call", "?;"), lines);
        };
        let spaces = pad(depth).spaces();
        let (items, item) = (self.items(step, items, scope), self.names.item(&step.id));
        let over = match (counts(step), items.strip_prefix('&')) {
            (false, _) => format!("{item} in {items}"),
            (true, Some(list)) => format!("(index, {item}) in {list}.iter().enumerate()"),
            (true, None) => format!("(index, {item}) in {items}.into_iter().enumerate()"),
        };
        let together = step.max_concurrency.is_none();
        let made = if together { Some("calls") } else { bound };
        lines.extend(made.map(|name| format!("{spaces}let mut {name} = Vec::new();")));
        lines.push(format!("{spaces}for {over} {{"));
        let (open, close) = made.map_or((String::new(), "?;"), |name| (format!("{name}.push("), "?);"));
        let how = if together { "call_bg" } else { "call" };
        self.call(step, Scope { step: Some(&step.id), ..scope }, depth + 1, (&open, how, close), lines);
        lines.push(format!("{spaces}}}"));
        if together {
            lines.push(format!("{spaces}{bind}join_all(calls).into_iter().collect::<Result<Vec<_>>>()?;"));
        }
    }

    /// One call: what stands in front of it, how it is made, what stands behind.
    fn call(&self, step: &Step, scope: Scope<'_>, depth: usize, how: (&str, &str, &str), lines: &mut Vec<String>) {
        let pad = pad(depth);
        let (before, method, after) = how;
        lines.extend(self.origins.typed(step).map(|text| format!("{}// {text}", pad.spaces())));
        let (adapter, tool) = (self.names.adapter(&step.adapter), literal(&step.tool));
        let (arguments, more) = self.arguments(step, scope);
        let (open, spaces) = (format!("{before}{adapter}.{method}({tool}, &"), pad.spaces());
        if !more.is_empty() {
            lines.push(arguments.lay(pad, "let mut arguments = json!(", ");"));
            lines.extend(self.optional("arguments", &more, scope, pad));
            lines.push(format!("{spaces}{open}arguments){after}"));
        } else if matches!(&arguments, Doc::Group { members, .. } if members.is_empty()) {
            lines.push(format!("{spaces}{open}()){after}"));
        } else if arguments.fits(pad, &format!("{open}json!("), &format!(")){after}")) {
            lines.push(arguments.lay(pad, &format!("{open}json!("), &format!(")){after}")));
        } else {
            lines.push(format!("{spaces}{before}{adapter}.{method}("));
            lines.push(format!("{}{tool},", pad.deeper().spaces()));
            lines.push(arguments.lay(pad.deeper(), "&json!(", "),"));
            lines.push(format!("{spaces}){after}"));
        }
    }
}

/// How many members and items there are.
fn count(value: &Expression) -> usize {
    fn of_literal(value: &Value) -> usize {
        match value {
            Value::Array(items) => items.len() + items.iter().map(of_literal).sum::<usize>(),
            Value::Object(members) => members.len() + members.values().map(of_literal).sum::<usize>(),
            _ => 0,
        }
    }
    let mut found = 0;
    value.visit(&mut |_, one| {
        found += match one {
            Expression::Literal(value) => of_literal(value),
            Expression::Array(items) => items.len(),
            Expression::Object(members) => members.len(),
            _ => return Onward::Past,
        };
        Onward::Into
    });
    found
}

fn pad(depth: usize) -> Pad {
    Pad { width: 4, depth }
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Text(_) => "String".to_owned(),
        Kind::Integer => "i64".to_owned(),
        Kind::Number => "Number".to_owned(),
        Kind::Boolean => "bool".to_owned(),
        Kind::List(inner) => format!("Vec<{}>", type_of(inner)),
        Kind::Object => "Map<String, Value>".to_owned(),
        Kind::Any => "Value".to_owned(),
    }
}
