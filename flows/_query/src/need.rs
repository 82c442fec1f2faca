//! What of its input a program looks at, so that the rest need not be made.
//!
//! Invariant: over a value that is cut down to the need, a program gives the outputs that it gives over the whole one,
//! or fails where it fails over the whole one. Only the words of a failure can differ, since they show values; a
//! program that sees those words needs its whole input, and a failure that reaches the caller is made again over it.
//! What is not known here is needed as a whole.

use std::collections::BTreeMap;

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::path::Part;

/// Most places that a need tells apart. What branches further is needed as a whole.
const MAX_PLACES: usize = 64;

/// What is needed of a value. A scalar that is needed at all is there as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    /// All of it.
    Whole,
    /// Which kind of value it is, and parts.
    Parts(Parts),
}

/// What is needed of an array or an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parts {
    /// Values of keys.
    fields: BTreeMap<String, Need>,
    /// Elements by their place.
    places: BTreeMap<usize, Need>,
    /// Every value.
    each: Option<Box<Need>>,
    /// The keys, whatever their values; elements always keep their places.
    keys: bool,
}

/// What becomes of an object's entry.
pub(crate) enum Field<'n> {
    /// It is left out.
    Left,
    /// Its key is kept.
    Key,
    /// Key and value are kept.
    Needed(&'n Need),
}

impl<'n> Field<'n> {
    pub(crate) fn need(&self) -> Option<&'n Need> {
        match self {
            Self::Left | Self::Key => None,
            Self::Needed(need) => Some(need),
        }
    }
}

impl Need {
    /// The kind of a value alone: enough to say whether it is true.
    fn kind() -> Self {
        Self::Parts(Parts::default())
    }

    /// Every value of a container, and how many there are.
    fn each(need: Option<Self>) -> Self {
        Self::Parts(Parts { each: need.map(Box::new), keys: true, ..Parts::default() })
    }

    /// The value of one key.
    fn named(key: &str, need: Option<Self>) -> Self {
        let fields = need.map(|need| (key.to_owned(), need)).into_iter().collect();
        Self::Parts(Parts { fields, ..Parts::default() })
    }

    fn keys() -> Self {
        Self::each(None)
    }

    /// What is needed of the element at `place`; none when only that there is one.
    pub(crate) fn element(&self, place: usize) -> Option<&Self> {
        match self {
            Self::Whole => Some(self),
            Self::Parts(parts) => parts.places.get(&place).or(parts.each.as_deref()),
        }
    }

    /// What is needed of the entry with `key`.
    pub(crate) fn field(&self, key: &[u8]) -> Field<'_> {
        let Self::Parts(parts) = self else { return Field::Needed(self) };
        let named = std::str::from_utf8(key).ok().and_then(|key| parts.fields.get(key));
        match named.or(parts.each.as_deref()) {
            Some(need) => Field::Needed(need),
            None if parts.keys => Field::Key,
            None => Field::Left,
        }
    }

    /// What is needed of any element that is not told apart from others.
    fn elements(need: Option<&Self>) -> Option<Self> {
        match need? {
            Self::Whole => Some(Self::Whole),
            Self::Parts(parts) => parts.places.values().cloned().map(Some).fold(parts.each.as_deref().cloned(), both),
        }
    }

    fn of_field(need: Option<&Self>, key: &str) -> Option<Self> {
        match need?.field(key.as_bytes()) {
            Field::Left | Field::Key => None,
            Field::Needed(need) => Some(need.clone()),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Whole => 1,
            Self::Parts(parts) => {
                let children = parts.fields.values().chain(parts.places.values()).chain(parts.each.as_deref());
                1 + children.map(Self::size).sum::<usize>()
            }
        }
    }
}

/// What two readers of one value need together.
fn both(a: Option<Need>, b: Option<Need>) -> Option<Need> {
    let joined = match (a, b) {
        (None, need) | (need, None) => return need,
        (Some(Need::Whole), _) | (_, Some(Need::Whole)) => return Some(Need::Whole),
        (Some(Need::Parts(a)), Some(Need::Parts(b))) => Need::Parts(join(a, b)),
    };
    Some(if joined.size() > MAX_PLACES { Need::Whole } else { joined })
}

fn join(mut a: Parts, b: Parts) -> Parts {
    let each = both(a.each.take().map(|need| *need), b.each.map(|need| *need));
    for (key, need) in b.fields {
        let known = a.fields.remove(&key);
        a.fields.extend(both(known, Some(need)).map(|need| (key, need)));
    }
    for (place, need) in b.places {
        let known = a.places.remove(&place);
        a.places.extend(both(known, Some(need)).map(|need| (place, need)));
    }
    // One that is named is one of each as well.
    if let Some(each) = &each {
        for need in a.fields.values_mut().chain(a.places.values_mut()) {
            let named = std::mem::replace(need, Need::Whole);
            *need = both(Some(named), Some(each.clone())).unwrap_or(Need::Whole);
        }
    }
    Parts { each: each.map(Box::new), keys: a.keys || b.keys, ..a }
}

/// Returns what the program `term` needs of its input.
pub(crate) fn of(term: &Term<&str>) -> Need {
    input(term, Some(Need::Whole)).unwrap_or_else(Need::kind)
}

/// What `term` needs of its input when `out` is needed of its outputs; none when it does not look.
fn input(term: &Term<&str>, out: Option<Need>) -> Option<Need> {
    match term {
        Term::Id => out,
        Term::Num(_) | Term::Var(_) | Term::Break(_) | Term::Arr(None) => None,
        Term::Str(_, parts) => parts.iter().fold(None, |need, part| match part {
            StrPart::Term(term) => both(need, input(term, Some(Need::Whole))),
            StrPart::Str(_) | StrPart::Char(_) => need,
        }),
        Term::Arr(Some(items)) => input(items, Need::elements(out.as_ref())),
        Term::Obj(entries) => entries.iter().fold(None, |need, entry| both(need, entry_input(entry, out.as_ref()))),
        Term::Neg(term) => input(term, Some(Need::Whole)),
        Term::BinOp(left, operator, right) => operation(left, operator, right, out),
        Term::TryCatch(body, None) => input(body, out),
        Term::TryCatch(body, Some(catch)) => match input(catch, out.clone()) {
            None => input(body, out),
            // It sees the message, in which values can be.
            Some(_) => Some(Need::Whole),
        },
        Term::IfThenElse(branches, other) => {
            let last = other.as_ref().map_or_else(|| out.clone(), |other| input(other, out.clone()));
            branches.iter().fold(last, |need, (condition, then)| {
                both(both(need, input(condition, Some(Need::kind()))), input(then, out.clone()))
            })
        }
        Term::Call(name, arguments) => call(name, arguments, out),
        Term::Path(head, path) => {
            let (mut indices, mut inner) = (None, out);
            for (part, _optional) in path.0.iter().rev() {
                indices = both(indices, index_input(part));
                inner = Some(step(part, inner));
            }
            both(indices, input(head, inner))
        }
        Term::Recurse | Term::Label(..) | Term::Fold(..) | Term::Def(..) => Some(Need::Whole),
    }
}

fn operation(left: &Term<&str>, operator: &BinaryOp<&str>, right: &Term<&str>, out: Option<Need>) -> Option<Need> {
    let whole = || Some(Need::Whole);
    let truth = || Some(Need::kind());
    match operator {
        BinaryOp::Pipe(None) => input(left, input(right, out)),
        BinaryOp::Pipe(Some(Pattern::Var(_))) => both(input(left, whole()), input(right, out)),
        BinaryOp::Comma => both(input(left, out.clone()), input(right, out)),
        BinaryOp::Alt => both(input(left, both(out.clone(), truth())), input(right, out)),
        BinaryOp::Or | BinaryOp::And => both(input(left, truth()), input(right, truth())),
        BinaryOp::Math(_) | BinaryOp::Cmp(_) => both(input(left, whole()), input(right, whole())),
        BinaryOp::Pipe(Some(_))
        | BinaryOp::Assign
        | BinaryOp::Update
        | BinaryOp::UpdateMath(_)
        | BinaryOp::UpdateAlt => whole(),
    }
}

fn entry_input((key, value): &(Term<&str>, Option<Term<&str>>), out: Option<&Need>) -> Option<Need> {
    let name = constant(key);
    match (value, name) {
        (Some(value), Some(name)) => input(value, Need::of_field(out, name)),
        // `{name}` is `{name: .name}`.
        (None, Some(name)) => {
            let need = Need::of_field(out, name);
            Some(Need::named(name, need))
        }
        (Some(value), None) => both(input(key, Some(Need::Whole)), input(value, out.map(|_| Need::Whole))),
        (None, None) if matches!(key, Term::Var(_)) => None,
        (None, None) => Some(Need::Whole),
    }
}

/// What is needed of a value of which a part is taken, when `out` is needed of that part.
fn step(part: &Part<Term<&str>>, out: Option<Need>) -> Need {
    match part {
        Part::Index(Term::Num(number)) => match number.parse() {
            Ok(place) => {
                let places = out.map(|need| (place, need)).into_iter().collect();
                Need::Parts(Parts { places, ..Parts::default() })
            }
            Err(_) => Need::Whole,
        },
        Part::Index(index) => constant(index).map_or(Need::Whole, |key| Need::named(key, out)),
        Part::Range(None, None) => Need::each(out),
        // A string's slice is cut from the string, which is there as a whole.
        Part::Range(..) => Need::each(Need::elements(out.as_ref())),
    }
}

/// What the terms between the brackets need, which read the input of the whole path.
fn index_input(part: &Part<Term<&str>>) -> Option<Need> {
    let whole = |term: &Term<&str>| input(term, Some(Need::Whole));
    match part {
        Part::Index(index) => whole(index),
        Part::Range(from, to) => both(from.as_ref().and_then(whole), to.as_ref().and_then(whole)),
    }
}

/// A string without anything to fill in.
fn constant<'s>(term: &Term<&'s str>) -> Option<&'s str> {
    let Term::Str(None, parts) = term else { return None };
    match parts[..] {
        [] => Some(""),
        [StrPart::Str(text)] => Some(text),
        _ => None,
    }
}

/// The builtins that need less than all of their input.
fn call(name: &str, arguments: &[Term<&str>], out: Option<Need>) -> Option<Need> {
    let truth = || Some(Need::kind());
    let whole = || Some(Need::Whole);
    let each = |need| Some(Need::each(need));
    match (name, arguments) {
        ("empty" | "true" | "false" | "null", []) => None,
        ("not" | "type", []) => truth(),
        ("length" | "keys" | "keys_unsorted", []) => Some(Need::keys()),
        ("has", [key]) => both(Some(Need::keys()), input(key, whole())),
        ("select", [f]) => both(input(f, truth()), out),
        ("map", [f]) => each(input(f, Need::elements(out.as_ref()))),
        ("first" | "last", [f]) => input(f, out),
        ("first" | "last", []) => each(out),
        ("limit" | "skip", [n, f]) => both(input(n, whole()), input(f, out)),
        ("isempty", [f]) => input(f, None),
        ("any" | "all", []) => each(truth()),
        ("any" | "all", [f]) => each(input(f, truth())),
        ("sort_by" | "group_by" | "unique_by" | "min_by" | "max_by", [f]) => {
            let kept = if name == "group_by" { grouped(out.as_ref()) } else { kept(name, out.as_ref()) };
            each(both(input(f, whole()), kept))
        }
        _ => whole(),
    }
}

/// What is needed of the elements of an array that is ordered, when `out` is needed of what comes out.
fn kept(name: &str, out: Option<&Need>) -> Option<Need> {
    if matches!(name, "min_by" | "max_by") { out.cloned() } else { Need::elements(out) }
}

fn grouped(out: Option<&Need>) -> Option<Need> {
    Need::elements(Need::elements(out).as_ref())
}
