//! The calls of tools whose names stand in an author's file as literals, found before the types are stripped.
//!
//! Seen is `rote.adapter("id").call("tool", { name: … })`, also of a `const` that was made so, with `callBg` and the items of
//! `batchCall`; and calls of functions that another file of the author's has, such as bindings (`listOrders(shop, { … })`), and of
//! tools of what such a function returns (`connect(rote).call("tool")`). Arguments may stand in a `const` of the file. What is put
//! together while the flow runs is not seen.

use std::collections::BTreeMap;

use oxc_ast::ast::{
    Argument, ArrayExpression, CallExpression, Expression, ImportDeclaration, ImportDeclarationSpecifier,
    ObjectExpression, ObjectPropertyKind, Program, PropertyKey, VariableDeclaration, VariableDeclarationKind,
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
    /// What it is given.
    pub arguments: LiteralArguments,
}

/// The arguments of a call, as far as they stand in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiteralArguments {
    /// Those that are named.
    pub named: Vec<LiteralArgument>,
    /// There are no others.
    pub whole: bool,
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

/// A call of a function that another file of the author's has, with an object as its second argument or none; or of a tool of the
/// adapter that such a function returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedCall {
    /// What the file imports, as it is written there: `./shop` or `./shop.ts`.
    pub specifier: String,
    /// The function's name in that file.
    pub function: String,
    /// The tool that is called of what the function returns.
    pub tool: Option<String>,
    /// Where the function is called, or where the tool's name stands.
    pub at: Place,
    /// What the function is given behind its first argument, or the tool.
    pub arguments: LiteralArguments,
}

/// The calls that are written in a file.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) tools: Vec<LiteralCall>,
    pub(crate) imported: Vec<ImportedCall>,
}

/// Returns the calls of a file in the order of the text.
pub(crate) fn written_calls(program: &Program<'_>, scoping: &Scoping, file: (&str, &str)) -> Calls {
    let mut finder = Finder { scoping, file, names: Names::default(), pass: Pass::Names, calls: Calls::default() };
    // A function may stand before the `const` that it uses, and an object is known when each use of it is.
    for pass in [Pass::Names, Pass::Uses, Pass::Calls] {
        finder.pass = pass;
        finder.visit_program(program);
    }
    finder.calls
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// What names of the file stand for.
    Names,
    /// How often objects are given to calls.
    Uses,
    /// The calls.
    Calls,
}

/// What names of a file stand for.
#[derive(Default)]
struct Names {
    /// The adapter that a `const` holds.
    adapters: BTreeMap<SymbolId, Adapter>,
    /// What is imported from another file of the author's: the specifier and the name there, none for all of it.
    imports: BTreeMap<SymbolId, (String, Option<String>)>,
    /// The text, number or truth that a `const` is.
    values: BTreeMap<SymbolId, Value>,
    /// The object that a `const` holds, and how often a call is given it.
    objects: BTreeMap<SymbolId, (LiteralArguments, usize)>,
}

/// An adapter whose tools are called.
#[derive(Clone)]
enum Adapter {
    /// By its id, and where that stands.
    Id(String, Place),
    /// What a function of another file returns: the specifier and the name there.
    Of(String, String),
}

struct Finder<'s> {
    scoping: &'s Scoping,
    /// Its name and its text.
    file: (&'s str, &'s str),
    names: Names,
    pass: Pass,
    calls: Calls,
}

impl Finder<'_> {
    fn place(&self, at: &impl GetSpan) -> Place {
        place(self.file.0, self.file.1, at.span().start as usize)
    }

    /// The variable that an expression is.
    fn symbol(&self, value: &Expression<'_>) -> Option<SymbolId> {
        let Expression::Identifier(name) = value.get_inner_expression() else { return None };
        self.scoping.get_reference(name.reference_id.get()?).symbol_id()
    }

    /// The adapter that a value is, if that stands in the source.
    fn adapter(&self, value: &Expression<'_>) -> Option<Adapter> {
        match value.get_inner_expression() {
            Expression::Identifier(_) => self.names.adapters.get(&self.symbol(value)?).cloned(),
            Expression::CallExpression(call) => {
                if let Some((specifier, function)) = self.imported(&call.callee) {
                    return Some(Adapter::Of(specifier, function));
                }
                let member = call.callee.as_member_expression()?;
                match member.static_property_name()? {
                    "adapter" => {
                        let given = call.arguments.first()?.as_expression()?;
                        let id = text(given)?;
                        let id = id.strip_prefix("adapter/").unwrap_or(&id);
                        Some(Adapter::Id(id.to_owned(), self.place(given)))
                    }
                    "withFingerprint" => self.adapter(member.object()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn note(&mut self, adapter: &Adapter, tool: &Expression<'_>, arguments: Option<&Argument<'_>>) {
        let arguments = self.arguments(arguments);
        self.note_given(adapter, tool, arguments);
    }

    fn note_given(&mut self, adapter: &Adapter, tool: &Expression<'_>, arguments: LiteralArguments) {
        let Some(name) = text(tool).filter(|_| self.has_room()) else { return };
        let at = self.place(tool);
        match adapter.clone() {
            Adapter::Id(adapter, adapter_at) => {
                self.calls.tools.push(LiteralCall { adapter, adapter_at, tool: name, at, arguments });
            }
            Adapter::Of(specifier, function) => {
                self.calls.imported.push(ImportedCall { specifier, function, tool: Some(name), at, arguments });
            }
        }
    }

    /// Whether a call is noted.
    fn has_room(&self) -> bool {
        self.pass == Pass::Calls && self.calls.tools.len() + self.calls.imported.len() < MAX_CALLS
    }

    /// What a call is given, which is nothing where there is no argument.
    fn arguments(&mut self, given: Option<&Argument<'_>>) -> LiteralArguments {
        match given.map(Argument::as_expression) {
            None => LiteralArguments { named: Vec::new(), whole: true },
            Some(given) => given.map(|given| self.given(given)).unwrap_or_default(),
        }
    }

    fn given(&mut self, given: &Expression<'_>) -> LiteralArguments {
        if let Some(object) = object(given) {
            return self.members_of(object);
        }
        let Some(symbol) = self.symbol(given) else { return LiteralArguments::default() };
        let uses = self.scoping.get_resolved_reference_ids(symbol).len();
        let Some((held, given)) = self.names.objects.get_mut(&symbol) else { return LiteralArguments::default() };
        *given += usize::from(self.pass == Pass::Uses);
        // Whatever else uses it may change it.
        if *given == uses { held.clone() } else { LiteralArguments::default() }
    }

    /// The members of an object that are named in the source.
    fn members_of(&self, object: &ObjectExpression<'_>) -> LiteralArguments {
        let named = members(object).filter_map(|(key, given)| {
            Some(LiteralArgument {
                name: key.static_name()?.into_owned(),
                at: self.place(key),
                value: self.value(given),
            })
        });
        let named: Vec<LiteralArgument> = named.collect();
        LiteralArguments { whole: named.len() == object.properties.len(), named }
    }

    /// What a name stands for, where it was imported.
    fn import(&self, name: &Expression<'_>) -> Option<&(String, Option<String>)> {
        self.names.imports.get(&self.symbol(name)?)
    }

    /// The function of another file that an expression is: the specifier and the name there.
    fn imported(&self, function: &Expression<'_>) -> Option<(String, String)> {
        let (of, name) = match function.as_member_expression() {
            Some(member) => (self.import(member.object())?, member.static_property_name()),
            None => (self.import(function)?, None),
        };
        match (of, name) {
            ((specifier, None), Some(name)) => Some((specifier.clone(), name.to_owned())),
            ((specifier, Some(name)), None) => Some((specifier.clone(), name.clone())),
            _ => None,
        }
    }

    fn note_imported(&mut self, call: &CallExpression<'_>) {
        let Some((specifier, function)) = self.imported(&call.callee) else { return };
        let arguments = self.arguments(call.arguments.get(1));
        if self.has_room() {
            let at = self.place(&call.callee);
            self.calls.imported.push(ImportedCall { specifier, function, tool: None, at, arguments });
        }
    }

    fn note_batch(&mut self, adapter: &Adapter, items: &ArrayExpression<'_>) {
        for item in items.elements.iter().filter_map(|item| object(item.as_expression()?)) {
            let member = |names: &[&str]| {
                let mut of =
                    members(item).filter(|(key, _)| key.static_name().is_some_and(|key| names.contains(&&*key)));
                of.next().map(|(_, value)| value)
            };
            if let Some(tool) = member(&TOOLS) {
                let whole = members(item).count() == item.properties.len();
                let nothing = LiteralArguments { named: Vec::new(), whole };
                let arguments = member(&["arguments"]).map_or(nothing, |given| self.given(given));
                self.note_given(adapter, tool, arguments);
            }
        }
    }

    /// The value that an expression is, where it is the same whenever it runs.
    fn value(&self, given: &Expression<'_>) -> Option<Value> {
        match given.get_inner_expression() {
            Expression::Identifier(_) => self.names.values.get(&self.symbol(given)?).cloned(),
            Expression::NullLiteral(_) => Some(Value::Null),
            Expression::BooleanLiteral(one) => Some(one.value.into()),
            Expression::NumericLiteral(one) => number(one.value),
            Expression::UnaryExpression(one) if one.operator == UnaryOperator::UnaryNegation => {
                match one.argument.get_inner_expression() {
                    Expression::NumericLiteral(one) => number(-one.value),
                    _ => None,
                }
            }
            Expression::ArrayExpression(items) => {
                items.elements.iter().map(|item| self.value(item.as_expression()?)).collect()
            }
            Expression::ObjectExpression(object) => {
                let LiteralArguments { named, whole } = self.members_of(object);
                let member = |one: LiteralArgument| Some((one.name, one.value?));
                named.into_iter().map(member).collect::<Option<Map<_, _>>>().filter(|_| whole).map(Value::Object)
            }
            other => text(other).map(Value::String),
        }
    }

    /// Keeps what a `const` stands for.
    fn keep(&mut self, symbol: SymbolId, value: &Expression<'_>) {
        if let Some(adapter) = self.adapter(value) {
            self.names.adapters.insert(symbol, adapter);
        } else if let Some(object) = object(value) {
            let members = self.members_of(object);
            self.names.objects.insert(symbol, (members, 0));
        } else if let Some(value) = self.value(value).filter(|value| !value.is_array()) {
            self.names.values.insert(symbol, value);
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let specifier = it.source.value.as_str();
        let is_own = specifier.starts_with("./") || specifier.starts_with("../");
        for one in it.specifiers.iter().flatten().filter(|_| is_own && self.pass == Pass::Names) {
            let (local, name) = match one {
                ImportDeclarationSpecifier::ImportSpecifier(one) => (&one.local, Some(one.imported.name().to_string())),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => (&one.local, None),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => continue,
            };
            if let Some(symbol) = local.symbol_id.get() {
                self.names.imports.insert(symbol, (specifier.to_owned(), name));
            }
        }
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        let constant = it.kind == VariableDeclarationKind::Const && self.pass == Pass::Names;
        for one in it.declarations.iter().filter(|_| constant) {
            if let Some(name) = one.id.get_binding_identifier()
                && let (Some(symbol), Some(value)) = (name.symbol_id.get(), &one.init)
            {
                self.keep(symbol, value);
            }
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if self.pass != Pass::Names {
            self.note_imported(it);
        }
        if self.pass != Pass::Names
            && let Some(member) = it.callee.as_member_expression()
            && let Some(name) = member.static_property_name()
            && let Some(first) = it.arguments.first().and_then(|first| first.as_expression())
            && let Some(adapter) = self.adapter(member.object())
        {
            match first.get_inner_expression() {
                tool if CALLS.contains(&name) => self.note(&adapter, tool, it.arguments.get(1)),
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
