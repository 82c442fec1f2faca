//! Terms that are evaluated without an iterator for each step of each value, which is what jaq makes.
//!
//! These are paths with known keys, constants, comparisons, products and sums, and what an array collects of such terms. An
//! array, a comparison or a product is no path: whoever asks one for its paths gets jaq's error from here as well. Each
//! operation is that of the values or of `numbers.rs`, in jaq's order, so that the outcome is the same. A program's own
//! definitions can give a name another meaning, so nothing below one is evaluated here.

use std::borrow::Cow;
use std::cell::RefCell;

use jaq_core::compile::{Filter, Lut};
use jaq_core::data::HasLut;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::ops::{Cmp, Math};
use jaq_core::path::{Opt, Part};
use jaq_core::{Cv, DataT, Error, Native, RunPtr, ValT as _, ValXs};
use jaq_json::{Map, Val};

use crate::{index, numbers};

type Outcome<T = Val> = Result<T, Error<Val>>;
type Out<'o> = &'o mut dyn FnMut(Cow<'_, Val>) -> Outcome<()>;

/// What a compiled program has beside jaq's own: the terms that are evaluated here.
pub(crate) struct Compiled {
    pub(crate) filter: Filter<Native<Query>>,
    pub(crate) direct: Vec<Direct>,
}

/// What the native functions of this guest are given.
pub(crate) struct Query;

impl DataT for Query {
    type V<'a> = Val;
    type Data<'a> = &'a Compiled;
}

impl<'a> HasLut<'a, Query> for &'a Compiled {
    fn lut(&self) -> &'a Lut<Native<Query>> {
        &self.filter.lut
    }
}

/// The functions that stand for the terms, by their number: a function has no other way to know which it is.
const NAMES: [(&str, RunPtr<Query>); 8] = [
    ("_direct0", evaluate::<0>),
    ("_direct1", evaluate::<1>),
    ("_direct2", evaluate::<2>),
    ("_direct3", evaluate::<3>),
    ("_direct4", evaluate::<4>),
    ("_direct5", evaluate::<5>),
    ("_direct6", evaluate::<6>),
    ("_direct7", evaluate::<7>),
];

pub(crate) fn functions() -> impl Iterator<Item = Fun<Query>> {
    NAMES.into_iter().map(|(name, function)| run::<Query>((name, v(0), function)))
}

fn evaluate<const NUMBER: usize>(cv: Cv<'_, Query>) -> ValXs<'_, Val> {
    let direct = cv.0.data().direct.get(NUMBER).ok_or_else(|| Error::str("the program has no such term"));
    bome(direct.and_then(|direct| direct.one(&cv.1).map(Cow::into_owned)))
}

/// The terms of one program that are evaluated here.
#[derive(Default)]
pub(crate) struct Table(RefCell<Vec<Direct>>);

impl Table {
    /// One that takes nothing in.
    pub(crate) fn full() -> Self {
        Self(RefCell::new((0..NAMES.len()).map(|_| Direct::Input).collect()))
    }

    /// Returns the name of the function that evaluates `term`, if one does.
    pub(crate) fn take(&self, term: &Term<&str>) -> Option<&'static str> {
        let mut taken = self.0.borrow_mut();
        let (name, _) = NAMES.get(taken.len())?;
        let worth = match term {
            Term::Arr(Some(_)) => true,
            Term::BinOp(_, operator, _) => {
                matches!(operator, BinaryOp::Cmp(_) | BinaryOp::Math(_) | BinaryOp::And | BinaryOp::Or)
            }
            _ => false,
        };
        taken.push(Direct::of(term).filter(|_| worth)?);
        Some(name)
    }

    pub(crate) fn into_inner(self) -> Vec<Direct> {
        self.0.into_inner()
    }
}

/// A term that is evaluated here.
pub(crate) enum Direct {
    Input,
    Constant(Val),
    Path(Box<Direct>, Vec<(Step, Opt)>),
    Pipe(Box<Direct>, Box<Direct>),
    Select(Box<Direct>),
    Array(Box<Direct>),
    Object(Vec<(Val, Direct)>),
    Compare(Box<Direct>, Cmp, Box<Direct>),
    Compute(Box<Direct>, fn(Val, Val) -> Outcome, Box<Direct>),
    /// `and`, `or`: the truth of the left side that decides, and both sides.
    Logic(Box<Direct>, bool, Box<Direct>),
    Not,
}

pub(crate) enum Step {
    Key(Val),
    Each,
}

impl Direct {
    fn of(term: &Term<&str>) -> Option<Self> {
        let inner = |term: &Term<&str>| Self::of(term).map(Box::new);
        let one = |term: &Term<&str>| inner(term).filter(|term| term.is_one());
        Some(match term {
            Term::Id => Self::Input,
            Term::Num(_) | Term::Str(..) => Self::Constant(constant(term)?),
            Term::Path(head, path) => {
                let steps = path.0.iter().map(|(part, opt)| Some((step(part)?, *opt)));
                Self::Path(inner(head)?, steps.collect::<Option<_>>()?)
            }
            Term::Arr(Some(items)) => Self::Array(inner(items)?),
            Term::Obj(entries) => Self::Object(entries.iter().map(entry).collect::<Option<_>>()?),
            Term::Call("select", arguments) if arguments.len() == 1 => Self::Select(one(&arguments[0])?),
            Term::Call("not", arguments) if arguments.is_empty() => Self::Not,
            Term::BinOp(left, operator, right) => match operator {
                BinaryOp::Pipe(None) => Self::Pipe(inner(left)?, inner(right)?),
                BinaryOp::Cmp(operator) => Self::Compare(one(left)?, *operator, one(right)?),
                BinaryOp::Math(operator) => Self::Compute(one(left)?, computed(*operator), one(right)?),
                BinaryOp::And => Self::Logic(one(left)?, false, one(right)?),
                BinaryOp::Or => Self::Logic(one(left)?, true, one(right)?),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Whether it has one output for each input, or fails.
    fn is_one(&self) -> bool {
        match self {
            Self::Select(_) => false,
            Self::Pipe(left, right) => left.is_one() && right.is_one(),
            Self::Path(head, steps) => {
                head.is_one() && steps.iter().all(|step| matches!(step, (Step::Key(_), Opt::Essential)))
            }
            _ => true,
        }
    }

    /// Gives its outputs over `input` to `out`.
    fn each(&self, input: &Val, out: Out<'_>) -> Outcome<()> {
        match self {
            Self::Pipe(left, right) => left.each(input, &mut |value| right.each(&value, out)),
            Self::Path(head, steps) => head.each(input, &mut |value| walk(&value, steps, out)),
            Self::Select(condition) if condition.one(input)?.as_bool() => out(Cow::Borrowed(input)),
            Self::Select(_) => Ok(()),
            _ => out(self.one(input)?),
        }
    }

    /// Returns its one output over `input`.
    fn one<'v>(&'v self, input: &'v Val) -> Outcome<Cow<'v, Val>> {
        Ok(Cow::Owned(match self {
            Self::Input => return Ok(Cow::Borrowed(input)),
            Self::Constant(value) => return Ok(Cow::Borrowed(value)),
            Self::Path(head, steps) => return steps.iter().try_fold(head.one(input)?, taken),
            Self::Pipe(left, right) => match left.one(input)? {
                Cow::Borrowed(value) => return right.one(value),
                Cow::Owned(value) => right.one(&value)?.into_owned(),
            },
            Self::Select(_) => return Err(Error::str("a selection is not one value")),
            Self::Array(items) => {
                let mut all = Vec::new();
                items.each(input, &mut |value| {
                    all.push(value.into_owned());
                    Ok(())
                })?;
                all.into_iter().collect()
            }
            Self::Object(entries) => {
                let mut map = Map::default();
                for (key, value) in entries {
                    map.insert(key.clone(), value.one(input)?.into_owned());
                }
                Val::obj(map)
            }
            Self::Compare(left, operator, right) => {
                let left = left.one(input)?;
                Val::from(operator.run(&*left, &*right.one(input)?))
            }
            Self::Compute(left, compute, right) => {
                let left = left.one(input)?.into_owned();
                compute(left, right.one(input)?.into_owned())?
            }
            Self::Logic(left, decides, right) if left.one(input)?.as_bool() != *decides => {
                Val::from(right.one(input)?.as_bool())
            }
            Self::Logic(_, decides, _) => Val::from(*decides),
            Self::Not => Val::from(!input.as_bool()),
        }))
    }
}

fn taken<'v>(value: Cow<'v, Val>, (step, _): &'v (Step, Opt)) -> Outcome<Cow<'v, Val>> {
    let Step::Key(key) = step else { return Err(Error::str("an iteration is not one value")) };
    match (value, key) {
        (Cow::Borrowed(Val::Obj(map)), Val::TStr(_)) => Ok(map.get(key).map_or(Cow::Owned(Val::Null), Cow::Borrowed)),
        (value, key) => index::at(&value, key).map(Cow::Owned),
    }
}

/// Gives what lies at `steps` in `value` to `out`.
fn walk(value: &Val, steps: &[(Step, Opt)], out: Out<'_>) -> Outcome<()> {
    let Some((step, rest)) = steps.split_first() else { return out(Cow::Borrowed(value)) };
    let optional = matches!(step.1, Opt::Optional);
    match (step, value) {
        ((Step::Key(_), _), _) => match taken(Cow::Borrowed(value), step) {
            Ok(value) => walk(&value, rest, out),
            Err(_) if optional => Ok(()),
            Err(error) => Err(error),
        },
        ((Step::Each, _), Val::Arr(items)) => items.iter().try_for_each(|item| walk(item, rest, out)),
        ((Step::Each, _), Val::Obj(map)) => map.values().try_for_each(|item| walk(item, rest, out)),
        _ if optional => Ok(()),
        _ => Err(index::not_iterable(value)),
    }
}

fn step(part: &Part<Term<&str>>) -> Option<Step> {
    match part {
        Part::Index(term) => constant(term).map(Step::Key),
        Part::Range(None, None) => Some(Step::Each),
        Part::Range(..) => None,
    }
}

fn entry((key, value): &(Term<&str>, Option<Term<&str>>)) -> Option<(Val, Direct)> {
    let Term::Str(..) = key else { return None };
    let name = constant(key)?;
    let value = match value {
        Some(value) => Direct::of(value).filter(Direct::is_one)?,
        None => Direct::Path(Box::new(Direct::Input), vec![(Step::Key(name.clone()), Opt::Essential)]),
    };
    Some((name, value))
}

fn constant(term: &Term<&str>) -> Option<Val> {
    match term {
        Term::Num(number) => match number.parse::<isize>() {
            Ok(number) => Some(Val::from(number)),
            Err(_) => Val::from_num(number).ok(),
        },
        Term::Str(None, parts) => match parts[..] {
            [] => Some(Val::utf8_str("")),
            [StrPart::Str(text)] => Some(Val::utf8_str(text.to_owned())),
            _ => None,
        },
        _ => None,
    }
}

fn computed(operator: Math) -> fn(Val, Val) -> Outcome {
    match operator {
        Math::Add => |left, right| left + right,
        Math::Sub => |left, right| left - right,
        Math::Mul => numbers::multiply,
        Math::Div => numbers::divide,
        Math::Rem => numbers::modulo,
    }
}
