//! The statements of a module, each with what it binds, what it uses and whether it does something by itself: what has
//! to be known to leave out the rest.

use std::collections::BTreeSet;

use oxc_ast::ast::{BindingIdentifier, Expression, IdentifierReference, MemberExpression, Program, Statement};
use oxc_ast_visit::{Visit, walk};
use oxc_ecmascript::GlobalContext;
use oxc_ecmascript::side_effects::{MayHaveSideEffects, MayHaveSideEffectsContext, PropertyReadSideEffects};
use oxc_semantic::Scoping;
use oxc_span::GetSpan;
use oxc_str::Str;
use oxc_syntax::symbol::SymbolId;

use crate::record::{Part, Use};

/// What an imported symbol stands for: the request, the name (`None` for all of it) and the place.
type Imported<'a> = Option<(usize, Option<Str<'a>>, u32)>;

/// Returns the parts of a module whose import and export statements are gone, and whose uses of imports are not yet.
/// Effects are looked for in packages; the author's own statements all stay.
pub(crate) fn of<'a>(
    program: &Program<'a>,
    scoping: &Scoping,
    package: bool,
    imported: impl Fn(SymbolId) -> Imported<'a> + Copy,
) -> Vec<Part> {
    let names = || Names { scoping, imported, declares: BTreeSet::new(), uses: BTreeSet::new() };
    program.body.iter().map(|statement| part(statement, package, names())).collect()
}

fn part<'a, I>(statement: &Statement<'a>, package: bool, mut names: Names<'_, I>) -> Part
where
    I: Fn(SymbolId) -> Imported<'a>,
{
    names.visit_statement(statement);
    let effects = !package || statement.may_have_side_effects(&Globals(names.scoping));
    let span = statement.span();
    let uses = names.uses.into_iter().collect();
    Part { declares: names.declares, uses, effects, start: span.start, end: span.end }
}

/// Collects the top-level names that a statement binds and uses.
struct Names<'s, I> {
    scoping: &'s Scoping,
    imported: I,
    declares: BTreeSet<String>,
    uses: BTreeSet<Use>,
}

impl<'a, I: Fn(SymbolId) -> Imported<'a>> Names<'_, I> {
    fn is_top_level(&self, symbol: SymbolId) -> bool {
        self.scoping.symbol_scope_id(symbol) == self.scoping.root_scope_id()
    }

    /// Notes the use of a name; `member` is the property that is read of it, and nothing else is.
    fn use_of(&mut self, it: &IdentifierReference<'a>, member: Option<&str>) {
        let symbol = it.reference_id.get().and_then(|id| self.scoping.get_reference(id).symbol_id());
        let Some(symbol) = symbol.filter(|symbol| self.is_top_level(*symbol)) else { return };
        let name = match (self.imported)(symbol) {
            Some((request, name, offset)) => {
                let (name, member) = (name.map(|name| name.to_string()), member.map(str::to_owned));
                Use::Import { request, name, member, offset }
            }
            None => Use::Local(it.name.to_string()),
        };
        self.uses.insert(name);
    }
}

impl<'a, I: Fn(SymbolId) -> Imported<'a>> Visit<'a> for Names<'_, I> {
    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        // A name that was made here has no symbol; those are top-level.
        if it.symbol_id.get().is_none_or(|symbol| self.is_top_level(symbol)) {
            self.declares.insert(it.name.to_string());
        }
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.use_of(it, None);
    }

    fn visit_member_expression(&mut self, it: &MemberExpression<'a>) {
        match (it.object(), it.static_property_name()) {
            (Expression::Identifier(object), Some(name)) => self.use_of(object, Some(name)),
            _ => walk::walk_member_expression(self, it),
        }
    }
}

/// What the names of a module mean to the search for effects.
struct Globals<'s>(&'s Scoping);

impl<'a> GlobalContext<'a> for Globals<'_> {
    fn is_global_reference(&self, reference: &IdentifierReference<'a>) -> bool {
        reference.reference_id.get().is_some_and(|id| self.0.get_reference(id).symbol_id().is_none())
    }
}

impl<'a> MayHaveSideEffectsContext<'a> for Globals<'_> {
    fn annotations(&self) -> bool {
        true
    }

    fn manual_pure_functions(&self, _: &Expression<'_>) -> bool {
        false
    }

    fn property_read_side_effects(&self) -> PropertyReadSideEffects {
        PropertyReadSideEffects::All
    }

    fn unknown_global_side_effects(&self) -> bool {
        true
    }
}
