//! A module's body without import and export statements: imported names become properties of exports objects.
//!
//! `import { a } from "./x.ts"; a(b)` becomes `(0, __rote_i0.a)(b)`, where `__rote_i0` is the exports object of the
//! module's first request. Reading the property at each use is what makes the binding live. Runs after the types are
//! gone, so every import that is left is a value.

use std::collections::{BTreeMap, BTreeSet};

use oxc_allocator::{Allocator, ArenaBox, ArenaVec, TakeIn};
use oxc_ast::ast::{
    BindingIdentifier, BindingPattern, CallExpression, Class, Declaration, ExportDefaultDeclaration,
    ExportDefaultDeclarationKind, ExportFromDeclaration, ExportNamedDeclaration, Expression, IdentifierName,
    IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier, ModuleExportName, ObjectProperty, Program,
    Statement, StringLiteral, TaggedTemplateExpression, VariableDeclaration, VariableDeclarationKind,
    VariableDeclarator,
};
use oxc_ast::builder::AstBuilder;
use oxc_ast_visit::{VisitMut, walk_mut};
use oxc_semantic::Scoping;
use oxc_span::{GetSpan, SPAN, Span};
use oxc_str::{Ident, Str};
use oxc_syntax::number::NumberBase;
use oxc_syntax::symbol::SymbolId;

use crate::record::{Export, Import, Part, Record, Request, RequestKind, Shape};
use crate::{SDK_MODULE, parts};

/// The binding of a default export that has no name of its own.
pub(crate) const DEFAULT_BINDING: &str = "__rote_default";

/// Rewrites a program in place and returns what it imports and exports.
///
/// # Errors
/// The first assignment to an import: its span and name.
pub(crate) fn rewrite<'a>(
    program: &mut Program<'a>,
    scoping: &Scoping,
    allocator: &'a Allocator,
    package: bool,
) -> Result<(Record, Vec<Part>), (Span, String)> {
    let mut module = Module {
        scoping,
        builder: AstBuilder::new(allocator),
        allocator,
        record: Record::default(),
        bindings: BTreeMap::new(),
        requests: BTreeMap::new(),
        shapes: BTreeMap::new(),
    };
    program.hashbang = None;
    let statements = program.body.take_in(&module.builder);
    // Imports are hoisted: they are known before the first use, wherever they stand.
    for statement in &statements {
        match statement {
            Statement::ImportDeclaration(import) => module.import(import),
            _ => module.note_shape(statement),
        }
    }
    let mut body = ArenaVec::new_in(&module.builder);
    for statement in statements {
        body.extend(module.statement(statement));
    }
    program.body = body;
    let names = |symbol| module.bindings.get(&symbol).map(|binding| (binding.request, binding.name, binding.offset));
    let parts = parts::of(program, scoping, package, names);
    let mut uses = Uses { module: &module, used: BTreeSet::new(), assigned: None };
    uses.visit_program(program);
    let Uses { used, assigned, .. } = uses;
    if let Some(assigned) = assigned {
        return Err(assigned);
    }
    let Module { mut record, bindings, .. } = module;
    record.imports = used.iter().filter_map(|symbol| bindings.get(symbol)?.import()).collect();
    Ok((record, parts))
}

struct Module<'a, 's> {
    scoping: &'s Scoping,
    builder: AstBuilder<'a>,
    allocator: &'a Allocator,
    record: Record,
    /// The imported bindings.
    bindings: BTreeMap<SymbolId, Binding<'a>>,
    /// The number of each specifier.
    requests: BTreeMap<&'a str, usize>,
    /// What top-level bindings hold, where it is known not to be a function.
    shapes: BTreeMap<&'a str, Shape>,
}

/// What an imported name stands for; `name` is `None` for a whole exports object.
struct Binding<'a> {
    request: usize,
    name: Option<Str<'a>>,
    offset: u32,
}

impl Binding<'_> {
    fn import(&self) -> Option<Import> {
        let name = self.name?;
        Some(Import { request: self.request, name: name.to_string(), offset: self.offset })
    }
}

impl<'a> Module<'a, '_> {
    fn request(&mut self, source: &StringLiteral<'a>) -> usize {
        let specifier = source.value.as_str();
        let next = self.record.requests.len();
        let request = *self.requests.entry(specifier).or_insert(next);
        if request == next {
            let (specifier, offset, kind) = (specifier.to_owned(), source.span.start, RequestKind::Effect);
            self.record.requests.push(Request { specifier, offset, kind });
        }
        request
    }

    fn request_names(&mut self, source: &StringLiteral<'a>) -> usize {
        let request = self.request(source);
        self.record.requests[request].kind = RequestKind::Import;
        request
    }

    fn import(&mut self, import: &ImportDeclaration<'a>) {
        let request = self.request(&import.source);
        if import.specifiers.is_some() {
            self.record.requests[request].kind = RequestKind::Import;
        }
        let of_sdk = import.source.value == SDK_MODULE;
        for specifier in import.specifiers.iter().flatten() {
            let (local, name) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => (&named.local, Some(named.imported.name())),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => {
                    (&default.local, Some(Str::from("default")))
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => (&all.local, None),
            };
            // The SDK has no default export; the object itself stands for it.
            let name = name.filter(|name| !of_sdk || name.as_str() != "default");
            let binding = Binding { request, name, offset: specifier.span().start };
            self.bindings.insert(local.symbol_id(), binding);
        }
    }

    /// Notes the top-level names that cannot be called.
    fn note_shape(&mut self, statement: &Statement<'a>) {
        let declaration = match statement {
            Statement::ExportDeclaration(export) => Some(&export.declaration),
            _ => statement.as_declaration(),
        };
        match declaration {
            Some(Declaration::ClassDeclaration(class)) => {
                if let Some(id) = &class.id {
                    self.shapes.insert(id.name.as_str(), Shape::NotFunction);
                }
            }
            Some(Declaration::VariableDeclaration(variables)) => {
                for variable in &variables.declarations {
                    let constant = variables.kind == VariableDeclarationKind::Const;
                    if let (true, BindingPattern::BindingIdentifier(id), Some(value)) =
                        (constant, &variable.id, &variable.init)
                    {
                        self.shapes.insert(id.name.as_str(), shape_of(value));
                    }
                }
            }
            _ => {}
        }
    }

    fn statement(&mut self, statement: Statement<'a>) -> Option<Statement<'a>> {
        match statement {
            Statement::ImportDeclaration(_) => None,
            Statement::ExportAllDeclaration(all) => {
                let request = self.request_names(&all.source);
                match &all.exported {
                    Some(name) => self.export(&name.name(), namespace(request)),
                    None => self.record.stars.push(request),
                }
                None
            }
            Statement::ExportFromDeclaration(from) => {
                self.export_from(&from);
                None
            }
            Statement::ExportNamedDeclaration(named) => {
                self.export_named(&named);
                None
            }
            Statement::ExportDeclaration(export) => Some(self.export_declaration(export.unbox().declaration)),
            Statement::ExportDefaultDeclaration(default) => Some(self.export_default(default.unbox())),
            other => Some(other),
        }
    }

    fn export(&mut self, name: &str, export: Export) {
        self.record.exports.insert(name.to_owned(), export);
    }

    fn export_local(&mut self, name: &str, binding: &str) {
        let shape = self.shapes.get(binding).copied().unwrap_or(Shape::Maybe);
        self.export(name, Export::Local { binding: binding.to_owned(), shape });
    }

    fn export_from(&mut self, from: &ExportFromDeclaration<'a>) {
        let request = self.request_names(&from.source);
        for specifier in &from.specifiers {
            let (name, offset) = (specifier.local.name().to_string(), specifier.span.start);
            let whole_sdk = from.source.value == SDK_MODULE && name == "default";
            let export = if whole_sdk { namespace(request) } else { indirect(request, name, offset) };
            self.export(&specifier.exported.name(), export);
        }
    }

    fn export_named(&mut self, named: &ExportNamedDeclaration<'a>) {
        for specifier in &named.specifiers {
            let exported = specifier.exported.name();
            let ModuleExportName::IdentifierReference(local) = &specifier.local else { continue };
            let export = match self.binding(local) {
                Some(Binding { request, name: None, .. }) => namespace(*request),
                Some(Binding { request, name: Some(name), .. }) => {
                    indirect(*request, name.to_string(), specifier.span.start)
                }
                None => {
                    self.export_local(&exported, &local.name);
                    continue;
                }
            };
            self.export(&exported, export);
        }
    }

    fn export_declaration(&mut self, declaration: Declaration<'a>) -> Statement<'a> {
        let mut names: Vec<&'a str> = Vec::new();
        let mut add = |id: &BindingIdentifier<'a>| names.push(id.name.as_str());
        match &declaration {
            Declaration::VariableDeclaration(variables) => {
                let ids = variables.declarations.iter().flat_map(|variable| variable.id.get_binding_identifiers());
                ids.for_each(&mut add);
            }
            Declaration::FunctionDeclaration(function) => function.id.iter().for_each(&mut add),
            Declaration::ClassDeclaration(class) => class.id.iter().for_each(&mut add),
            // Types are gone.
            _ => {}
        }
        for name in names {
            self.export_local(name, name);
        }
        Statement::from(declaration)
    }

    fn export_default(&mut self, default: ExportDefaultDeclaration<'a>) -> Statement<'a> {
        match default.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(mut function) => {
                let name = self.name_or_default(&mut function.id);
                self.export_local("default", name);
                Statement::FunctionDeclaration(function)
            }
            ExportDefaultDeclarationKind::ClassDeclaration(class) => self.export_default_class(class),
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {
                Statement::new_empty_statement(SPAN, &self.builder)
            }
            declaration => {
                let value = declaration.into_expression();
                let shape = match &value {
                    Expression::Identifier(id) => self.shapes.get(id.name.as_str()).copied().unwrap_or(Shape::Maybe),
                    value => shape_of(value),
                };
                self.export("default", Export::Local { binding: DEFAULT_BINDING.into(), shape });
                self.constant(default.span, value)
            }
        }
    }

    fn export_default_class(&mut self, mut class: ArenaBox<'a, Class<'a>>) -> Statement<'a> {
        let binding = self.name_or_default(&mut class.id).to_owned();
        self.export("default", Export::Local { binding, shape: Shape::NotFunction });
        Statement::ClassDeclaration(class)
    }

    fn name_or_default(&self, id: &mut Option<BindingIdentifier<'a>>) -> &'a str {
        id.get_or_insert_with(|| BindingIdentifier::new(SPAN, DEFAULT_BINDING, &self.builder)).name.as_str()
    }

    /// `const __rote_default = value;`
    fn constant(&self, span: Span, value: Expression<'a>) -> Statement<'a> {
        let builder = &self.builder;
        let id = BindingPattern::new_binding_identifier(SPAN, DEFAULT_BINDING, builder);
        let variable = VariableDeclarator::new(span, id, None, Some(value), false, builder);
        let variables = ArenaVec::from_array_in([variable], builder);
        let declaration = VariableDeclaration::boxed(span, VariableDeclarationKind::Const, variables, false, builder);
        Statement::VariableDeclaration(declaration)
    }

    fn binding(&self, identifier: &IdentifierReference<'a>) -> Option<&Binding<'a>> {
        self.bindings.get(&self.symbol(identifier)?)
    }

    fn symbol(&self, identifier: &IdentifierReference<'a>) -> Option<SymbolId> {
        self.scoping.get_reference(identifier.reference_id.get()?).symbol_id()
    }

    /// `__rote_i0`, `__rote_i0.name` or `__rote_i0["a name"]`.
    fn access(&self, span: Span, binding: &Binding<'a>) -> Expression<'a> {
        let builder = &self.builder;
        let object = Ident::from_str_in(&format!("__rote_i{}", binding.request), builder);
        let object = Expression::new_identifier(span, object, builder);
        match binding.name {
            None => object,
            Some(name) if oxc_syntax::identifier::is_identifier_name(&name) => {
                let name = IdentifierName::new(span, Ident::from_str_in(&name, builder), builder);
                Expression::new_static_member_expression(span, object, name, false, builder)
            }
            Some(name) => {
                let name = Expression::new_string_literal(span, name, None, builder);
                Expression::new_computed_member_expression(span, object, name, false, builder)
            }
        }
    }
}

fn namespace(request: usize) -> Export {
    Export::Namespace { request, access: format!("__rote_i{request}") }
}

fn indirect(request: usize, name: String, offset: u32) -> Export {
    let access = format!("__rote_i{request}[{}]", serde_json::Value::from(name.as_str()));
    Export::Indirect { request, name, access, offset }
}

/// Replaces the uses of imported names.
struct Uses<'m, 'a, 's> {
    module: &'m Module<'a, 's>,
    used: BTreeSet<SymbolId>,
    assigned: Option<(Span, String)>,
}

impl<'a> Uses<'_, 'a, '_> {
    /// Returns what an expression becomes if it is an imported name.
    fn replacement(&mut self, expression: &Expression<'a>) -> Option<(Expression<'a>, bool)> {
        let Expression::Identifier(identifier) = expression else { return None };
        let symbol = self.module.symbol(identifier)?;
        let binding = self.module.bindings.get(&symbol)?;
        self.used.insert(symbol);
        Some((self.module.access(identifier.span, binding), binding.name.is_some()))
    }

    /// As [`Self::replacement`] in place of a callee: `(0, object.name)`, so that `this` is not the exports object.
    fn replace_callee(&mut self, callee: &mut Expression<'a>) {
        let Some((value, is_member)) = self.replacement(callee) else { return };
        if !is_member {
            *callee = value;
            return;
        }
        let builder = &self.module.builder;
        let zero = Expression::new_numeric_literal(SPAN, 0.0, None, NumberBase::Decimal, builder);
        let both = ArenaVec::from_array_in([zero, value], &self.module.allocator);
        *callee = Expression::new_sequence_expression(callee.span(), both, builder);
    }
}

impl<'a> VisitMut<'a> for Uses<'_, 'a, '_> {
    fn visit_expression(&mut self, it: &mut Expression<'a>) {
        match self.replacement(it) {
            Some((value, _)) => *it = value,
            None => walk_mut::walk_expression(self, it),
        }
    }

    fn visit_call_expression(&mut self, it: &mut CallExpression<'a>) {
        self.replace_callee(&mut it.callee);
        walk_mut::walk_call_expression(self, it);
    }

    fn visit_tagged_template_expression(&mut self, it: &mut TaggedTemplateExpression<'a>) {
        self.replace_callee(&mut it.tag);
        walk_mut::walk_tagged_template_expression(self, it);
    }

    fn visit_object_property(&mut self, it: &mut ObjectProperty<'a>) {
        if let Expression::Identifier(identifier) = &it.value
            && self.module.binding(identifier).is_some()
        {
            it.shorthand = false;
        }
        walk_mut::walk_object_property(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &mut IdentifierReference<'a>) {
        // Names in expressions were replaced above; what is left are the targets of assignments.
        if self.module.binding(it).is_some() && self.assigned.is_none() {
            self.assigned = Some((it.span, it.name.to_string()));
        }
    }
}

fn shape_of(value: &Expression<'_>) -> Shape {
    match value {
        Expression::ClassExpression(_)
        | Expression::ObjectExpression(_)
        | Expression::ArrayExpression(_)
        | Expression::TemplateLiteral(_)
        | Expression::NewExpression(_) => Shape::NotFunction,
        literal if literal.is_literal() => Shape::NotFunction,
        _ => Shape::Maybe,
    }
}
