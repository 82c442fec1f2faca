//! Constructs that flows cannot use, found before the types are stripped.
//!
//! These checks exist to explain early. They are not a security boundary: a script can reach `Function` in ways that no
//! reader of sources sees. Those end at run time: the script template refuses them (`guest-sdk/ts/src/seal.ts`).

use oxc_ast::ast::{
    AccessorProperty, ArrowFunctionExpression, AwaitExpression, BindingIdentifier, CallExpression, Decorator,
    ExportAllDeclaration, Expression, ForOfStatement, Function, IdentifierReference, ImportDeclaration,
    ImportExpression, ImportMeta, MemberExpression, NewExpression, Program, TSClassImplements, TSExportAssignment,
    TSImportEqualsDeclaration, TSInterfaceDeclaration, TSModuleReference, TSNamespaceExportDeclaration, TSType,
    UnaryExpression, VariableDeclaration, VariableDeclarationKind, WithStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Scoping;
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::UnaryOperator;
use oxc_syntax::scope::ScopeFlags;
use oxc_syntax::symbol::SymbolFlags;

/// The prefix of the names that a bundle defines.
const RESERVED_PREFIX: &str = "__rote_";
const NO_CODE_FROM_TEXT: &str = "a flow runs only the code that was bundled; it is what is digested and signed";
const STATIC_ONLY: &str =
    "the modules of a flow are bundled before it runs; use `import … from` at the top of the file";

/// A refused construct.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) span: Span,
    pub(crate) what: String,
    pub(crate) reason: &'static str,
}

/// Returns the first construct, in the order of the text, that flows cannot use.
pub(crate) fn first_refusal(program: &Program<'_>, scoping: &Scoping) -> Option<Refusal> {
    let mut checker = Checker { scoping, function_depth: 0, refusals: Vec::new() };
    checker.visit_program(program);
    checker.refusals.into_iter().min_by_key(|refusal| refusal.span.start)
}

struct Checker<'s> {
    scoping: &'s Scoping,
    function_depth: usize,
    refusals: Vec<Refusal>,
}

impl Checker<'_> {
    fn refuse(&mut self, span: Span, what: impl Into<String>, reason: &'static str) {
        self.refusals.push(Refusal { span, what: what.into(), reason });
    }

    /// Whether a name means the global: bound nowhere, or only by a `declare`.
    fn is_global(&self, identifier: &IdentifierReference<'_>) -> bool {
        let symbol = identifier.reference_id.get().and_then(|id| self.scoping.get_reference(id).symbol_id());
        symbol.is_none_or(|symbol| self.scoping.symbol_flags(symbol).contains(SymbolFlags::Ambient))
    }

    fn global_name<'e>(&self, expression: &'e Expression<'_>) -> Option<&'e str> {
        match expression {
            Expression::Identifier(identifier) if self.is_global(identifier) => Some(identifier.name.as_str()),
            _ => None,
        }
    }

    fn check_callee(&mut self, callee: &Expression<'_>, what: &str) {
        if self.global_name(callee) == Some("Function") {
            self.refuse(callee.span(), what, NO_CODE_FROM_TEXT);
        }
    }
}

impl<'a> Visit<'a> for Checker<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let name = it.name.as_str();
        if name.starts_with(RESERVED_PREFIX) {
            self.refuse(it.span, format!("`{name}`"), "names that start with `__rote_` belong to the bundle");
        }
        if !self.is_global(it) {
            return;
        }
        let reason = match name {
            "eval" => NO_CODE_FROM_TEXT,
            "require" => STATIC_ONLY,
            "Deno" | "Bun" | "process" => "a flow has no operating system; call an adapter, or use `@rote/sdk`",
            _ => return,
        };
        self.refuse(it.span, format!("`{name}`"), reason);
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        if it.name.starts_with(RESERVED_PREFIX) {
            let what = format!("`{}`", it.name);
            self.refuse(it.span, what, "names that start with `__rote_` belong to the bundle");
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.check_callee(&it.callee, "`Function(…)`");
        walk::walk_call_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        self.check_callee(&it.callee, "`new Function(…)`");
        walk::walk_new_expression(self, it);
    }

    fn visit_member_expression(&mut self, it: &MemberExpression<'a>) {
        let name = it.static_property_name().unwrap_or_default();
        if ["eval", "Function"].contains(&name) && self.global_name(it.object()) == Some("globalThis") {
            self.refuse(it.span(), format!("`globalThis.{name}`"), NO_CODE_FROM_TEXT);
        }
        walk::walk_member_expression(self, it);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        // `typeof process` asks whether there is one, and is answered.
        if it.operator != UnaryOperator::Typeof || self.global_name(&it.argument).is_none() {
            walk::walk_unary_expression(self, it);
        }
    }

    fn visit_with_statement(&mut self, it: &WithStatement<'a>) {
        self.refuse(it.span, "`with`", "modules are strict code, which has no `with`");
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.refuse(it.span, "`import()`", STATIC_ONLY);
    }

    fn visit_import_meta(&mut self, it: &ImportMeta) {
        self.refuse(it.span, "`import.meta`", "the script of a flow is one file without a location");
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.function_depth += 1;
        walk::walk_function(self, it, flags);
        self.function_depth -= 1;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.function_depth += 1;
        walk::walk_arrow_function_expression(self, it);
        self.function_depth -= 1;
    }

    fn visit_await_expression(&mut self, it: &AwaitExpression<'a>) {
        self.check_top_level_await(it.span);
        walk::walk_await_expression(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        if it.r#await {
            self.check_top_level_await(it.span);
        }
        walk::walk_for_of_statement(self, it);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if matches!(it.kind, VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing) {
            self.refuse(it.span, "`using`", "the engine has no explicit resource management; use `try` and `finally`");
        }
        walk::walk_variable_declaration(self, it);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "a decorator", "the engine has no decorators; call a function instead");
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.refuse(it.span, "`accessor`", "the engine has no accessor fields; write a getter and a setter");
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if it.phase.is_some() {
            self.refuse(it.span, "`import defer` or `import source`", "modules are evaluated when they are imported");
        }
        walk::walk_import_declaration(self, it);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.exported.is_none() && it.source.value == crate::SDK_MODULE && it.export_kind.is_value() {
            self.refuse(it.span, "`export *` of the SDK", "name what is exported: `export { … } from \"@rote/sdk\"`");
        }
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.refuse(it.span, "`export =`", "use `export default`");
    }

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.refuse(it.span, "`export as namespace`", "a flow has no global modules");
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        let external = matches!(it.module_reference, TSModuleReference::ExternalModuleReference(_));
        if external && it.import_kind.is_value() {
            self.refuse(it.span, "`import … = require(…)`", STATIC_ONLY);
        }
    }

    // Types vanish; whatever they name is no use of it.
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
    fn visit_ts_interface_declaration(&mut self, _: &TSInterfaceDeclaration<'a>) {}
    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}
}

impl Checker<'_> {
    fn check_top_level_await(&mut self, span: Span) {
        if self.function_depth == 0 {
            let reason = "modules are evaluated without waiting; move it into the exported function";
            self.refuse(span, "`await` outside of a function", reason);
        }
    }
}
