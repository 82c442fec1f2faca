//! The calls of tools whose names stand in an author's file as literals, found before the types are stripped.
//!
//! Seen is `rote.adapter("id").call("tool", { name: … })`, also of a `const` that was made so, with `callBg` and the items of
//! `batchCall`; and calls of functions that another file of the author's has, such as bindings (`listOrders(shop, { … })`). What
//! is put together while the flow runs is not seen.

use std::collections::BTreeMap;

use oxc_ast::ast::{
    ArrayExpression, CallExpression, Expression, ImportDeclaration, ImportDeclarationSpecifier, ObjectExpression,
    ObjectPropertyKind, Program, PropertyKey, VariableDeclaration, VariableDeclarationKind,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Scoping;
use oxc_span::GetSpan;
use oxc_syntax::operator::UnaryOperator;
use oxc_syntax::symbol::SymbolId;
use serde_json::{Map, Value};

use crate::Place;
use crate::place::place;

/// Most calls of one file that are looked at.
const MAX_CALLS: usize = 10_000;
/// The members of an adapter whose first argument is a tool.
const CALLS: [&str; 2] = ["call", "callBg"];
/// The keys of a tool in the items of a batch.
const TOOLS: [&str; 2] = ["tool", "tool_name"];

/// A call of an adapter's tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralCall {
    /// The adapter's id.
    pub adapter: String,
    /// Where the adapter's id stands.
    pub adapter_at: Place,
    /// The tool's name.
    pub tool: String,
    /// Where the tool's name stands.
    pub at: Place,
    /// The arguments that are named.
    pub arguments: Vec<LiteralArgument>,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralArgument {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub at: Place,
    /// Its value, where all of that stands in the source.
    pub value: Option<Value>,
}

/// A call of a function that another file of the author's has, with an object as its second argument or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedCall {
    /// What the file imports, as it is written there: `./shop` or `./shop.ts`.
    pub specifier: String,
    /// The function's name in that file.
    pub function: String,
    /// Where it is called.
    pub at: Place,
    /// The members of the object that are named.
    pub arguments: Vec<LiteralArgument>,
}

/// The calls that are written in a file.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) tools: Vec<LiteralCall>,
    pub(crate) imported: Vec<ImportedCall>,
}

/// Returns the calls of a file in the order of the text.
pub(crate) fn written_calls(program: &Program<'_>, scoping: &Scoping, file: (&str, &str)) -> Calls {
    let (adapters, imports) = (BTreeMap::new(), BTreeMap::new());
    let mut finder = Finder { scoping, file, adapters, imports, bound: false, calls: Calls::default() };
    // A function may stand before the `const` that it uses.
    finder.visit_program(program);
    finder.bound = true;
    finder.visit_program(program);
    finder.calls
}

struct Finder<'s> {
    scoping: &'s Scoping,
    /// Its name and its text.
    file: (&'s str, &'s str),
    /// The adapter that a `const` holds.
    adapters: BTreeMap<SymbolId, (String, Place)>,
    /// What names of the file stand for in another one of the author's: the specifier and the name there, none for all of it.
    imports: BTreeMap<SymbolId, (String, Option<String>)>,
    /// All of them are known.
    bound: bool,
    calls: Calls,
}

impl Finder<'_> {
    fn place(&self, at: &impl GetSpan) -> Place {
        place(self.file.0, self.file.1, at.span().start as usize)
    }

    /// The adapter that a value is and where its id stands, if it does in the source.
    fn adapter(&self, value: &Expression<'_>) -> Option<(String, Place)> {
        match value.get_inner_expression() {
            Expression::Identifier(name) => {
                let symbol = self.scoping.get_reference(name.reference_id.get()?).symbol_id()?;
                self.adapters.get(&symbol).cloned()
            }
            Expression::CallExpression(call) => {
                let member = call.callee.as_member_expression()?;
                let given = call.arguments.first()?.as_expression()?;
                let id = text(given)?;
                let is_one = member.static_property_name() == Some("adapter");
                is_one.then(|| (id.strip_prefix("adapter/").unwrap_or(&id).to_owned(), self.place(given)))
            }
            _ => None,
        }
    }

    fn note(
        &mut self,
        (adapter, adapter_at): &(String, Place),
        tool: &Expression<'_>,
        arguments: Option<&Expression<'_>>,
    ) {
        let Some(name) = text(tool).filter(|_| self.calls.tools.len() < MAX_CALLS) else { return };
        let (arguments, at) = (self.arguments(arguments), self.place(tool));
        let (adapter, adapter_at) = (adapter.clone(), adapter_at.clone());
        self.calls.tools.push(LiteralCall { adapter, adapter_at, tool: name, at, arguments });
    }

    fn arguments(&self, given: Option<&Expression<'_>>) -> Vec<LiteralArgument> {
        let argument = |(key, given): (&PropertyKey<'_>, &Expression<'_>)| {
            let name = key.static_name()?.into_owned();
            Some(LiteralArgument { name, at: self.place(key), value: value(given) })
        };
        given.and_then(object).map_or_else(Vec::new, |given| members(given).filter_map(argument).collect())
    }

    /// What a name stands for, where it was imported.
    fn import(&self, name: &Expression<'_>) -> Option<&(String, Option<String>)> {
        let Expression::Identifier(name) = name.get_inner_expression() else { return None };
        self.imports.get(&self.scoping.get_reference(name.reference_id.get()?).symbol_id()?)
    }

    fn note_imported(&mut self, call: &CallExpression<'_>) {
        let function = match call.callee.as_member_expression() {
            Some(member) => match (self.import(member.object()), member.static_property_name()) {
                (Some((specifier, None)), Some(name)) => Some((specifier.clone(), name.to_owned())),
                _ => None,
            },
            None => match self.import(&call.callee) {
                Some((specifier, Some(name))) => Some((specifier.clone(), name.clone())),
                _ => None,
            },
        };
        let Some((specifier, function)) = function.filter(|_| self.calls.imported.len() < MAX_CALLS) else { return };
        let arguments = self.arguments(call.arguments.get(1).and_then(|given| given.as_expression()));
        self.calls.imported.push(ImportedCall { specifier, function, at: self.place(&call.callee), arguments });
    }

    fn note_batch(&mut self, adapter: &(String, Place), items: &ArrayExpression<'_>) {
        for item in items.elements.iter().filter_map(|item| object(item.as_expression()?)) {
            let member = |names: &[&str]| {
                let mut of =
                    members(item).filter(|(key, _)| key.static_name().is_some_and(|key| names.contains(&&*key)));
                of.next().map(|(_, value)| value)
            };
            if let Some(tool) = member(&TOOLS) {
                self.note(adapter, tool, member(&["arguments"]));
            }
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let specifier = it.source.value.as_str();
        let is_own = specifier.starts_with("./") || specifier.starts_with("../");
        for one in it.specifiers.iter().flatten().filter(|_| is_own && !self.bound) {
            let (local, name) = match one {
                ImportDeclarationSpecifier::ImportSpecifier(one) => (&one.local, Some(one.imported.name().to_string())),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => (&one.local, None),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => continue,
            };
            if let Some(symbol) = local.symbol_id.get() {
                self.imports.insert(symbol, (specifier.to_owned(), name));
            }
        }
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        let constant = it.kind == VariableDeclarationKind::Const && !self.bound;
        for one in it.declarations.iter().filter(|_| constant) {
            if let Some(name) = one.id.get_binding_identifier()
                && let Some(symbol) = name.symbol_id.get()
                && let Some(id) = one.init.as_ref().and_then(|value| self.adapter(value))
            {
                self.adapters.insert(symbol, id);
            }
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if self.bound {
            self.note_imported(it);
        }
        if self.bound
            && let Some(member) = it.callee.as_member_expression()
            && let Some(name) = member.static_property_name()
            && let Some(first) = it.arguments.first().and_then(|first| first.as_expression())
            && let Some(adapter) = self.adapter(member.object())
        {
            match first.get_inner_expression() {
                tool if CALLS.contains(&name) => {
                    self.note(&adapter, tool, it.arguments.get(1).and_then(|given| given.as_expression()));
                }
                Expression::ArrayExpression(items) if name == "batchCall" => self.note_batch(&adapter, items),
                _ => {}
            }
        }
        walk::walk_call_expression(self, it);
    }
}

/// The text that an expression is.
fn text(value: &Expression<'_>) -> Option<String> {
    match value.get_inner_expression() {
        Expression::StringLiteral(text) => Some(text.value.to_string()),
        Expression::TemplateLiteral(text) => text.single_quasi().map(|text| text.to_string()),
        _ => None,
    }
}

/// The value that an expression is, where it is the same whenever it runs.
fn value(given: &Expression<'_>) -> Option<Value> {
    match given.get_inner_expression() {
        Expression::NullLiteral(_) => Some(Value::Null),
        Expression::BooleanLiteral(one) => Some(one.value.into()),
        Expression::NumericLiteral(one) => number(one.value),
        Expression::UnaryExpression(one) if one.operator == UnaryOperator::UnaryNegation => {
            match one.argument.get_inner_expression() {
                Expression::NumericLiteral(one) => number(-one.value),
                _ => None,
            }
        }
        Expression::ArrayExpression(items) => items.elements.iter().map(|item| value(item.as_expression()?)).collect(),
        Expression::ObjectExpression(object) => {
            let all = object.properties.len() == members(object).count();
            let member = |(key, given): (&PropertyKey<'_>, &Expression<'_>)| {
                Some((key.static_name()?.into_owned(), value(given)?))
            };
            members(object).map(member).collect::<Option<Map<_, _>>>().filter(|_| all).map(Value::Object)
        }
        other => text(other).map(Value::String),
    }
}

/// A number as JSON writes it in JavaScript: whole ones without a point.
#[expect(clippy::cast_possible_truncation, reason = "only whole numbers that a double holds exactly")]
fn number(given: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if given.fract() == 0.0 && given.abs() < EXACT {
        return Some(Value::from(given as i64));
    }
    serde_json::Number::from_f64(given).map(Value::Number)
}

fn object<'e, 'a>(value: &'e Expression<'a>) -> Option<&'e ObjectExpression<'a>> {
    match value.get_inner_expression() {
        Expression::ObjectExpression(object) => Some(object),
        _ => None,
    }
}

/// The members of an object that have a name of their own in the source.
fn members<'e, 'a>(
    object: &'e ObjectExpression<'a>,
) -> impl Iterator<Item = (&'e PropertyKey<'a>, &'e Expression<'a>)> {
    object.properties.iter().filter_map(|one| match one {
        ObjectPropertyKind::ObjectProperty(one) if !one.computed => Some((&one.key, &one.value)),
        _ => None,
    })
}
