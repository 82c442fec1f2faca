//! The hand-set variables that the recorded calls used: each is a parameter of the flow.

use std::collections::BTreeMap;

use rote_plan::text_of;
use serde_json::Value;

/// Names of parameters with the values that the variables had.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Variables(BTreeMap<String, Value>);

impl Variables {
    /// Returns the name of the parameter that a variable is; another one when it was set anew between two uses.
    pub(crate) fn parameter(&mut self, name: &str, value: Value) -> String {
        let mut unique = name.to_owned();
        let mut number = 2;
        while self.0.get(&unique).is_some_and(|known| text_of(known) != text_of(&value)) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        self.0.entry(unique.clone()).or_insert(value);
        unique
    }
}

impl IntoIterator for Variables {
    type Item = (String, Value);
    type IntoIter = std::collections::btree_map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
