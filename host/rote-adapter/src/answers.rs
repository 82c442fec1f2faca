//! What the tools of an adapter answer, by its description: `answers.json`.
//!
//! It is beside the tools because a call does not need it. It is outside the identity of an adapter: what a server
//! answers is its own word each time, and nothing is refused for having another shape.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rote_types::SchemaText;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The shapes of answers, each once, and which tool has which.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerShapes {
    shapes: Vec<SchemaText>,
    tools: BTreeMap<String, usize>,
}

impl AnswerShapes {
    /// Takes what the description says of each tool.
    pub(crate) fn collect(answers: &[(String, Arc<SchemaText>)]) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut collected = Self::default();
        for (tool, shape) in answers {
            let place = *places.entry(shape.as_str()).or_insert_with(|| {
                collected.shapes.push(SchemaText::clone(shape));
                collected.shapes.len() - 1
            });
            collected.tools.insert(tool.clone(), place);
        }
        collected
    }

    /// Returns the shape of what a tool answers, a JSON Schema; none where the description does not say.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<Value> {
        self.shapes.get(*self.tools.get(tool)?)?.value().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shapes_that_are_the_same_are_written_once() {
        let list = json!({"type": "array"});
        let one = |name: &str, shape: &Value| (name.to_owned(), Arc::new(SchemaText::of(shape)));
        let answers = AnswerShapes::collect(&[one("a", &list), one("b", &json!({"type": "object"})), one("c", &list)]);
        let text = serde_json::to_string(&answers).unwrap();
        assert_eq!(text, r#"{"shapes":[{"type":"array"},{"type":"object"}],"tools":{"a":0,"b":1,"c":0}}"#);
        let read: AnswerShapes = serde_json::from_str(&text).unwrap();
        assert_eq!((read.of("c"), read.of("d")), (Some(list), None));
        let broken: AnswerShapes = serde_json::from_str(r#"{"shapes":[],"tools":{"a":7}}"#).unwrap();
        assert_eq!(broken.of("a"), None);
    }
}
