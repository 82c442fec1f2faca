//! What a write changed, in words that hold in every world.

use serde_json::{Map, Value};

use super::model::{World, text};

impl World {
    /// Returns `operation(name: value, …)` by name, ids as names, without versions.
    pub(super) fn effect(&self, operation: &str, arguments: &Map<String, Value>) -> String {
        let mut parts: Vec<String> = arguments
            .iter()
            .filter(|(name, _)| *name != "version")
            .map(|(name, value)| format!("{name}: {}", text(&self.named(name, value))))
            .collect();
        parts.sort();
        format!("{operation}({})", parts.join(", "))
    }

    /// Replaces ids by the names of their objects: in fields called after ids, and as words of texts.
    pub(super) fn named(&self, field: &str, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.named(field, item)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), self.named(name, value))).collect())
            }
            Value::String(words) => Value::String(self.in_words(words)),
            Value::Number(number) if field == "id" || field.ends_with("_id") || field.ends_with("_ids") => {
                self.name_of(&number.to_string()).map_or_else(|| value.clone(), Value::from)
            }
            other => other.clone(),
        }
    }

    /// Replaces the words of a text that are ids or keys.
    fn in_words(&self, words: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let (mut named, mut word) = (String::new(), String::new());
        for c in words.chars().chain(Some('\n')) {
            if is_part(c) {
                word.push(c);
                continue;
            }
            let known = Some(&word).filter(|word| word.parse::<i64>().is_err()).and_then(|word| self.name_of(word));
            named.push_str(known.unwrap_or(&word));
            named.push(c);
            word.clear();
        }
        named.pop();
        named
    }
}
