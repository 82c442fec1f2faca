//! What jq computes in another way than jaq, turned into calls of this guest's own functions (`paths.rs`, `numbers.rs`).
//!
//! Assignments go by paths, so that what is not there yet is made. Products, quotients and remainders have jq's cases.
//! Slices and places may be fractions, and a slice of null is null.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};

use crate::direct::Table;

type Node = Term<&'static str>;

/// The variable that holds the right side of `+=` and its like.
const VALUE: &str = "$__value";

pub(crate) fn rewrite(term: Node, table: &Table) -> Node {
    if let Some(name) = table.take(&term) {
        return call(name, Vec::new());
    }
    let rewrite = |term| rewrite(term, table);
    let boxed = |term: Box<Node>| Box::new(rewrite(*term));
    let all = |terms: Vec<Node>| terms.into_iter().map(rewrite).collect();
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => term,
        Term::Str(format, parts) => Term::Str(format, parts.into_iter().map(|item| part(item, table)).collect()),
        Term::Arr(items) => Term::Arr(items.map(boxed)),
        Term::Obj(entries) => {
            Term::Obj(entries.into_iter().map(|(key, value)| (rewrite(key), value.map(rewrite))).collect())
        }
        Term::Neg(term) if matches!(*term, Term::Num(_)) => Term::Neg(term),
        Term::Neg(term) => pipe(rewrite(*term), call("_negate", vec![])),
        Term::BinOp(left, operator, right) => operation(rewrite(*left), operator, rewrite(*right), table),
        Term::Label(name, body) => Term::Label(name, boxed(body)),
        Term::Fold(name, over, bound, rest) => Term::Fold(name, boxed(over), pattern(bound, table), all(rest)),
        Term::TryCatch(body, catch) => Term::TryCatch(boxed(body), catch.map(boxed)),
        Term::IfThenElse(branches, other) => {
            let branches = branches.into_iter().map(|(condition, then)| (rewrite(condition), rewrite(then)));
            Term::IfThenElse(branches.collect(), other.map(boxed))
        }
        Term::Def(definitions, body) => below(definitions, *body),
        Term::Call(name, arguments) => Term::Call(name, all(arguments)),
        Term::Path(head, path) => steps(rewrite(*head), path.0, table),
    }
}

/// Definitions and the term that can call them, by whatever names they have.
fn below(mut definitions: Vec<Def<&'static str>>, body: Node) -> Node {
    let table = Table::full();
    for definition in &mut definitions {
        definition.body = rewrite(std::mem::take(&mut definition.body), &table);
    }
    Term::Def(definitions, Box::new(rewrite(body, &table)))
}

fn part(part: StrPart<&'static str, Node>, table: &Table) -> StrPart<&'static str, Node> {
    match part {
        StrPart::Term(term) => StrPart::Term(rewrite(term, table)),
        part => part,
    }
}

fn pattern(bound: Pattern<&'static str>, table: &Table) -> Pattern<&'static str> {
    match bound {
        Pattern::Var(_) => bound,
        Pattern::Arr(items) => Pattern::Arr(items.into_iter().map(|item| pattern(item, table)).collect()),
        Pattern::Obj(entries) => {
            Pattern::Obj(entries.into_iter().map(|(key, bound)| (rewrite(key, table), pattern(bound, table))).collect())
        }
    }
}

fn operation(left: Node, operator: BinaryOp<&'static str>, right: Node, table: &Table) -> Node {
    let operator = match operator {
        BinaryOp::Pipe(bound) => BinaryOp::Pipe(bound.map(|bound| pattern(bound, table))),
        operator => operator,
    };
    match operator {
        BinaryOp::Math(operator) => math(left, operator, right),
        BinaryOp::Assign => call("_assign", vec![left, right]),
        BinaryOp::Update => call("_modify", vec![left, right]),
        BinaryOp::UpdateMath(operator) => {
            bind(right, call("_modify", vec![left, math(Term::Id, operator, Term::Var(VALUE))]))
        }
        BinaryOp::UpdateAlt => {
            let value = Term::BinOp(Box::new(Term::Id), BinaryOp::Alt, Box::new(Term::Var(VALUE)));
            bind(right, call("_modify", vec![left, value]))
        }
        operator => Term::BinOp(Box::new(left), operator, Box::new(right)),
    }
}

fn math(left: Node, operator: Math, right: Node) -> Node {
    match operator {
        Math::Mul => call("_multiply", vec![left, right]),
        Math::Div => call("_divide", vec![left, right]),
        Math::Rem => call("_modulo", vec![left, right]),
        Math::Add | Math::Sub => Term::BinOp(Box::new(left), BinaryOp::Math(operator), Box::new(right)),
    }
}

fn steps(mut head: Node, path: Vec<(Part<Node>, Opt)>, table: &Table) -> Node {
    let mut taken = Vec::new();
    for (part, opt) in path {
        let part = match part {
            Part::Range(None, None) => part,
            Part::Index(index) => Part::Index(place(index, "_place", table)),
            Part::Range(from, to) => {
                // By the object that stands for a slice in a path. In an object it would be a key.
                let check = if matches!(opt, Opt::Optional) { "_sliceable" } else { "_sliced" };
                head = pipe(joined(head, std::mem::take(&mut taken)), call(check, vec![]));
                Part::Index(slice(from, to, table))
            }
        };
        taken.push((part, opt));
    }
    joined(head, taken)
}

fn joined(head: Node, path: Vec<(Part<Node>, Opt)>) -> Node {
    if path.is_empty() { head } else { Term::Path(Box::new(head), Path(path)) }
}

fn slice(from: Option<Node>, to: Option<Node>, table: &Table) -> Node {
    let bound = |bound: Option<Node>, round| bound.map_or(call("null", vec![]), |bound| place(bound, round, table));
    let entry = |name, value| (Term::Str(None, vec![StrPart::Str(name)]), Some(value));
    Term::Obj(vec![entry("start", bound(from, "_start")), entry("end", bound(to, "_end"))])
}

/// A place that may be a fraction, rounded as `round` does.
fn place(index: Node, round: &'static str, table: &Table) -> Node {
    let whole = |term: &Node| matches!(term, Term::Num(number) if number.parse::<i32>().is_ok());
    match &index {
        Term::Str(None, _) => rewrite(index, table),
        Term::Num(_) if whole(&index) => index,
        Term::Neg(number) if whole(number) => index,
        _ => pipe(rewrite(index, table), call(round, vec![])),
    }
}

fn call(name: &'static str, arguments: Vec<Node>) -> Node {
    Term::Call(name, arguments)
}

fn pipe(left: Node, right: Node) -> Node {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

fn bind(value: Node, body: Node) -> Node {
    Term::BinOp(Box::new(value), BinaryOp::Pipe(Some(Pattern::Var(VALUE))), Box::new(body))
}
