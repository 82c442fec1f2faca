//! Values in TypeScript.

use rote_plan::{Bound, Expression, Plan, Reference, Step};
use serde_json::Value;

use super::super::layout::{Doc, Member};
use super::super::outline::steps_of;
use super::super::{literal, member_path};
use super::{Kind, Parameter, Scope, Writer, is_plain, key};

impl Writer<'_> {
    pub(super) fn arguments(&self, step: &Step, scope: Scope<'_>) -> Doc {
        self.noted(&step.arguments, scope, Some(step), "")
    }

    /// The result: an absent parameter is null there.
    pub(super) fn result(&self, scope: Scope<'_>) -> Doc {
        match &self.plan.result {
            Expression::Param(name) if self.parameters.get(name).is_some_and(|one| one.is_optional) => {
                Doc::text(format!("{} ?? null", self.param(name)))
            }
            other => self.value(other, scope),
        }
    }

    /// Whether an object of the result may lack a member.
    pub(super) fn may_lack_members(&self) -> bool {
        let mut found = false;
        self.plan.result.walk(&mut |one| {
            if let Expression::Object(members) = one {
                found |= members.iter().any(|(_, inner)| self.parameters.may_be_absent(inner));
            }
        });
        found
    }

    pub(super) fn value(&self, expression: &Expression, scope: Scope<'_>) -> Doc {
        self.noted(expression, scope, None, "")
    }

    /// In one line.
    pub(super) fn inline(&self, expression: &Expression, scope: Scope<'_>) -> String {
        self.value(expression, scope).inline()
    }

    /// A value of the arguments of `step`, with what is known of its constants.
    fn noted(&self, expression: &Expression, scope: Scope<'_>, step: Option<&Step>, pointer: &str) -> Doc {
        match expression {
            Expression::Literal(Value::Object(members)) => {
                let inner = members.iter().map(|(name, value)| (name, Expression::Literal(value.clone())));
                Doc::object(inner.map(|(name, value)| self.member(name, &value, scope, step, pointer)).collect())
            }
            Expression::Literal(Value::Array(items)) => {
                Doc::array(items.iter().map(|item| self.value(&Expression::Literal(item.clone()), scope)))
            }
            Expression::Literal(Value::String(text)) => Doc::text(literal(text)),
            Expression::Literal(scalar) => Doc::text(scalar.to_string()),
            Expression::Object(members) => Doc::object(
                members.iter().map(|(name, inner)| self.member(name, inner, scope, step, pointer)).collect(),
            ),
            Expression::Array(items) => Doc::array(items.iter().map(|item| {
                if self.parameters.may_be_absent(item) {
                    Doc::text(self.present(item, scope))
                } else {
                    self.value(item, scope)
                }
            })),
            Expression::Param(name) => Doc::text(self.param_or_default(name)),
            Expression::From(reference) => Doc::text(self.reference(reference, scope)),
            Expression::Item(program) => Doc::text(self.item(program, scope)),
            Expression::Index => Doc::text("index"),
            Expression::Default(first, fallback) => Doc::text(self.default(first, fallback, scope)),
            Expression::Text(parts) => Doc::text(self.text(parts, scope)),
        }
    }

    /// A member that is undefined is left out, as an optional parameter that was not given must be.
    fn member(&self, name: &str, value: &Expression, scope: Scope<'_>, step: Option<&Step>, pointer: &str) -> Member {
        let pointer = format!("{pointer}/{}", rote_types::escape_token(name));
        let note = self.origins.beside(step, value, &pointer);
        let value = self.noted(value, scope, step, &pointer);
        let is_shorthand = matches!(&value, Doc::Text(text) if text == name);
        Member { label: if is_shorthand { String::new() } else { format!("{}: ", key(name)) }, value, note }
    }

    pub(super) fn param(&self, name: &str) -> String {
        if is_plain(name) { format!("params.{name}") } else { format!("params[{}]", literal(name)) }
    }

    /// A parameter, or what the plan has in its place.
    fn param_or_default(&self, name: &str) -> String {
        let Some(parameter) = self.parameters.get(name) else { return self.param(name) };
        match &parameter.default {
            Some(default) => self.or(parameter, &json(default)),
            None => self.param(name),
        }
    }

    fn or(&self, parameter: &Parameter, fallback: &str) -> String {
        let param = self.param(&parameter.name);
        if parameter.is_nullable {
            format!("{param} !== undefined ? {param} : {fallback}")
        } else {
            format!("{param} ?? {fallback}")
        }
    }

    /// A value that must be there.
    fn present(&self, value: &Expression, scope: Scope<'_>) -> String {
        let text = self.inline(value, scope);
        match value {
            Expression::Param(name) if self.parameters.may_be_absent(value) => {
                format!("{}({}, {text})", self.helper("given"), literal(name))
            }
            // A fallback that was not given is null where a value is needed.
            _ if self.parameters.may_be_absent(value) => format!("({text}) ?? null"),
            _ => text,
        }
    }

    fn reference(&self, reference: &Reference, scope: Scope<'_>) -> String {
        let Reference { step, jq, each, with } = reference;
        let program = program(jq);
        let values = self.values(with, scope);
        let more = if values.is_empty() { String::new() } else { format!(", {values}") };
        if self.is_list(step) {
            return self.of_pages(reference, &values, scope);
        }
        let several = self.step_of(step).is_some_and(|step| step.for_each.is_some());
        let name = if several { self.names.answer(step) } else { self.names.step(step) };
        let one = match (each, scope.nullable) {
            (true, _) => format!("{name}.query({program}{more})"),
            // Of `.` there is always one output.
            (false, true) if jq == "." && with.is_empty() => format!("{name}.json()"),
            (false, true) => format!("{}({name}, {program}{more})", self.helper("read")),
            (false, false) => format!("{}({name}, {program}{more})", self.helper("one")),
        };
        if !several {
            return one;
        }
        let map = if *each { "flatMap" } else { "map" };
        format!("{}.{map}(({name}) => {one})", self.names.step(step))
    }

    /// A part of all pages of a list.
    fn of_pages(&self, Reference { step, jq, each, with }: &Reference, values: &str, scope: Scope<'_>) -> String {
        let (name, program) = (self.names.step(step), program(jq));
        let more = if values.is_empty() { String::new() } else { format!(", {values}") };
        match (each, scope.nullable) {
            (true, _) => format!("(await {}({name}, {program}{more}))", self.helper("allOfPages")),
            (false, true) if jq == "." && with.is_empty() => name.to_owned(),
            (false, nullable) => {
                self.helper("allOfPages");
                let one = self.helper("ofPages");
                let null = if nullable { ", true" } else { "" };
                let more = if nullable && more.is_empty() { ", {}".to_owned() } else { more };
                format!("await {one}({name}, {program}{more}{null})")
            }
        }
    }

    /// The variables of a program.
    pub(super) fn values(&self, with: &std::collections::BTreeMap<String, Bound>, scope: Scope<'_>) -> String {
        let scope = Scope { nullable: false, ..scope };
        let value = |bound: &Bound| match bound {
            Bound::From(reference) => self.reference(reference, scope),
            Bound::Param(name) => {
                let value = self.present(&Expression::Param(name.clone()), scope);
                match self.parameters.get(name) {
                    Some(parameter) if parameter.is_nullable => {
                        format!("{}({}, {value})", self.helper("some"), literal(name))
                    }
                    _ => value,
                }
            }
        };
        let members: Vec<String> =
            with.iter().map(|(name, bound)| format!("{}: {}", key(name), value(bound))).collect();
        if members.is_empty() {
            return String::new();
        }
        self.helper("values");
        format!("{{ {} }}", members.join(", "))
    }

    pub(super) fn item_name(&self, step: &Step) -> String {
        self.names.item(&step.id).to_owned()
    }

    fn item(&self, program_: &str, scope: Scope<'_>) -> String {
        let item = self.names.item(scope.step.unwrap_or_default());
        match member_path(program_) {
            Some(path) if path.is_empty() && self.is_scalar_item(scope) => item.to_owned(),
            Some(path) => {
                let path: String = path.iter().map(|name| format!(", {}", literal(name))).collect();
                format!("{}({item}{path})", self.helper("field"))
            }
            None => format!("await {}({item}, {})", self.helper("oneOf"), program(program_)),
        }
    }

    fn is_scalar_item(&self, scope: Scope<'_>) -> bool {
        scope.step.and_then(|step| self.step_of(step)).is_some_and(|step| self.parameters.has_scalar_items(step))
    }

    /// The items of a loop, as something that has `map` and `entries`.
    pub(super) fn items(&self, items: &Expression, scope: Scope<'_>) -> String {
        let text = self.present(items, scope);
        let is_list = match items {
            Expression::From(reference) => {
                reference.each || self.step_of(&reference.step).is_some_and(|step| step.for_each.is_some())
            }
            Expression::Param(name) => self
                .parameters
                .get(name)
                .is_some_and(|one| !one.is_nullable && !one.is_optional && matches!(one.kind, Kind::List(_))),
            Expression::Default(..) => false,
            _ => true,
        };
        if is_list { text } else { format!("{}({text})", self.helper("list")) }
    }

    fn default(&self, first: &Expression, fallback: &Expression, scope: Scope<'_>) -> String {
        if let Expression::Param(name) = first {
            let fallback = self.inline(fallback, scope);
            return match self.parameters.get(name) {
                Some(one) if one.is_optional && one.default.is_none() => self.or(one, &fallback),
                _ => self.param_or_default(name),
            };
        }
        let mut missing: Vec<&str> = steps_of(first).filter(|step| self.is_missing(step, scope)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return self.inline(first, scope);
        }
        let there: Vec<String> =
            missing.iter().map(|step| format!("{} !== undefined", self.names.step(step))).collect();
        let present = scope.present.iter().copied().chain(missing).collect();
        let then = self.inline(first, Scope { present: &present, ..scope });
        format!("{} ? {then} : {}", there.join(" && "), self.inline(fallback, scope))
    }

    /// Whether a step that is named here may have been skipped.
    pub(super) fn is_missing(&self, step: &str, scope: Scope<'_>) -> bool {
        self.outline.maybe.contains(step) && !scope.present.contains(step)
    }

    fn text(&self, parts: &[Expression], scope: Scope<'_>) -> String {
        if let [one] = parts {
            return self.text_part(one, scope);
        }
        let mut written = "`".to_owned();
        for part in parts {
            match part {
                Expression::Literal(Value::String(text)) => written.push_str(&template(text)),
                Expression::Param(name) if self.parameters.get(name).is_some_and(Parameter::is_scalar) => {
                    written.push_str(&format!("${{{}}}", self.param(name)));
                }
                Expression::Index => written.push_str("${index}"),
                Expression::Item(program) if program == "." && self.is_scalar_item(scope) => {
                    written.push_str(&format!("${{{}}}", self.item(program, scope)));
                }
                part => written.push_str(&format!("${{{}}}", self.text_part(part, scope))),
            }
        }
        written + "`"
    }

    fn text_part(&self, part: &Expression, scope: Scope<'_>) -> String {
        match part {
            Expression::Literal(Value::String(text)) => literal(text),
            Expression::Param(name)
                if self
                    .parameters
                    .get(name)
                    .is_some_and(|one| one.is_scalar() && matches!(one.kind, Kind::Text(_))) =>
            {
                self.param(name)
            }
            part => format!("{}({})", self.helper("text"), self.present(part, scope)),
        }
    }
}

/// The step on each of whose answers a program runs that has a variable from all pages of a list.
pub(super) fn binds_pages(plan: &Plan) -> Option<&str> {
    let is = |id: &str, what: &dyn Fn(&Step) -> bool| plan.steps.iter().any(|step| step.id == id && what(step));
    let all = plan.steps.iter().flat_map(Step::expressions).chain([&plan.result]);
    let found = all.flat_map(Expression::references).find(|outer| {
        let mut binds = false;
        outer.walk(&mut |inner| binds |= is(&inner.step, &|step| step.pages.is_some()));
        is(&outer.step, &|step| step.for_each.is_some()) && binds
    });
    found.map(|outer| outer.step.as_str())
}

/// A literal value in one line.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{}: {}", key(name), json(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A jq program as a literal: in single quotes where it has double ones and nothing that must be escaped.
pub(super) fn program(jq: &str) -> String {
    let plain =
        jq.contains('"') && jq.chars().all(|c| !c.is_control() && !matches!(c, '\'' | '\\' | '\u{2028}' | '\u{2029}'));
    if plain && literal(jq).matches("\\u{").count() == 0 { format!("'{jq}'") } else { literal(jq) }
}

/// Text inside a template literal.
fn template(text: &str) -> String {
    let quoted = literal(text);
    quoted[1..quoted.len() - 1].replace("\\\"", "\"").replace('`', "\\`").replace("${", "\\${")
}
