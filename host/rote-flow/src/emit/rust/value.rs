//! Values in Rust: as they stand inside `json!`, and by themselves.

use std::collections::BTreeMap;

use rote_plan::{Bound, Expression, Reference, Step};
use serde_json::Value;

use super::super::layout::{Doc, Member, Pad};
use super::super::outline::steps_of;
use super::super::{literal, member_path};
use super::{Kind, Parameter, Present, Scope, Seen, Writer, pad};

/// A member that a run may be without, by its way from the root.
pub(super) type Optional<'e> = (Vec<String>, &'e Expression);

impl Writer<'_> {
    /// The arguments of a step, and those of them that a run may be without.
    pub(super) fn arguments<'e>(&self, step: &'e Step, scope: Scope<'_>) -> (Doc, Vec<Optional<'e>>) {
        let mut more = Vec::new();
        self.collect(&step.arguments, &mut Vec::new(), &mut more);
        (self.noted(&step.arguments, scope, Some(step), ""), more)
    }

    pub(super) fn result(&self, scope: Scope<'_>, lines: &mut Vec<String>) {
        let result = &self.plan.result;
        let mut more = Vec::new();
        self.collect(result, &mut Vec::new(), &mut more);
        if !more.is_empty() {
            lines.push(self.json(result, scope).lay(pad(1), "let mut result = json!(", ");"));
            lines.extend(self.optional("result", &more, scope, pad(1)));
            lines.push("    Ok(result)".to_owned());
            return;
        }
        let line = match result {
            Expression::From(reference) if self.is_query(result) => format!("    {}", self.returned(reference, scope)),
            Expression::Default(first, fallback) => {
                match (&**first, &**fallback, self.missing(first, scope).as_slice()) {
                    (Expression::From(made), Expression::From(found), [step])
                        if self.is_query(first) && self.is_query(fallback) =>
                    {
                        let name = self.names.step(step);
                        let present = scope.present.iter().map(|(step, seen)| (*step, *seen));
                        let present = present.chain([(*step, Seen::Borrowed)]).collect();
                        let made = self.returned(made, Scope { present: &present, ..scope });
                        let found = self.returned(found, scope);
                        format!(
                            "    match &{name} {{\n        Some({name}) => {made},\n        None => {found},\n    }}"
                        )
                    }
                    _ => format!("    Ok({})", self.expression(result, scope)),
                }
            }
            Expression::Param(name) => format!("    Ok(json!({}))", self.param_or_null(name)),
            Expression::Object(_) | Expression::Array(_) | Expression::Literal(_) => {
                self.json(result, scope).lay(pad(1), "Ok(json!(", "))")
            }
            other => format!("    Ok({})", self.expression(other, scope)),
        };
        lines.push(line);
    }

    /// Whether it is the one output of a program on one answer.
    fn is_query(&self, value: &Expression) -> bool {
        matches!(value, Expression::From(reference) if !reference.each && !self.is_several(&reference.step))
    }

    /// What a query gives, as `main` returns it.
    fn returned(&self, reference: &Reference, scope: Scope<'_>) -> String {
        if let Some(list) = self.whole_list(reference, scope) {
            return format!("Ok({list})");
        }
        self.query(reference, self.answer(&reference.step, scope), scope).replace("::<Value>", "")
    }

    /// A parameter where one that was not given is null.
    fn param_or_null(&self, name: &str) -> String {
        match self.parameters.get(name) {
            Some(one) if one.default.is_none() => self.param(name),
            _ => self.present(name),
        }
    }

    /// Finds the members that a run may be without.
    fn collect<'e>(&self, value: &'e Expression, at: &mut Vec<String>, found: &mut Vec<Optional<'e>>) {
        let mut within = |segment: String, inner: &'e Expression, is_member: bool| {
            at.push(segment);
            if is_member && self.parameters.may_be_absent(inner) {
                found.push((at.clone(), inner));
            } else {
                self.collect(inner, at, found);
            }
            at.pop();
        };
        match value {
            Expression::Object(members) => {
                members.iter().for_each(|(name, inner)| within(literal(name), inner, true));
            }
            Expression::Array(items) => {
                items.iter().enumerate().for_each(|(index, inner)| within(index.to_string(), inner, false));
            }
            _ => {}
        }
    }

    /// Sets what a run may be without.
    pub(super) fn optional(&self, root: &str, more: &[Optional<'_>], scope: Scope<'_>, pad: Pad) -> Vec<String> {
        let spaces = pad.spaces();
        let one = |(way, value): &Optional<'_>| {
            let place: String = way.iter().map(|segment| format!("[{segment}]")).collect();
            let value = self.option(value, scope);
            format!("{spaces}if let Some(value) = {value} {{\n{spaces}    {root}{place} = json!(value);\n{spaces}}}")
        };
        more.iter().map(one).collect()
    }

    /// An expression of an `Option`.
    fn option(&self, value: &Expression, scope: Scope<'_>) -> String {
        match value {
            Expression::Param(name) => format!("&{}", self.param(name)),
            Expression::Default(first, fallback) => {
                let fallback = match &**fallback {
                    Expression::Param(name) => format!("{}.as_ref().map(|value| json!(value))", self.param(name)),
                    other => self.option(other, scope),
                };
                self.default(first, scope, &|first| format!("Some({first})"), &fallback)
            }
            other => format!("Some({})", self.expression(other, scope)),
        }
    }

    pub(super) fn param(&self, name: &str) -> String {
        format!("params.{}", self.field(name))
    }

    fn json(&self, expression: &Expression, scope: Scope<'_>) -> Doc {
        self.noted(expression, scope, None, "")
    }

    fn inline(&self, expression: &Expression, scope: Scope<'_>) -> String {
        self.json(expression, scope).inline()
    }

    /// A value of the arguments of `step` inside `json!`, with what is known of its constants.
    fn noted(&self, expression: &Expression, scope: Scope<'_>, step: Option<&Step>, pointer: &str) -> Doc {
        let member = |name: &str, value: &Expression| {
            let pointer = format!("{pointer}/{}", rote_types::escape_token(name));
            let note = self.origins.beside(step, value, &pointer);
            Member { label: format!("{}: ", literal(name)), value: self.noted(value, scope, step, &pointer), note }
        };
        match expression {
            Expression::Literal(Value::Object(members)) => Doc::object(
                members.iter().map(|(name, value)| member(name, &Expression::Literal(value.clone()))).collect(),
            ),
            Expression::Literal(Value::Array(items)) => {
                Doc::array(items.iter().map(|item| self.json(&Expression::Literal(item.clone()), scope)))
            }
            Expression::Literal(scalar) => Doc::text(of_scalar(scalar)),
            Expression::Object(members) => {
                let there = members.iter().filter(|(_, inner)| !self.parameters.may_be_absent(inner));
                Doc::object(there.map(|(name, inner)| member(name, inner)).collect())
            }
            Expression::Array(items) => Doc::array(items.iter().map(|item| self.json(item, scope))),
            Expression::Param(name) => Doc::text(self.present(name)),
            Expression::Index => Doc::text("index"),
            Expression::Text(parts) => Doc::text(self.text(parts, scope)),
            Expression::From(reference) => Doc::text(self.reference(reference, scope)),
            Expression::Item(program) if program == "." && self.is_scalar_item(scope) => {
                Doc::text(self.names.item(scope.step.unwrap_or_default()))
            }
            other => Doc::text(self.expression(other, scope)),
        }
    }

    /// A parameter where a value is needed.
    fn present(&self, name: &str) -> String {
        let param = self.param(name);
        match self.parameters.get(name) {
            Some(Parameter { is_optional: true, default: Some(default), .. }) => {
                let default = self.inline(
                    &Expression::Literal(default.clone()),
                    Scope { present: &Present::new(), step: None, nullable: true },
                );
                format!("match &{param} {{ Some(value) => json!(value), None => json!({default}) }}")
            }
            Some(one) if one.is_optional => format!("{}({}, &{param})?", self.helper("given"), literal(name)),
            _ => param,
        }
    }

    /// An expression of type `Value`.
    pub(super) fn expression(&self, expression: &Expression, scope: Scope<'_>) -> String {
        match expression {
            Expression::From(reference) if reference.each || self.is_several(&reference.step) => {
                format!("json!({})", self.reference(reference, scope))
            }
            Expression::From(reference) => self.reference(reference, scope),
            Expression::Item(program) if program == "." && self.is_scalar_item(scope) => {
                format!("json!({})", self.names.item(scope.step.unwrap_or_default()))
            }
            Expression::Item(program_) => {
                let item = self.names.item(scope.step.unwrap_or_default());
                match member_path(program_) {
                    Some(path) => {
                        let pointer: String = path.iter().map(|name| format!("/{name}")).collect();
                        format!("{}(&{item}, {})?", self.helper("field"), literal(&pointer))
                    }
                    None => format!("{}(cx, &{item}, {})?", self.helper("one_of"), program(program_)),
                }
            }
            Expression::Default(first, fallback) => {
                let fallback = self.expression(fallback, scope);
                self.default(first, scope, &|first| first, &fallback)
            }
            Expression::Param(name) if self.parameters.get(name).is_some_and(|one| one.is_optional) => {
                self.present(name)
            }
            other => format!("json!({})", self.inline(other, scope)),
        }
    }

    /// `first`, made into something, or the fallback.
    fn default(&self, first: &Expression, scope: Scope<'_>, make: &dyn Fn(String) -> String, fallback: &str) -> String {
        if let Expression::Param(name) = first {
            return match self.parameters.get(name) {
                Some(one) if one.is_optional && one.default.is_none() => {
                    let value = make("json!(value)".to_owned());
                    format!("match &{} {{ Some(value) => {value}, None => {fallback} }}", self.param(name))
                }
                _ => make(self.expression(first, scope)),
            };
        }
        let missing = self.missing(first, scope);
        if missing.is_empty() {
            return make(self.expression(first, scope));
        }
        let mut present = scope.present.clone();
        present.extend(missing.iter().map(|step| (*step, Seen::Borrowed)));
        let then = make(self.expression(first, Scope { present: &present, ..scope }));
        self.matched(&missing, &then, fallback)
    }

    /// Looks whether steps were skipped.
    pub(super) fn matched(&self, steps: &[&str], then: &str, otherwise: &str) -> String {
        let names: Vec<&str> = steps.iter().map(|step| self.names.step(step)).collect();
        if let [name] = names.as_slice() {
            return format!("match &{name} {{ Some({name}) => {then}, None => {otherwise} }}");
        }
        let of = |word: &dyn Fn(&str) -> String| names.iter().map(|name| word(name)).collect::<Vec<_>>().join(", ");
        let (given, there) = (of(&|name| format!("&{name}")), of(&|name| format!("Some({name})")));
        format!("match ({given}) {{ ({there}) => {then}, _ => {otherwise} }}")
    }

    /// The steps of an expression that may have been skipped where it stands.
    pub(super) fn missing<'e>(&self, expression: &'e Expression, scope: Scope<'_>) -> Vec<&'e str> {
        let is_missing = |step: &&str| self.outline.maybe.contains(step) && !scope.present.contains_key(step);
        let mut missing: Vec<&str> = steps_of(expression).filter(is_missing).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    pub(super) fn is_several(&self, step: &str) -> bool {
        self.step_of(step).is_some_and(|step| step.for_each.is_some())
    }

    /// A step's answer as a reference.
    pub(super) fn answer(&self, step: &str, scope: Scope<'_>) -> String {
        let name = self.names.step(step);
        if scope.present.get(step) == Some(&Seen::Borrowed) { name.to_owned() } else { format!("&{name}") }
    }

    /// Whether the answer of a step is all pages of a list, a value.
    pub(super) fn is_list(&self, step: &str) -> bool {
        self.step_of(step).is_some_and(|step| step.pages.is_some())
    }

    /// All pages of a list as they are.
    fn whole_list(&self, Reference { step, jq, each, with }: &Reference, scope: Scope<'_>) -> Option<String> {
        let is_whole = self.is_list(step) && scope.nullable && jq == "." && !each && with.is_empty();
        is_whole.then(|| format!("{}.clone()", self.names.step(step)))
    }

    pub(super) fn reference(&self, reference: &Reference, scope: Scope<'_>) -> String {
        if let Some(list) = self.whole_list(reference, scope) {
            return list;
        }
        if !self.is_several(&reference.step) {
            return format!("{}?", self.query(reference, self.answer(&reference.step, scope), scope));
        }
        let answer = self.names.answer(&reference.step);
        let one = self.query(reference, answer.to_owned(), scope);
        let all =
            format!("{}.iter().map(|{answer}| {one}).collect::<Result<Vec<_>>>()?", self.names.step(&reference.step));
        if reference.each { format!("{all}.concat()") } else { all }
    }

    /// A query of one answer, given as a reference; a `Result`.
    fn query(&self, reference: &Reference, answer: String, scope: Scope<'_>) -> String {
        let Reference { step, jq, each, with } = reference;
        let values = self.values(with, scope);
        if self.is_list(step) {
            let helper = match (each, scope.nullable) {
                (true, _) => self.helper("all_of_pages"),
                (false, true) => self.helper("of_pages"),
                (false, false) => self.helper("one_of_pages"),
            };
            return format!("{helper}(cx, {answer}, {}, {})", program(jq), values.as_deref().unwrap_or("&[]"));
        }
        let on = answer.trim_start_matches('&').to_owned();
        if *each {
            return match values {
                None => format!("cx.query({answer}).pipe({}).all::<Value>()", program(jq)),
                // On a line of its own, should the program end with a comment.
                Some(values) => {
                    let end = if jq.contains('#') { "\n]" } else { "]" };
                    format!("{on}.query_with::<Vec<Value>>({}, {values})", program(&format!("[{jq}{end}")))
                }
            };
        }
        match (scope.nullable, values) {
            (true, None) if jq == "." => format!("{on}.json::<Value>()"),
            (true, None) => format!("{on}.query::<Value>({})", program(jq)),
            (true, Some(values)) => format!("{on}.query_with::<Value>({}, {values})", program(jq)),
            (false, None) => format!("{}({answer}, {})", self.helper("one"), program(jq)),
            (false, Some(values)) => format!("{}({answer}, {}, {values})", self.helper("one_with"), program(jq)),
        }
    }

    /// The variables of a program.
    pub(super) fn values(&self, with: &BTreeMap<String, Bound>, scope: Scope<'_>) -> Option<String> {
        let scope = Scope { nullable: false, ..scope };
        let value = |bound: &Bound| match bound {
            Bound::From(reference) => self.expression(&Expression::From((**reference).clone()), scope),
            Bound::Param(name) => {
                let value = self.expression(&Expression::Param(name.clone()), scope);
                match self.parameters.get(name) {
                    Some(parameter) if parameter.is_nullable => {
                        format!("{}({}, {value})?", self.helper("some"), literal(name))
                    }
                    _ => value,
                }
            }
        };
        let members: Vec<String> =
            with.iter().map(|(name, bound)| format!("({}, {})", literal(name), value(bound))).collect();
        (!members.is_empty()).then(|| format!("&[{}]", members.join(", ")))
    }

    /// The items of a loop, as a `Vec` of values.
    pub(super) fn items(&self, step: &Step, items: &Expression, scope: Scope<'_>) -> String {
        match items {
            Expression::From(reference) if reference.each || self.is_several(&reference.step) => {
                self.reference(reference, scope)
            }
            Expression::Param(name) if self.parameters.has_scalar_items(step) => format!("&{}", self.param(name)),
            other => format!("{}({})?", self.helper("list"), self.expression(other, scope)),
        }
    }

    fn is_scalar_item(&self, scope: Scope<'_>) -> bool {
        scope.step.and_then(|step| self.step_of(step)).is_some_and(|step| self.parameters.has_scalar_items(step))
    }

    fn text(&self, parts: &[Expression], scope: Scope<'_>) -> String {
        let part = |part: &Expression| match part {
            Expression::Param(name) if self.parameters.get(name).is_some_and(Parameter::is_scalar) => self.param(name),
            Expression::Index => "index".to_owned(),
            Expression::Item(program) if program == "." && self.is_scalar_item(scope) => {
                self.names.item(scope.step.unwrap_or_default()).to_owned()
            }
            part => format!("{}(&{})", self.helper("text"), self.expression(part, scope)),
        };
        if let [one] = parts {
            return match one {
                Expression::Param(name)
                    if self
                        .parameters
                        .get(name)
                        .is_some_and(|one| one.is_scalar() && matches!(one.kind, Kind::Text(_))) =>
                {
                    self.param(name)
                }
                Expression::Param(name) if self.parameters.get(name).is_some_and(Parameter::is_scalar) => {
                    format!("{}.to_string()", self.param(name))
                }
                Expression::Literal(Value::String(text)) => literal(text),
                Expression::Index | Expression::Item(_) if !part(one).starts_with("text(") => {
                    format!("{}.to_string()", part(one))
                }
                one => part(one),
            };
        }
        let (mut format, mut values) = (String::new(), String::new());
        for one in parts {
            if let Expression::Literal(Value::String(text)) = one {
                format.push_str(&text.replace('{', "{{").replace('}', "}}"));
            } else {
                format.push_str("{}");
                values.push_str(&format!(", {}", part(one)));
            }
        }
        format!("format!({}{values})", literal(&format))
    }
}

/// A scalar inside `json!`.
pub(super) fn of_scalar(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            let small = number.as_i64().is_some_and(|one| i32::try_from(one).is_ok());
            let kind = match (small, number.is_i64()) {
                (true, _) => "",
                (false, true) => "_i64",
                (false, false) => "_u64",
            };
            format!("{number}{kind}")
        }
        Value::Number(number) => format!("{number}_f64"),
        other => other.to_string(),
    }
}

/// A jq program as a literal: a raw one where it has quotes.
pub(super) fn program(jq: &str) -> String {
    let quoted = literal(jq);
    let is_plain =
        !quoted.contains("\\n") && !quoted.contains("\\u{") && !quoted.contains("\\t") && !quoted.contains("\\r");
    if is_plain && quoted.contains('\\') && !jq.contains("\"#") { format!("r#\"{jq}\"#") } else { quoted }
}
