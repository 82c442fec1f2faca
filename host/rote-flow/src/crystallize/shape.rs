//! Shapes that a recording does not have by itself: lists of pages, loops, conditions.

pub(crate) mod conditions;
pub(crate) mod loops;
pub(crate) mod pages;

use rote_plan::{Expression, Reference};

/// Puts what `make` returns in the place of references.
pub(crate) fn replace_references(expression: &mut Expression, make: &mut dyn FnMut(&Reference) -> Option<Expression>) {
    match expression {
        Expression::From(reference) => {
            if let Some(made) = make(reference) {
                *expression = made;
            }
        }
        Expression::Object(members) => members.iter_mut().for_each(|(_, inner)| replace_references(inner, make)),
        Expression::Array(items) | Expression::Text(items) => {
            items.iter_mut().for_each(|inner| replace_references(inner, make));
        }
        Expression::Default(first, fallback) => {
            replace_references(first, make);
            replace_references(fallback, make);
        }
        Expression::Literal(_) | Expression::Param(_) | Expression::Item(_) | Expression::Index => {}
    }
}
