//! How well sentences become parameters, by a set of judged sentences (`tests/fixtures/intents/sentences.json`).

use std::fmt;
use std::ops::AddAssign;

use rote_flow::{Frontmatter, InferContext, InferSource, Inference};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A sentence, the parameters of a flow, and the values that the sentence says of them.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Judged {
    parameters: Vec<Map<String, Value>>,
    /// What somebody says.
    pub(crate) sentence: String,
    /// The values that it says.
    pub(crate) expect: Map<String, Value>,
}

/// What was inferred for a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Figures {
    /// Values that were said.
    pub(crate) said: usize,
    /// Values that were taken without a question.
    pub(crate) taken: usize,
    /// Of them those that are right.
    pub(crate) right: usize,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.said += other.said;
        self.taken += other.taken;
        self.right += other.right;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { said, taken, right } = self;
        write!(f, "said {said}, taken {taken}, right {right}")
    }
}

impl Judged {
    /// Judges what is taken from the sentence: what was taken, and how good that is.
    pub(crate) fn judge(&self) -> (Map<String, Value>, Figures) {
        let frontmatter = Frontmatter::parse(self.frontmatter().to_string().as_bytes()).expect("a frontmatter");
        let inference = Inference::new("judged", &frontmatter, &self.sentence, &InferContext::default());
        let said = |source| matches!(source, InferSource::Explicit | InferSource::Pattern | InferSource::AllowedValue);
        let mut taken = Map::new();
        for one in inference.parameters {
            if let (true, Some(value)) = (one.accepted && one.source.is_some_and(said), one.value) {
                taken.insert(one.name, value);
            }
        }
        let right = taken.iter().filter(|(name, value)| self.expect.get(*name).is_some_and(|one| is_same(one, value)));
        let figures = Figures { said: self.expect.len(), taken: taken.len(), right: right.count() };
        (taken, figures)
    }

    /// The frontmatter of a flow that has the parameters.
    fn frontmatter(&self) -> Value {
        let text = |one: &Map<String, Value>| one.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let required: Vec<String> =
            self.parameters.iter().filter(|one| one.get("required") == Some(&Value::Bool(true))).map(text).collect();
        let schema = |one: &Map<String, Value>| {
            let kept = one.iter().filter(|(key, _)| !matches!(key.as_str(), "name" | "required"));
            Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
        };
        let properties: Map<String, Value> = self.parameters.iter().map(|one| (text(one), schema(one))).collect();
        json!({
            "schema": 1, "name": "judged", "description": "Judged", "version": "0.1.0", "status": "draft",
            "kind": "atomic", "form": "plan", "adapters": {}, "write_permissions": [],
            "parameters": {"type": "object", "properties": properties, "required": required},
            "output": {"format": "json", "schema": null},
            "baseline": {"calls": 0, "duration_ms": 0, "tokens": 0}, "provenance": {"rote_version": "0.1.0"},
        })
    }
}

/// Whether two values are the same; `10` is `10.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-9,
        _ => one == other,
    }
}
