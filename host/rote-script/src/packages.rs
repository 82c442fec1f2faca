//! What packages expect around them: `require`, Node's `global`, and `process.env.NODE_ENV`.

use std::collections::BTreeMap;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Argument, CallExpression, Expression, IdentifierReference, Program, TryStatement};
use oxc_ast::builder::AstBuilder;
use oxc_ast_visit::{VisitMut, walk_mut};
use oxc_semantic::Scoping;
use oxc_span::SPAN;
use oxc_str::{Ident, Str};
use oxc_syntax::number::NumberBase;

use crate::check::environment;
use crate::record::{Record, Request, RequestKind};

/// Rewrites the code of a package in place. In a CommonJS module `require("x")` becomes `__rote_require(0)`, with the
/// number of the request, and the record has the requests.
pub(crate) fn rewrite<'a>(
    program: &mut Program<'a>,
    scoping: &Scoping,
    allocator: &'a Allocator,
    common_js: bool,
) -> Record {
    let (builder, record) = (AstBuilder::new(allocator), Record::default());
    let mut package = Package { scoping, builder, common_js, record, requests: BTreeMap::new(), trying: false };
    program.hashbang = None;
    package.visit_program(program);
    package.record
}

struct Package<'a, 's> {
    scoping: &'s Scoping,
    builder: AstBuilder<'a>,
    common_js: bool,
    record: Record,
    /// The number of each specifier, within and outside of a `try`.
    requests: BTreeMap<(&'a str, bool), usize>,
    /// Within the block of a `try`.
    trying: bool,
}

impl<'a> Package<'a, '_> {
    fn is_global(&self, identifier: &IdentifierReference<'a>, name: &str) -> bool {
        let bound = identifier.reference_id.get().and_then(|id| self.scoping.get_reference(id).symbol_id());
        identifier.name == name && bound.is_none()
    }

    fn is_global_name(&self, expression: &Expression<'a>, name: &str) -> bool {
        matches!(expression, Expression::Identifier(identifier) if self.is_global(identifier, name))
    }

    fn request(&mut self, specifier: &'a str, offset: u32) -> usize {
        let next = self.record.requests.len();
        let request = *self.requests.entry((specifier, self.trying)).or_insert(next);
        if request == next {
            let kind = if self.trying { RequestKind::Try } else { RequestKind::Require };
            self.record.requests.push(Request { specifier: specifier.to_string(), offset, kind });
        }
        request
    }

    fn replacement(&self, expression: &Expression<'a>) -> Option<Expression<'a>> {
        if self.is_global_name(expression, "global") {
            return Some(Expression::new_identifier(SPAN, Ident::from("globalThis"), &self.builder));
        }
        let member = expression.as_member_expression()?;
        environment(member, |object| self.is_global_name(object, "process"))
            .then(|| Expression::new_string_literal(SPAN, Str::from("production"), None, &self.builder))
    }
}

impl<'a> VisitMut<'a> for Package<'a, '_> {
    fn visit_expression(&mut self, it: &mut Expression<'a>) {
        match self.replacement(it) {
            Some(value) => *it = value,
            None => walk_mut::walk_expression(self, it),
        }
    }

    fn visit_call_expression(&mut self, it: &mut CallExpression<'a>) {
        if self.common_js
            && self.is_global_name(&it.callee, "require")
            && let [Argument::StringLiteral(specifier)] = it.arguments.as_slice()
        {
            let (specifier, offset) = (specifier.value.as_str(), specifier.span.start);
            let number = f64::from(u32::try_from(self.request(specifier, offset)).unwrap_or(u32::MAX));
            it.callee = Expression::new_identifier(it.span, Ident::from("__rote_require"), &self.builder);
            let number = Expression::new_numeric_literal(SPAN, number, None, NumberBase::Decimal, &self.builder);
            it.arguments[0] = Argument::from(number);
            return;
        }
        walk_mut::walk_call_expression(self, it);
    }

    fn visit_try_statement(&mut self, it: &mut TryStatement<'a>) {
        let outer = std::mem::replace(&mut self.trying, true);
        self.visit_block_statement(&mut it.block);
        self.trying = outer;
        it.handler.iter_mut().for_each(|handler| self.visit_catch_clause(handler));
        it.finalizer.iter_mut().for_each(|finalizer| self.visit_block_statement(finalizer));
    }
}
