//! A tool's schema as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A JSON Schema as it is written into a file of a package.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SchemaText(Box<RawValue>);

impl SchemaText {
    /// Writes a schema.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        Self(to_raw_value(schema).expect("a value is JSON"))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the schema as whoever reads the file sees it: numbers can lose digits on the way through text.
    ///
    /// # Errors
    /// When it is nested so deeply that no reader takes it.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }
}

impl PartialEq for SchemaText {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}
