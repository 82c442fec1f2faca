//! Parameters: what a person asked for, what hand-set variables are, and what else could be one.
//!
//! A parameter that was asked for by value replaces every literal that equals the value, and the value inside
//! longer text where it stands as a word of its own; one asked for by name alone replaces the argument of that
//! name. Anything else is proposed, never done.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Expression, Parameter, text_of};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::desk::Desk;
use super::draft::{Draft, DraftStep};
use super::literals::{MIN_EMBEDDED_CHARS, last_segment, replace, walk_literals};
use super::proposals::proposals;
use super::report::{ParameterReport, Place, Report};
use super::request::ParamSpec;
use super::secret;
use super::variables::Variables;
use crate::FlowError;
use crate::error::CrystallizeError;
use rote_types::{escape_token, type_name, unescape_token};

/// Most characters of a description taken from a tool's schema.
const MAX_DESCRIPTION_CHARS: usize = 300;

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    example: Value,
    source: &'static str,
    schema: Value,
}

/// The parameters of a flow in the making.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Parameters {
    entries: BTreeMap<String, Entry>,
}

impl Parameters {
    /// Returns the parameters that the variables of the recorded calls are.
    pub(crate) fn of(variables: Variables) -> Self {
        let entry = |(name, example)| (name, Entry { example, source: "variable", schema: Value::Null });
        Self { entries: variables.into_iter().map(entry).collect() }
    }

    /// Forgets the variables that only calls which fall out used.
    pub(crate) fn keep_used(&mut self, draft: &Draft, kept: &BTreeSet<usize>) {
        let used: BTreeSet<&str> = kept
            .iter()
            .flat_map(|position| draft.steps[*position].expressions())
            .flat_map(Expression::parameters)
            .collect();
        self.entries.retain(|name, _| used.contains(name.as_str()));
    }

    /// Makes the parameters that were asked for, in the steps that stay.
    pub(crate) fn apply(
        &mut self,
        specs: &[ParamSpec],
        draft: &mut Draft,
        kept: &BTreeSet<usize>,
        desk: &mut Desk,
    ) -> Result<(), FlowError> {
        let mut steps: Vec<&mut DraftStep> =
            draft.steps.iter_mut().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, step)| step).collect();
        for spec in specs {
            check_name(spec, &steps)?;
            match &spec.value {
                Some(value) => self.by_value(&spec.name, value, &mut steps)?,
                None => self.by_argument(&spec.name, &mut steps)?,
            }
        }
        if specs.iter().map(|spec| &spec.name).collect::<BTreeSet<_>>().len() < specs.len() {
            desk.note(None, "a parameter was asked for more than once".to_owned(), None);
        }
        Ok(())
    }

    fn by_value(&mut self, name: &str, value: &str, steps: &mut [&mut DraftStep]) -> Result<(), FlowError> {
        let mut example = None;
        for step in &mut *steps {
            replace(&mut step.arguments, &mut String::new(), &mut |_, literal| {
                let replaced = by_text(literal, name, value)?;
                let whole = matches!(replaced, Expression::Param(_));
                if whole || example.is_none() {
                    example = Some(if whole { literal.clone() } else { Value::from(value) });
                }
                Some(replaced)
            });
        }
        match (example, self.entries.get(name)) {
            // A variable that a person set under this name has made it already.
            (None, Some(entry)) if text_of(&entry.example) == value => Ok(()),
            (None, _) => {
                let reason = format!("no argument of a kept call holds `{value}`");
                Err(refusal(name, reason, steps))
            }
            (Some(example), Some(entry)) if text_of(&entry.example) != text_of(&example) => {
                let reason = format!("variable `{name}` of the workspace has the value `{}`", text_of(&entry.example));
                Err(refusal(name, reason, steps))
            }
            (Some(example), _) => {
                self.entries.insert(name.to_owned(), Entry { example, source: "given", schema: Value::Null });
                Ok(())
            }
        }
    }

    fn by_argument(&mut self, name: &str, steps: &mut [&mut DraftStep]) -> Result<(), FlowError> {
        if self.entries.contains_key(name) {
            return Ok(());
        }
        let mut values: Vec<Value> = Vec::new();
        for step in &*steps {
            walk_literals(&step.arguments, &mut String::new(), &mut |pointer, value| {
                if last_segment(pointer) == escape_token(name) && !values.contains(value) {
                    values.push(value.clone());
                }
            });
        }
        match values.as_slice() {
            [] => Err(refusal(name, "no argument of a kept call has this name".to_owned(), steps)),
            [example] => {
                for step in &mut *steps {
                    replace(&mut step.arguments, &mut String::new(), &mut |pointer, value| {
                        (last_segment(pointer) == escape_token(name) && value == example)
                            .then(|| Expression::Param(name.to_owned()))
                    });
                }
                let entry = Entry { example: example.clone(), source: "given", schema: Value::Null };
                self.entries.insert(name.to_owned(), entry);
                Ok(())
            }
            several => {
                let shown: Vec<String> = several.iter().map(|value| format!("`{}`", text_of(value))).collect();
                let reason =
                    format!("its argument has different values: {}; say which with `{name}=value`", shown.join(", "));
                Err(refusal(name, reason, steps))
            }
        }
    }

    /// Gives each parameter its schema, and reports parameters and proposals.
    pub(crate) fn describe(&mut self, cx: &Context<'_>, draft: &Draft, report: &mut Report) -> Result<(), FlowError> {
        let places = places(draft);
        for (name, entry) in &mut self.entries {
            let places = places.get(name).cloned().unwrap_or_default();
            if places.iter().any(|place| secret::is_secret(&place.pointer, &entry.example)) {
                let pointer = places.first().map(|place| place.pointer.clone()).unwrap_or_default();
                return Err(FlowError::Crystallize(CrystallizeError::Secret {
                    step: format!("parameter {name}"),
                    pointer,
                }));
            }
            let mut schema = Map::new();
            for place in &places {
                let Some(step) = draft.steps.iter().find(|step| step.id == place.step) else {
                    continue;
                };
                if let Some(tool) = cx.tool(step.call(cx.trace)) {
                    schema = described(&tool.input_schema, &place.pointer, &entry.example);
                }
                if !schema.is_empty() {
                    break;
                }
            }
            if !schema.contains_key("type") {
                schema.insert("type".to_owned(), type_name(&entry.example).into());
            }
            schema.insert("examples".to_owned(), json!([entry.example]));
            entry.schema = Value::Object(schema);
            let (name, example) = (name.clone(), entry.example.clone());
            report.parameters.push(ParameterReport { name, example, source: entry.source, places });
        }
        report.proposals = proposals(draft);
        Ok(())
    }

    /// Returns the declarations for the plan. All are required: a flow never falls back to a recorded value.
    pub(crate) fn declarations(&self) -> BTreeMap<String, Parameter> {
        self.entries.keys().map(|name| (name.clone(), Parameter { required: true, default: None })).collect()
    }

    /// Returns the JSON Schema for the frontmatter.
    pub(crate) fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.entries.iter().map(|(name, entry)| (name.clone(), entry.schema.clone())).collect();
        let required: Vec<String> = self.entries.keys().cloned().collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Returns the recorded values, with which the flow must reproduce the recorded result.
    pub(crate) fn examples(&self) -> Map<String, Value> {
        self.entries.iter().map(|(name, entry)| (name.clone(), entry.example.clone())).collect()
    }
}

fn check_name(spec: &ParamSpec, steps: &[&mut DraftStep]) -> Result<(), FlowError> {
    let name = &spec.name;
    let fits = (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if !fits {
        let reason = "use 1 to 64 letters, digits, `.`, `_` or `-`, and start with a letter or `_`";
        return Err(refusal(name, reason.to_owned(), steps));
    }
    if spec.value.as_deref() == Some("") {
        return Err(refusal(name, "an empty value stands everywhere and nowhere".to_owned(), steps));
    }
    Ok(())
}

fn refusal(name: &str, reason: String, steps: &[&mut DraftStep]) -> FlowError {
    let mut arguments = BTreeSet::new();
    for step in steps {
        walk_literals(&step.arguments, &mut String::new(), &mut |pointer, _| {
            arguments.insert(unescape_token(last_segment(pointer)).into_owned());
        });
    }
    FlowError::Crystallize(CrystallizeError::ParamSpec {
        name: name.to_owned(),
        reason,
        arguments: arguments.into_iter().collect(),
    })
}

/// Replaces a literal that equals `value`, or the words in it that do.
fn by_text(literal: &Value, name: &str, value: &str) -> Option<Expression> {
    let parameter = || Expression::Param(name.to_owned());
    if matches!(literal, Value::Null | Value::Array(_) | Value::Object(_)) {
        return None;
    }
    if text_of(literal) == value {
        return Some(parameter());
    }
    let text = literal.as_str().filter(|_| value.chars().count() >= MIN_EMBEDDED_CHARS)?;
    let mut parts = Vec::new();
    let mut done = 0;
    for (start, _) in text.match_indices(value) {
        let end = start + value.len();
        let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if start < done || joined(text[..start].chars().next_back()) || joined(text[end..].chars().next()) {
            continue;
        }
        if start > done {
            parts.push(Expression::Literal(Value::from(&text[done..start])));
        }
        parts.push(parameter());
        done = end;
    }
    if parts.is_empty() {
        return None;
    }
    if done < text.len() {
        parts.push(Expression::Literal(Value::from(&text[done..])));
    }
    Some(Expression::Text(parts))
}

/// Where each parameter is used.
fn places(draft: &Draft) -> BTreeMap<String, Vec<Place>> {
    fn walk(expression: &Expression, step: &str, pointer: &str, found: &mut BTreeMap<String, Vec<Place>>) {
        match expression {
            Expression::Param(name) => {
                let place = Place { step: step.to_owned(), pointer: pointer.to_owned() };
                let places = found.entry(name.clone()).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
            Expression::Object(members) => {
                for (key, inner) in members {
                    walk(inner, step, &format!("{pointer}/{}", escape_token(key)), found);
                }
            }
            Expression::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    walk(inner, step, &format!("{pointer}/{index}"), found);
                }
            }
            Expression::Text(parts) => parts.iter().for_each(|part| walk(part, step, pointer, found)),
            Expression::Default(first, fallback) => {
                walk(first, step, pointer, found);
                walk(fallback, step, pointer, found);
            }
            Expression::Literal(_) | Expression::From(_) | Expression::Item(_) | Expression::Index => {}
        }
    }
    let mut found = BTreeMap::new();
    for step in &draft.steps {
        walk(&step.arguments, &step.id, "", &mut found);
    }
    found
}

/// What the tool's schema says of the argument, as far as a parameter repeats it. Empty when the recorded value is
/// not of the type that the schema says (it stands inside longer text), or the schema is not plain.
fn described(schema: &Value, pointer: &str, example: &Value) -> Map<String, Value> {
    let mut at = schema;
    for segment in pointer.split('/').skip(1) {
        let key = unescape_token(segment);
        let inner = at.get("properties").and_then(|all| all.get(&*key)).or_else(|| at.get("items"));
        let Some(inner) = inner else { return Map::new() };
        at = inner;
    }
    let fits = match at.get("type") {
        Some(Value::String(name)) => name == type_name(example) || (name == "number" && example.is_number()),
        _ => false,
    };
    let allowed = at.get("enum").and_then(Value::as_array).is_none_or(|allowed| allowed.contains(example));
    if !fits || !allowed {
        return Map::new();
    }
    let mut kept = Map::new();
    for keyword in ["type", "enum", "format"] {
        if let Some(value) = at.get(keyword) {
            kept.insert(keyword.to_owned(), value.clone());
        }
    }
    if let Some(text) = at.get("description").and_then(Value::as_str) {
        kept.insert("description".to_owned(), text.chars().take(MAX_DESCRIPTION_CHARS).collect::<String>().into());
    }
    kept
}
