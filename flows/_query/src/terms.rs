//! What jq does in another way than jaq, turned into calls of this guest's own functions (`paths.rs`, `numbers.rs`).
//!
//! Assignments go by paths, so that what is not there yet is made. Products, quotients and remainders have jq's cases.
//! Steps of paths and patterns take keys as jq does (`index.rs`).

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};

use crate::direct::Table;

type Node = Term<&'static str>;

/// The variable that holds the right side of `+=` and its like. No program can name it.
const VALUE: &str = "$.value";
/// The variable that holds the key of a step.
const KEY: &str = "$.key";

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
            let entry = |(key, value): (Node, Option<Node>)| match value {
                // `{name}` is `{name: .name}`.
                None if is_text(&key) => (key.clone(), Some(call("_index", vec![key]))),
                value => (rewrite(key), value.map(rewrite)),
            };
            Term::Obj(entries.into_iter().map(entry).collect())
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
        // By keys that are refused where they do not fit.
        Pattern::Arr(items) => {
            let place = |place: usize| -> &'static str { place.to_string().leak() };
            let item = |(number, item)| (call("_key", vec![Term::Num(place(number))]), pattern(item, table));
            Pattern::Obj(items.into_iter().enumerate().map(item).collect())
        }
        Pattern::Obj(entries) => {
            let entry = |(key, bound)| (call("_key", vec![rewrite(key, table)]), pattern(bound, table));
            Pattern::Obj(entries.into_iter().map(entry).collect())
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
            bind(VALUE, right, call("_modify", vec![left, math(Term::Id, operator, Term::Var(VALUE))]))
        }
        BinaryOp::UpdateAlt => {
            let value = Term::BinOp(Box::new(Term::Id), BinaryOp::Alt, Box::new(Term::Var(VALUE)));
            bind(VALUE, right, call("_modify", vec![left, value]))
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

fn steps(head: Node, path: Vec<(Part<Node>, Opt)>, table: &Table) -> Node {
    path.into_iter().fold(head, |head, (part, opt)| {
        let is_optional = matches!(opt, Opt::Optional);
        let key = match part {
            Part::Range(None, None) if is_optional => return jaq_step(head, part),
            Part::Range(None, None) => return pipe(head, call("_each", vec![])),
            Part::Index(key) if is_optional && is_text(&key) => return jaq_step(head, Part::Index(key)),
            Part::Index(key) => rewrite(key, table),
            Part::Range(from, to) => slice(from, to, table),
        };
        let step = |key| {
            let step = call("_index", vec![key]);
            if is_optional { Term::TryCatch(Box::new(step), None) } else { step }
        };
        if is_known(&key) {
            return pipe(head, step(key));
        }
        // Keys read what the whole path reads, and those of the last step change last.
        bind(KEY, key, pipe(head, step(Term::Var(KEY))))
    })
}

/// A step that leaves out what does not fit, which jaq does as jq.
fn jaq_step(head: Node, part: Part<Node>) -> Node {
    Term::Path(Box::new(head), Path(vec![(part, Opt::Optional)]))
}

fn is_text(term: &Node) -> bool {
    matches!(term, Term::Str(None, parts) if parts.iter().all(|part| matches!(part, StrPart::Str(_))))
}

/// Whether a term is the same whatever it reads.
fn is_known(term: &Node) -> bool {
    match term {
        Term::Num(_) | Term::Var(_) => true,
        Term::Neg(number) => matches!(**number, Term::Num(_)),
        _ => is_text(term),
    }
}

fn slice(from: Option<Node>, to: Option<Node>, table: &Table) -> Node {
    let bound = |bound: Option<Node>| bound.map_or(call("null", vec![]), |bound| rewrite(bound, table));
    let entry = |name, value| (Term::Str(None, vec![StrPart::Str(name)]), Some(value));
    Term::Obj(vec![entry("start", bound(from)), entry("end", bound(to))])
}

fn call(name: &'static str, arguments: Vec<Node>) -> Node {
    Term::Call(name, arguments)
}

fn pipe(left: Node, right: Node) -> Node {
    if matches!(left, Term::Id) {
        return right;
    }
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

fn bind(name: &'static str, value: Node, body: Node) -> Node {
    Term::BinOp(Box::new(value), BinaryOp::Pipe(Some(Pattern::Var(name))), Box::new(body))
}
