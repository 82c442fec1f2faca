//! Constructs that flows cannot use, found before the types are stripped.
//!
//! These checks exist to explain early. They are not a security boundary: a script can reach `Function` in ways that no
//! reader of sources sees. Those end at run time: the script template refuses them (`guest-sdk/ts/src/seal.ts`).

use oxc_ast::ast::{
    AccessorProperty, ArrowFunctionExpression, AwaitExpression, BindingIdentifier, CallExpression,
    ConditionalExpression, Decorator, ExportAllDeclaration, Expression, ForOfStatement, Function, IdentifierReference,
    IfStatement, ImportDeclaration, ImportExpression, ImportMeta, LogicalExpression, MemberExpression, NewExpression,
    Program, TSClassImplements, TSExportAssignment, TSImportEqualsDeclaration, TSInterfaceDeclaration,
    TSModuleReference, TSNamespaceExportDeclaration, TSType, UnaryExpression, VariableDeclaration,
    VariableDeclarationKind, WithStatement,
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
/// The ways in which engines reach the network.
const NETWORK: [&str; 5] = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport"];
const NO_NETWORK: &str = "a flow reaches the network only through adapters; call one with `@rote/sdk`";
/// What waits, and what other engines have beside the language. A package may have another way without, or never get there.
const TIMERS: [&str; 6] =
    ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"];
const NO_TIMERS: &str = "a flow has no timers: nothing in it can wait";
const ELSEWHERE: [&str; 14] = [
    "AbortController",
    "Blob",
    "FormData",
    "Headers",
    "Request",
    "Response",
    "URL",
    "URLSearchParams",
    "Worker",
    "alert",
    "document",
    "localStorage",
    "sessionStorage",
    "window",
];
const NOT_HERE: &str = "it belongs to a browser or to Node; import what has it from a package of plain ECMAScript";
const STATIC_ONLY: &str =
    "the modules of a flow are bundled before it runs; use `import … from` at the top of the file";

/// A refused construct.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) span: Span,
    pub(crate) what: String,
    pub(crate) reason: &'static str,
}

/// Whose code is checked. A package may make code from texts as far as that is known here: it can have another way for
/// engines without (as zod has), and the sandbox refuses it when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Own,
    Package,
    /// A CommonJS module, which has names of its own: `require`, `module`, `exports`.
    CommonJs,
}

/// Returns the constructs that flows cannot use, in the order of the text.
pub(crate) fn refusals(program: &Program<'_>, scoping: &Scoping, author: Author) -> Vec<Refusal> {
    let mut checker = Checker { scoping, author, function_depth: 0, guarded: Vec::new(), refusals: Vec::new() };
    if author != Author::Own {
        // A package that asks for a global of Node anywhere has another way; what asks for the network may have none.
        let mut asked = Asked { names: Vec::new(), deep: true };
        asked.visit_program(program);
        checker.guarded.extend(asked.names.into_iter().filter(|name| !NETWORK.contains(&name.as_str())));
    }
    checker.visit_program(program);
    checker.refusals.sort_by_key(|refusal| refusal.span.start);
    checker.refusals
}

struct Checker<'s> {
    scoping: &'s Scoping,
    author: Author,
    function_depth: usize,
    /// The globals that were asked for by `typeof` before what is visited.
    guarded: Vec<String>,
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

    /// Visits what runs only where `test` has asked for globals, if it asks for one by `typeof`.
    fn guarded_by(&mut self, test: &Expression<'_>, visit: impl FnOnce(&mut Self)) {
        let before = self.guarded.len();
        let mut asked = Asked { names: Vec::new(), deep: false };
        asked.visit_expression(test);
        self.guarded.extend(asked.names);
        visit(self);
        self.guarded.truncate(before);
    }

    fn check_callee(&mut self, callee: &Expression<'_>, what: &str) {
        if self.author == Author::Own && self.global_name(callee) == Some("Function") {
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
        let own = self.author == Author::Own;
        let reason = match name {
            "eval" if own => NO_CODE_FROM_TEXT,
            "require" if self.author != Author::CommonJs => STATIC_ONLY,
            "Deno" | "Bun" | "process" => "a flow has no operating system; call an adapter, or use `@rote/sdk`",
            "Buffer" | "__dirname" | "__filename" => "a flow runs without Node",
            _ if own && TIMERS.contains(&name) => NO_TIMERS,
            _ if own && ELSEWHERE.contains(&name) => NOT_HERE,
            _ if NETWORK.contains(&name) => NO_NETWORK,
            _ => return,
        };
        if !self.guarded.iter().any(|guarded| guarded == name) {
            self.refuse(it.span, format!("`{name}`"), reason);
        }
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        if it.name.starts_with(RESERVED_PREFIX) {
            let what = format!("`{}`", it.name);
            self.refuse(it.span, what, "names that start with `__rote_` belong to the bundle");
        }
    }

    fn visit_logical_expression(&mut self, it: &LogicalExpression<'a>) {
        self.visit_expression(&it.left);
        self.guarded_by(&it.left, |checker| checker.visit_expression(&it.right));
    }

    fn visit_conditional_expression(&mut self, it: &ConditionalExpression<'a>) {
        self.visit_expression(&it.test);
        self.guarded_by(&it.test, |checker| {
            checker.visit_expression(&it.consequent);
            checker.visit_expression(&it.alternate);
        });
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        self.visit_expression(&it.test);
        self.guarded_by(&it.test, |checker| {
            checker.visit_statement(&it.consequent);
            it.alternate.iter().for_each(|alternate| checker.visit_statement(alternate));
        });
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.check_callee(&it.callee, "`Function(…)`");
        if let Some(member) = it.callee.as_member_expression()
            && self.global_name(member.object()) == Some("globalThis")
            && let Some(name) = member.static_property_name().filter(|name| NETWORK.contains(name))
        {
            self.refuse(member.span(), format!("`globalThis.{name}`"), NO_NETWORK);
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        self.check_callee(&it.callee, "`new Function(…)`");
        walk::walk_new_expression(self, it);
    }

    fn visit_member_expression(&mut self, it: &MemberExpression<'a>) {
        if self.author != Author::Own && environment(it, |object| self.global_name(object) == Some("process")) {
            return;
        }
        let name = it.static_property_name().unwrap_or_default();
        if self.author == Author::Own
            && ["eval", "Function"].contains(&name)
            && self.global_name(it.object()) == Some("globalThis")
        {
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

    // Types vanish; whatever they name is not a use of it.
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
    fn visit_ts_interface_declaration(&mut self, _: &TSInterfaceDeclaration<'a>) {}
    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}
}

/// Finds the names that `typeof` is asked for.
struct Asked {
    names: Vec<String>,
    /// Looks into functions, too.
    deep: bool,
}

impl<'a> Visit<'a> for Asked {
    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        if let (UnaryOperator::Typeof, Expression::Identifier(name)) = (it.operator, &it.argument) {
            self.names.push(name.name.to_string());
        }
        walk::walk_unary_expression(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if self.deep {
            walk::walk_function(self, it, flags);
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if self.deep {
            walk::walk_arrow_function_expression(self, it);
        }
    }
}

/// Whether an expression is `process.env.NODE_ENV`, which a bundle knows.
pub(crate) fn environment<'e, 'a: 'e>(
    member: &'e MemberExpression<'a>,
    is_process: impl Fn(&'e Expression<'a>) -> bool,
) -> bool {
    let env = member.object().as_member_expression();
    member.static_property_name() == Some("NODE_ENV")
        && env.is_some_and(|env| env.static_property_name() == Some("env") && is_process(env.object()))
}

impl Checker<'_> {
    fn check_top_level_await(&mut self, span: Span) {
        if self.function_depth == 0 {
            let reason = "modules are evaluated without waiting; move it into the exported function";
            self.refuse(span, "`await` outside of a function", reason);
        }
    }
}
