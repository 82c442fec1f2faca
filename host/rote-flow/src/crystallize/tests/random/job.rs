//! Random jobs: calls that use what earlier ones were answered. A job is what a person means by it, so it can be done in any
//! world; what was typed for it in one world is told beside.

use std::collections::BTreeSet;

use rote_plan::text_of;
use serde_json::{Map, Value, json};

use super::Dice;
use super::api::{KINDS, STATES, Store, path_name, tool};

/// What a person says for each run.
#[derive(Debug, Clone)]
pub(super) enum Said {
    Text(String),
    /// The id of a thing.
    Thing(usize, u32),
}

/// A parameter: what was said, and whether it was asked for by its value.
#[derive(Debug, Clone)]
pub(super) struct Spoken {
    pub(super) name: String,
    pub(super) said: Said,
    pub(super) by_value: bool,
}

impl Spoken {
    pub(super) fn value(&self, store: &Store) -> Value {
        match &self.said {
            Said::Text(text) => Value::from(text.as_str()),
            Said::Thing(kind, number) => store.id(*kind, *number),
        }
    }
}

/// Which item of a list.
#[derive(Debug, Clone)]
enum Pick {
    /// It is not a list.
    One,
    At(usize),
    /// The one with this value of this field.
    With(&'static str, Box<Source>),
}

/// Something of the answer of an operation before.
#[derive(Debug, Clone)]
struct Taken {
    operation: usize,
    /// On the way to the list or the thing.
    base: Vec<String>,
    pick: Pick,
    path: Vec<String>,
    /// Typed as it was read, else written as a reference.
    typed: bool,
}

/// Where an argument comes from.
#[derive(Debug, Clone)]
enum Source {
    Fixed(Value),
    Said(usize),
    Answer(Taken),
    /// The item at hand.
    Item(Vec<String>),
    /// A sentence with an id in it.
    About(String, Taken),
}

#[derive(Debug, Clone)]
struct Operation {
    verb: &'static str,
    kind: usize,
    arguments: Vec<(String, Source)>,
    /// The list for each item of which it is done, and the state that those have for which it is.
    each: Option<(Taken, Option<&'static str>)>,
}

/// A call as it was made.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) writes: bool,
    /// As typed, with references.
    pub(super) raw: Value,
    pub(super) sent: Value,
    pub(super) answer: Value,
    /// What was asked of earlier answers right before: the number of the answer, and the program.
    pub(super) looks: Vec<(u64, String)>,
}

/// A job.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    operations: Vec<Operation>,
    pub(super) spoken: Vec<Spoken>,
}

/// A job that was done.
#[derive(Debug, Clone)]
pub(super) struct Done {
    pub(super) calls: Vec<Call>,
    /// The number of the first call of each operation.
    first: Vec<u64>,
}

/// A job that is being done.
struct Doing<'a> {
    job: &'a Job,
    store: &'a mut Store,
    skipped: &'a BTreeSet<u64>,
    calls: Vec<Call>,
    /// The number of the first call of each operation.
    first: Vec<u64>,
}

/// The answer of a number.
fn answer(calls: &[Call], number: u64) -> &Value {
    &calls[usize::try_from(number).unwrap() - 1].answer
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn jq(path: &[String]) -> String {
    if path.is_empty() { ".".to_owned() } else { path.iter().map(|name| format!(".{name}")).collect() }
}

/// What is sent, what was typed, and what was looked at for it.
type Got = (Value, Value, Vec<(u64, String)>);

impl Job {
    /// Does it in a world, without some of the calls, which nothing that stays may need.
    pub(super) fn perform(&self, store: &mut Store, skipped: &BTreeSet<u64>) -> Result<Done, String> {
        let mut doing = Doing { job: self, store, skipped, calls: Vec::new(), first: Vec::new() };
        for operation in &self.operations {
            doing.operation(operation)?;
        }
        Ok(Done { calls: doing.calls, first: doing.first })
    }

    /// Makes one up that can be done.
    pub(super) fn random(dice: &mut Dice<'_>, store: &Store) -> Self {
        let mut job = Self::default();
        let wanted = 2 + dice.below(7);
        for _ in 0..2 * wanted {
            let mut copy = store.clone();
            let Ok(done) = job.perform(&mut copy, &BTreeSet::new()) else { break };
            if done.calls.len() >= wanted {
                break;
            }
            let mut longer = job.clone();
            let invented = Inventor { dice, job: &mut longer, store: &copy, done: &done }.operation();
            let fits = invented
                && longer.perform(&mut store.clone(), &BTreeSet::new()).is_ok_and(|done| done.calls.len() <= 10);
            if fits {
                job = longer;
            }
        }
        job
    }
}

impl Doing<'_> {
    fn operation(&mut self, operation: &Operation) -> Result<(), String> {
        self.first.push(self.calls.len() as u64 + 1);
        let Some((list, only)) = &operation.each else { return self.call(operation, None) };
        let number = self.first[list.operation];
        let items = at(answer(&self.calls, number), &list.base).and_then(Value::as_array).cloned();
        let items = items.ok_or_else(|| "not a list".to_owned())?;
        let wanted = |item: &Value| only.is_none_or(|state| item["status"] == state);
        if !items.iter().any(wanted) {
            return Err("for nothing".to_owned());
        }
        let before = self.calls.len();
        for (index, item) in items.iter().enumerate().filter(|(_, item)| wanted(item)) {
            self.call(operation, Some((number, list, index, item)))?;
        }
        if let Some(state) = only {
            let program = format!("{}[] | select(.status == \"{state}\")", jq(&list.base));
            self.calls[before].looks.insert(0, (number, program));
        }
        Ok(())
    }

    fn call(&mut self, operation: &Operation, item: Option<(u64, &Taken, usize, &Value)>) -> Result<(), String> {
        let (mut sent, mut raw, mut looks) = (Map::new(), Map::new(), Vec::new());
        let (tool, writes) = (tool(operation.verb, operation.kind), !["list", "get"].contains(&operation.verb));
        let number = self.calls.len() as u64 + 1;
        if self.skipped.contains(&number) {
            let (raw, sent, answer) = (Value::Null, Value::Null, Value::Null);
            self.calls.push(Call { tool, writes, raw, sent, answer, looks });
            return Ok(());
        }
        for (name, source) in &operation.arguments {
            let (value, typed, looked) = self.value(source, item)?;
            sent.insert(name.clone(), value);
            raw.insert(name.clone(), typed);
            looks.extend(looked);
        }
        let sent = Value::Object(sent);
        let answer = self.store.answer(operation.verb, operation.kind, &sent)?;
        self.calls.push(Call { tool, writes, raw: raw.into(), sent, answer, looks });
        Ok(())
    }

    fn value(&self, source: &Source, item: Option<(u64, &Taken, usize, &Value)>) -> Result<Got, String> {
        match source {
            Source::Fixed(value) => Ok((value.clone(), value.clone(), Vec::new())),
            Source::Said(number) => {
                let value = self.job.spoken[*number].value(self.store);
                Ok((value.clone(), value, Vec::new()))
            }
            Source::Item(path) => {
                let (number, list, index, item) = item.ok_or_else(|| "no item".to_owned())?;
                let value = at(item, path).cloned().ok_or_else(|| "not there".to_owned())?;
                let reference = format!("@{number}{{{}[{index}]{}}}", jq(&list.base), jq(path));
                Ok((value.clone(), if list.typed { value } else { reference.into() }, Vec::new()))
            }
            Source::Answer(taken) => self.taken(taken),
            Source::About(text, taken) => {
                let (value, typed, looks) = self.taken(taken)?;
                let say = |value: &Value| Value::from(format!("{text} {}.", text_of(value)));
                Ok((say(&value), say(&typed), looks))
            }
        }
    }

    fn taken(&self, taken: &Taken) -> Result<Got, String> {
        let number = self.first[taken.operation];
        let missing = || "not there".to_owned();
        let whole = at(answer(&self.calls, number), &taken.base).ok_or_else(missing)?;
        let (thing, program, is_look) = match &taken.pick {
            Pick::One => (whole, jq(&[taken.base.clone(), taken.path.clone()].concat()), false),
            Pick::At(index) => (
                whole.get(index).ok_or_else(missing)?,
                format!("{}[{index}]{}", jq(&taken.base), jq(&taken.path)),
                false,
            ),
            Pick::With(field, wanted) => {
                let (wanted, ..) = self.value(wanted, None)?;
                let mut found = whole.as_array().ok_or_else(missing)?.iter().filter(|item| item[*field] == wanted);
                let (Some(one), None) = (found.next(), found.next()) else { return Err("not one".to_owned()) };
                (one, format!("{}[] | select(.{field} == {wanted}) | {}", jq(&taken.base), jq(&taken.path)), true)
            }
        };
        let value = at(thing, &taken.path).cloned().ok_or_else(missing)?;
        let looks = if is_look && taken.typed { vec![(number, program.clone())] } else { Vec::new() };
        let typed = if taken.typed { value.clone() } else { Value::from(format!("@{number}{{{program}}}")) };
        Ok((value, typed, looks))
    }
}

/// Makes up what is done next.
struct Inventor<'a, 'd> {
    dice: &'a mut Dice<'d>,
    job: &'a mut Job,
    /// After all that was done so far.
    store: &'a Store,
    done: &'a Done,
}

impl Inventor<'_, '_> {
    /// Adds an operation; whether there is one.
    fn operation(&mut self) -> bool {
        let kind = self.dice.below(KINDS.len());
        let verb = ["list", "get", "update", "create", "note", "each", "delete", "list"][self.dice.below(8)];
        let own = path_name(self.store.variant, kind);
        let mut operation = Operation { verb, kind, arguments: Vec::new(), each: None };
        match verb {
            "list" => {
                if self.dice.below(3) == 1 {
                    let state = STATES[self.dice.below(3)];
                    let state = self.text("status", state);
                    operation.arguments.push(("status".to_owned(), state));
                }
            }
            "create" => operation.arguments = self.fields(kind, true),
            "each" => return self.each(),
            _ => {
                let Some(id) = self.thing(kind, &own) else { return false };
                operation.arguments.push((own, id));
                match verb {
                    "update" => operation.arguments.extend(self.fields(kind, false)),
                    "note" => operation.arguments.push(("body".to_owned(), self.body())),
                    _ => {}
                }
            }
        }
        self.job.operations.push(operation);
        true
    }

    fn each(&mut self) -> bool {
        let lists: Vec<usize> =
            (0..self.job.operations.len()).filter(|at| self.job.operations[*at].verb == "list").collect();
        let Some(list) = lists.get(self.dice.below(lists.len().max(1))).copied() else { return false };
        let kind = self.job.operations[list].kind;
        let base = self.store.list_path(kind);
        let taken = Taken { operation: list, base, pick: Pick::One, path: Vec::new(), typed: self.dice.below(2) == 0 };
        let only = Some(STATES[self.dice.below(3)]).filter(|_| self.dice.below(2) == 1);
        let own = path_name(self.store.variant, kind);
        let mut arguments = vec![(own, Source::Item(vec![self.store.id_field(kind).to_owned()]))];
        let verb = ["note", "update", "delete"][self.dice.below(3)];
        match verb {
            "note" => arguments.push(("body".to_owned(), Source::Fixed("Seen".into()))),
            "update" => arguments.extend(self.fields(kind, false)),
            _ => {}
        }
        self.job.operations.push(Operation { verb, kind, arguments, each: Some((taken, only)) });
        true
    }

    /// What is set of a thing.
    fn fields(&mut self, kind: usize, is_new: bool) -> Vec<(String, Source)> {
        let mut fields = Vec::new();
        if is_new {
            let name = ["Plan", "Ada", "Crash", "New desk"][self.dice.below(4)];
            fields.push(("name".to_owned(), self.text("name", name)));
        }
        match self.dice.below(4) {
            0 => fields.push(("amount".to_owned(), Source::Fixed(self.dice.below(40).into()))),
            1 => fields.push(("note".to_owned(), self.body())),
            _ => {
                let state = STATES[self.dice.below(3)];
                fields.push(("status".to_owned(), self.text("status", state)));
            }
        }
        if let Some((other, path)) = self.store.reference(kind).filter(|_| self.dice.below(3) > 0) {
            let name = if path.len() == 1 { path[0].clone() } else { KINDS[other].to_owned() };
            if let Some(id) = self.thing(other, &name) {
                fields.push((name, id));
            }
        }
        fields
    }

    fn text(&mut self, name: &str, text: &str) -> Source {
        if self.dice.below(3) == 1 { self.said(name, Said::Text(text.to_owned())) } else { Source::Fixed(text.into()) }
    }

    /// What a query asks for; a parameter of it is known by its value.
    fn asked(&mut self, field: &str, value: &str) -> Source {
        let source = self.text(field, value);
        if let Source::Said(number) = source {
            self.job.spoken[number].by_value = true;
        }
        source
    }

    fn body(&mut self) -> Source {
        let kind = self.dice.below(KINDS.len());
        let taken = if self.dice.below(2) == 1 && self.store.is_spoken_of(kind) { self.taken(kind) } else { None };
        match taken {
            Some(taken) => Source::About("See".to_owned(), taken),
            None => Source::Fixed("Looked at it".into()),
        }
    }

    /// A parameter.
    fn said(&mut self, name: &str, said: Said) -> Source {
        let same = |spoken: &Spoken| match (&spoken.said, &said) {
            (Said::Text(one), Said::Text(other)) => one == other,
            (Said::Thing(kind, number), Said::Thing(other, another)) => kind == other && number == another,
            _ => false,
        };
        if let Some(known) = self.job.spoken.iter().position(same) {
            return Source::Said(known);
        }
        let by_value = self.dice.below(2) == 1;
        let taken = self.job.spoken.iter().any(|spoken| spoken.name == name);
        let (name, by_value) =
            if taken { (format!("{name}_{}", self.job.spoken.len()), true) } else { (name.to_owned(), by_value) };
        self.job.spoken.push(Spoken { name, said, by_value });
        Source::Said(self.job.spoken.len() - 1)
    }

    /// The id of a thing of a kind: of an answer, else what the person says.
    fn thing(&mut self, kind: usize, name: &str) -> Option<Source> {
        if self.dice.below(5) > 0
            && let Some(taken) = self.taken(kind)
        {
            return Some(Source::Answer(taken));
        }
        let numbers = self.store.numbers(kind);
        let number = *numbers.get(self.dice.below(numbers.len().max(1)))?;
        Some(self.said(name, Said::Thing(kind, number)))
    }

    fn taken(&mut self, kind: usize) -> Option<Taken> {
        let mut found = Vec::new();
        for (at, operation) in self.job.operations.iter().enumerate().filter(|(_, one)| one.each.is_none()) {
            let mut paths = Vec::new();
            if operation.kind == kind {
                paths.push(vec![self.store.id_field(kind).to_owned()]);
            }
            if let Some((_, path)) = self.store.reference(operation.kind).filter(|(other, _)| *other == kind) {
                paths.push(path);
            }
            if !["delete", "note"].contains(&operation.verb) {
                found.extend(paths.into_iter().map(|path| (at, path)));
            }
        }
        let (operation, path) = found.get(self.dice.below(found.len().max(1))).cloned()?;
        let typed = self.dice.below(3) > 0;
        let of = &self.job.operations[operation];
        if of.verb != "list" {
            let base = self.store.one_path(of.kind);
            return Some(Taken { operation, base, pick: Pick::One, path, typed });
        }
        let base = self.store.list_path(of.kind);
        let items = at_list(answer(&self.done.calls, self.done.first[operation]), &base)?;
        let index = self.dice.below(items.len().max(1));
        let field = ["name", "status"][self.dice.below(2)];
        let value = items.get(index)?.get(field)?.as_str()?.to_owned();
        let is_unique = items.iter().filter(|item| item[field] == value.as_str()).count() == 1;
        let pick = if is_unique && self.dice.below(3) > 0 {
            Pick::With(field, Box::new(self.asked(field, &value)))
        } else {
            Pick::At(index)
        };
        Some(Taken { operation, base, pick, path, typed })
    }
}

fn at_list<'v>(value: &'v Value, path: &[String]) -> Option<&'v Vec<Value>> {
    at(value, path)?.as_array()
}

/// The calls in short, for a person.
pub(super) fn told(calls: &[Call]) -> String {
    let call = |(at, call): (usize, &Call)| {
        let looks: String = call.looks.iter().map(|(of, jq)| format!("    look @{of} {jq}\n")).collect();
        let json = json!({"raw": call.raw, "answer": call.answer});
        format!("{looks}  @{} {} {json}\n", at + 1, call.tool)
    };
    calls.iter().enumerate().map(call).collect()
}
