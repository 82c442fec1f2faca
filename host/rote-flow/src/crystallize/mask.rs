//! What a person made a secret parameter is not kept: in the recording that the flow is replayed with, another text stands for it.

use rote_workspace::schema_of;
use serde_json::Value;

use crate::recording::{ExchangeOutcome, RecordedBody, RecordedExchange};

/// Shortest secret that is looked for inside longer text.
const MIN_INSIDE: usize = 8;

/// A secret and what stands for it.
pub(crate) struct Mask {
    pub(crate) secret: String,
    pub(crate) placeholder: String,
}

/// Puts the placeholders everywhere.
pub(crate) fn apply(masks: &[Mask], calls: &mut [RecordedExchange], recorded: &mut Value) {
    for mask in masks {
        mask.value(recorded);
        for call in &mut *calls {
            mask.value(&mut call.arguments);
            if let ExchangeOutcome::Answered { body: RecordedBody::Json(text) | RecordedBody::Text(text), .. } =
                &mut call.outcome
            {
                *text = mask.text(text);
            }
        }
    }
}

/// The schema of a recorded answer, without what stood in it.
pub(crate) fn shape_of(recorded: &Value) -> Value {
    let mut schema = schema_of(recorded);
    forget(&mut schema);
    schema
}

fn forget(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    members.shift_remove("examples");
    for (key, inner) in members {
        match inner {
            Value::Object(keys) if key == "keys" => keys.values_mut().for_each(forget),
            Value::Array(several) => several.iter_mut().for_each(forget),
            one => forget(one),
        }
    }
}

impl Mask {
    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) if *text == self.secret => text.clone_from(&self.placeholder),
            Value::String(text) if self.secret.len() >= MIN_INSIDE => {
                *text = text.replace(&self.secret, &self.placeholder);
            }
            Value::Array(items) => items.iter_mut().for_each(|inner| self.value(inner)),
            Value::Object(members) => members.values_mut().for_each(|inner| self.value(inner)),
            _ => {}
        }
    }

    /// A body, as it came: the secret as JSON writes it.
    fn text(&self, body: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let whole = body.replace(&quoted(&self.secret), &quoted(&self.placeholder));
        if self.secret.len() < MIN_INSIDE {
            return whole;
        }
        let inside = |text: &str| quoted(text).trim_matches('"').to_owned();
        whole.replace(&inside(&self.secret), &inside(&self.placeholder))
    }
}
