//! One ask as a condition of a plan: it holds of an answer exactly when the ask held of it.

use rote_plan::{Comparison, Condition, Expression, Operator, Reference};
use rote_types::ResponseId;
use rote_workspace::{Ask, AskKind, Comparison as Asked, desugar};
use serde_json::{Number, Value};

use super::super::super::context::Context;
use super::super::super::path::path_of;
use super::super::super::program::{made_list, stages};

/// An ask, as a condition of a plan.
#[derive(Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) condition: Condition,
    pub(super) says: String,
    pub(super) empty: Option<Empty>,
}

/// What was found empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Empty {
    pub(super) step: String,
    pub(super) list: String,
    /// The program that takes the first of it, when there is one.
    pub(super) item: String,
}

/// Reads an ask of the answer of a step, provided that the condition holds of the recorded answer; else says why not.
pub(super) fn reading(cx: &Context<'_>, step: &str, ask: &Ask) -> Result<Reading, String> {
    let programs: Vec<String> = ask.programs.iter().map(|program| desugar(program)).collect();
    if programs.iter().any(|program| cx.names_variables(program)) {
        return Err("it names a variable".to_owned());
    }
    let reader = Reader { cx, step, ask };
    match (&ask.condition, programs.as_slice()) {
        (AskKind::IsEmpty, [program]) => reader.is_empty(program),
        (AskKind::Exists, [program]) => {
            let condition = reader.counted(format!("[{program} | select(. != null)] | length"), ask.held)?;
            let says = format!("`{program}` of {step} does{} exist", reader.not());
            let empty = if ask.held { None } else { reader.empty(program) };
            Ok(Reading { condition, says, empty })
        }
        (AskKind::Expect, programs) => reader.expect(programs),
        (AskKind::Compare, [program]) => reader.compare(program),
        (AskKind::IsType, [program]) => {
            let wanted = ask.wanted.as_deref().ok_or("it lacks the type")?;
            let op = if ask.held { Operator::Eq } else { Operator::Ne };
            let jq = format!("[{program}] | .[0] | type");
            let right = (*reader.outputs(&jq)? == [Value::from(wanted)]) == ask.held;
            let condition = right.then(|| reader.compares(jq, op, wanted.into())).ok_or(NOT_SO)?;
            Ok(reader.of(condition, format!("`{program}` of {step} is{} of type {wanted}", reader.not())))
        }
        (AskKind::Changed, _) => Err("a plan does not compare two answers".to_owned()),
        _ => Err("it is not known".to_owned()),
    }
}

/// Reads that a query gave nothing of the answer of a step: no output, `null`, `false`, `0`, or what is empty.
pub(super) fn nothing(cx: &Context<'_>, step: &str, response: ResponseId, program: &str) -> Option<Reading> {
    let condition = AskKind::IsEmpty;
    let programs = vec![program.to_owned()];
    let ask = Ask { condition, response, others: Vec::new(), programs, comparison: None, wanted: None, held: true };
    let reader = Reader { cx, step, ask: &ask };
    let outputs = reader.outputs(program).ok()?;
    let says = |what: &str| format!("`{program}` of {step} is {what}");
    match outputs.as_slice() {
        [no @ Value::Bool(false)] => {
            Some(reader.of(reader.compares(program.to_owned(), Operator::Eq, no.clone()), says("false")))
        }
        [zero @ Value::Number(number)] if number.as_f64() == Some(0.0) => {
            let condition = reader.compares(program.to_owned(), Operator::Eq, zero.clone());
            let counted =
                program.trim().strip_suffix("length").map(|list| list.trim_end().trim_end_matches('|').trim());
            let list = counted.map(|list| if list.is_empty() { "." } else { list });
            let empty = list.and_then(|list| reader.empty(list));
            Some(Reading { condition, says: says("0"), empty })
        }
        several if several.len() > 1 && several.iter().all(|one| matches!(one, Value::Bool(false) | Value::Null)) => {
            let condition = reader.counted(format!("[{program} | select(.)] | length"), false).ok()?;
            Some(reader.of(condition, says("false of each")))
        }
        _ => reader.is_empty(program).ok(),
    }
}

/// Reads that a query gave something of the answer of a step.
pub(super) fn something(cx: &Context<'_>, step: &str, response: ResponseId, program: &str) -> Option<Reading> {
    let (condition, programs) = (AskKind::IsEmpty, vec![program.to_owned()]);
    let ask = Ask { condition, response, others: Vec::new(), programs, comparison: None, wanted: None, held: false };
    Reader { cx, step, ask: &ask }.is_empty(program).ok()
}

/// Reads that a query counted some in the answer of a step.
pub(super) fn more_than_none(step: &str, program: &str) -> Reading {
    let left = Expression::From(Reference::new(step.to_owned(), program.to_owned()));
    let (op, right) = (Operator::Gt, Some(Expression::Literal(0.into())));
    let condition = Condition::Compare(Comparison { left, op, right });
    Reading { condition, says: format!("`{program}` of {step} is more than 0"), empty: None }
}

/// Reads that a query gave this value of the answer of a step.
pub(super) fn equals(step: &str, program: &str, value: &Value) -> Reading {
    let left = Expression::From(Reference::new(step.to_owned(), program.to_owned()));
    let right = Some(Expression::Literal(value.clone()));
    let condition = Condition::Compare(Comparison { left, op: Operator::Eq, right });
    Reading { condition, says: format!("`{program}` of {step} is {value}"), empty: None }
}

/// Why a condition is none that fits the recorded answer in another way than the ask did.
const NOT_SO: &str = "the recorded answer is another one";

/// The list in which a program looks for something, and the program that takes that: `.[] | select(.name == "x") | .id`.
fn looked_for(program: &str) -> Option<(String, String)> {
    let inside = made_list(program).map(|(inside, _)| inside);
    let mut stages = stages(inside.unwrap_or(program)).into_iter().map(str::trim);
    let first = stages.next()?;
    let mut selects: Vec<String> = Vec::new();
    for stage in stages {
        let one = stage.strip_prefix("map(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(stage).trim();
        if !one.starts_with("select(") || !one.ends_with(')') {
            break;
        }
        selects.push(one.to_owned());
    }
    let list = first.strip_suffix("[]").unwrap_or(first);
    let list = if list.is_empty() { "." } else { list };
    path_of(list).filter(|_| !selects.is_empty())?;
    Some((list.to_owned(), item_of(list, &selects.join(" | "))))
}

/// The program that takes the one thing of a list that something is said of; several are not one.
pub(super) fn item_of(list: &str, selects: &str) -> String {
    format!("({list}[] | {selects})")
}

struct Reader<'a, 'b> {
    cx: &'a Context<'b>,
    step: &'a str,
    ask: &'a Ask,
}

impl Reader<'_, '_> {
    fn of(&self, condition: Condition, says: String) -> Reading {
        Reading { condition, says, empty: None }
    }

    fn not(&self) -> &'static str {
        if self.ask.held { "" } else { " not" }
    }

    fn outputs(&self, jq: &str) -> Result<Vec<Value>, String> {
        self.cx.outputs(self.ask.response, jq).map(|outputs| outputs.to_vec()).map_err(|error| error.to_string())
    }

    fn compares(&self, jq: String, op: Operator, right: Value) -> Condition {
        let left = Expression::From(Reference::new(self.step.to_owned(), jq));
        Condition::Compare(Comparison { left, op, right: Some(Expression::Literal(right)) })
    }

    /// The condition that a program counts something, or nothing.
    fn counted(&self, jq: String, some: bool) -> Result<Condition, String> {
        let outputs = self.outputs(&jq)?;
        let [Value::Number(count)] = outputs.as_slice() else { return Err(NOT_SO.to_owned()) };
        let op = if some { Operator::Gt } else { Operator::Eq };
        let right = count.as_u64().is_some_and(|count| (count > 0) == some);
        right.then(|| self.compares(jq, op, 0.into())).ok_or_else(|| NOT_SO.to_owned())
    }

    fn is_empty(&self, program: &str) -> Result<Reading, String> {
        let (held, plain) = (self.ask.held, path_of(program).is_some());
        let jq = match self.outputs(program)?.as_slice() {
            [Value::Array(_)] if plain => format!("{program} | length"),
            [Value::Array(_)] => format!("({program}) | length"),
            _ => format!("[{program} | select(. != null and . != \"\" and . != [] and . != {{}})] | length"),
        };
        let says = format!("`{program}` of {} is{} empty", self.step, self.not());
        let condition = self.counted(jq, !held)?;
        let empty = if held { self.empty(program) } else { None };
        Ok(Reading { condition, says, empty })
    }

    /// The list that a program found empty, as far as it has a place, or in which it found nothing that it looked for.
    fn empty(&self, program: &str) -> Option<Empty> {
        if let Some((list, item)) = looked_for(program) {
            return Some(Empty { step: self.step.to_owned(), list, item });
        }
        let list = program.strip_suffix("[]").unwrap_or(program);
        path_of(list)?;
        let item = match self.outputs(list).ok()?.as_slice() {
            [Value::Array(_)] => format!("{list}[0]"),
            // What stands there when there is one, nobody has seen: a list of it, or the thing itself.
            [Value::Null] => format!("[{list}] | flatten(1)[0]"),
            _ => return None,
        };
        Some(Empty { step: self.step.to_owned(), list: list.to_owned(), item })
    }

    fn expect(&self, programs: &[String]) -> Result<Reading, String> {
        let jq = match programs {
            [program] => format!("[{program}] | length > 0 and all"),
            several => {
                let each: Vec<String> = several.iter().map(|program| format!("[{program}]")).collect();
                format!("[{}] | all(length > 0 and all)", each.join(", "))
            }
        };
        let says = format!("`{}` of {} is{} true", programs.join("` and `"), self.step, self.not());
        let right = *self.outputs(&jq)? == [Value::from(self.ask.held)];
        let condition = right.then(|| self.compares(jq, Operator::Eq, self.ask.held.into())).ok_or(NOT_SO)?;
        Ok(self.of(condition, says))
    }

    fn compare(&self, program: &str) -> Result<Reading, String> {
        let wanted = self.ask.wanted.as_deref().ok_or("it lacks what it compares with")?;
        let asked = self.ask.comparison.ok_or("how it compares is not known")?;
        let outputs = self.outputs(program)?;
        let [value] = outputs.as_slice() else { return Err(NOT_SO.to_owned()) };
        if rote_workspace::compare(value, asked, wanted).ok() != Some(self.ask.held) {
            return Err(NOT_SO.to_owned());
        }
        let of = |op: Operator, right: Value| {
            let says = format!("`{program}` of {} is {} {wanted}", self.step, op.name());
            self.of(self.compares(program.to_owned(), op, right), says)
        };
        let held = self.ask.held;
        match asked {
            Asked::Equal | Asked::NotEqual if held == (asked == Asked::Equal) => Ok(of(Operator::Eq, value.clone())),
            Asked::Equal | Asked::NotEqual => Ok(of(Operator::Ne, as_kind_of(value, wanted))),
            Asked::Greater => Ok(of(if held { Operator::Gt } else { Operator::Le }, ordered(value, wanted)?)),
            Asked::Less => Ok(of(if held { Operator::Lt } else { Operator::Ge }, ordered(value, wanted)?)),
            Asked::AtLeast => Ok(of(if held { Operator::Ge } else { Operator::Lt }, ordered(value, wanted)?)),
            Asked::AtMost => Ok(of(if held { Operator::Le } else { Operator::Gt }, ordered(value, wanted)?)),
            Asked::Matches => Err("a plan does not compare with a pattern".to_owned()),
            Asked::Contains => {
                let right = contained(value, wanted)?;
                let Reading { condition, says, .. } = of(Operator::Contains, right);
                let not = |condition| if held { condition } else { Condition::Not(Box::new(condition)) };
                Ok(self.of(not(condition), if held { says } else { format!("not {says}") }))
            }
        }
    }
}

/// The wanted value as JSON of the kind of the one beside it: of a text it is a text.
fn as_kind_of(value: &Value, wanted: &str) -> Value {
    match (value, serde_json::from_str(wanted)) {
        (Value::String(_), Ok(Value::String(inner))) => inner.into(),
        (Value::String(_), _) | (_, Err(_)) => wanted.into(),
        (_, Ok(wanted)) => wanted,
    }
}

/// What a number or a text is ordered against.
fn ordered(value: &Value, wanted: &str) -> Result<Value, String> {
    if value.is_string() {
        return Ok(wanted.into());
    }
    let exact = serde_json::from_str(wanted.trim()).ok().filter(Value::is_number);
    let parsed = || wanted.trim().parse().ok().and_then(Number::from_f64).map(Value::Number);
    exact.or_else(parsed).ok_or_else(|| format!("`{wanted}` is not a number of JSON"))
}

/// What a text, a list or an object contains.
fn contained(value: &Value, wanted: &str) -> Result<Value, String> {
    match value {
        Value::String(_) | Value::Object(_) => Ok(wanted.into()),
        Value::Array(items) => {
            let equal = |item: &&Value| rote_workspace::compare(item, Asked::Equal, wanted).unwrap_or(false);
            let like = items.iter().find(equal).cloned().or_else(|| Some(as_kind_of(items.first()?, wanted)));
            let text = || serde_json::from_str::<Value>(wanted).is_err().then(|| Value::from(wanted));
            like.or_else(text).ok_or_else(|| format!("an empty list does not tell whether `{wanted}` is a text"))
        }
        other => Err(format!("a plan does not say what {other} contains")),
    }
}
