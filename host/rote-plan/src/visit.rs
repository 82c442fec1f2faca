//! Going through an expression, to read it or to change it.
//!
//! What is open is kept on the heap, so that a deep expression is not a deep stack.

use crate::Expression;

/// One step on the way from an expression to one inside it: an object's key or an array's index.
///
/// The parts of a text and both values of a `$default` stand where the whole stands: there is not a step to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At<'a> {
    /// The member of this name.
    Key(&'a str),
    /// The item at this position.
    Index(usize),
}

/// Whether a visit goes on inside what it has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onward {
    /// To what is inside.
    Into,
    /// To what comes behind it.
    Past,
}

/// An expression that is still to be visited: how long the way to what it is in is, the step from there, itself.
type Open<'a, E> = (usize, Option<At<'a>>, E);

impl Expression {
    /// Calls `visit` with this expression and those inside it, each with the way to it: outer first, in order of appearance. A
    /// literal is visited as one, whatever its value has inside.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&[At<'a>], &'a Self) -> Onward) {
        let (mut way, mut open) = (Vec::new(), vec![(0, None, self)]);
        while let Some((above, step, one)) = open.pop() {
            way.truncate(above);
            way.extend(step);
            if visit(&way, one) == Onward::Into {
                let behind = open.len();
                one.open(way.len(), &mut open);
                open[behind..].reverse();
            }
        }
    }

    /// Does the same to change what it comes to. What is inside is that of what `visit` left there.
    pub fn visit_mut(&mut self, visit: &mut dyn FnMut(&[At<'_>], &mut Self) -> Onward) {
        let (mut way, mut open) = (Vec::new(), vec![(0, None, self)]);
        while let Some((above, step, one)) = open.pop() {
            way.truncate(above);
            way.extend(step);
            if visit(&way, one) == Onward::Into {
                let behind = open.len();
                one.open_mut(way.len(), &mut open);
                open[behind..].reverse();
            }
        }
    }

    /// Calls `visit` with this expression and every one inside it, where the way does not matter.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        self.visit(&mut |_, one| {
            visit(one);
            Onward::Into
        });
    }

    fn open<'a>(&'a self, above: usize, open: &mut Vec<Open<'a, &'a Self>>) {
        match self {
            Self::Object(members) => {
                open.extend(members.iter().map(|(key, inner)| (above, Some(At::Key(key)), inner)));
            }
            Self::Array(items) => {
                open.extend(items.iter().enumerate().map(|(at, inner)| (above, Some(At::Index(at)), inner)));
            }
            Self::Text(parts) => open.extend(parts.iter().map(|part| (above, None, part))),
            Self::Default(first, fallback) => open.extend([(above, None, &**first), (above, None, &**fallback)]),
            Self::Literal(_) | Self::Param(_) | Self::From(_) | Self::Item(_) | Self::Index => {}
        }
    }

    fn open_mut<'a>(&'a mut self, above: usize, open: &mut Vec<Open<'a, &'a mut Self>>) {
        match self {
            Self::Object(members) => {
                open.extend(members.iter_mut().map(|(key, inner)| (above, Some(At::Key(&*key)), inner)));
            }
            Self::Array(items) => {
                open.extend(items.iter_mut().enumerate().map(|(at, inner)| (above, Some(At::Index(at)), inner)));
            }
            Self::Text(parts) => open.extend(parts.iter_mut().map(|part| (above, None, part))),
            Self::Default(first, fallback) => {
                open.extend([(above, None, &mut **first), (above, None, &mut **fallback)]);
            }
            Self::Literal(_) | Self::Param(_) | Self::From(_) | Self::Item(_) | Self::Index => {}
        }
    }
}
