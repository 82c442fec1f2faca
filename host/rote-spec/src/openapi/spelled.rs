//! Which arguments are numbers for the schema and text on the wire.
//!
//! A number loses its spelling on the way through JSON; where it stands in a URL, a header or a form, the spelling
//! is what the server gets, and some take it for a name: `1503435956.000200` is another message than
//! `1503435956.0002`.

use rote_request::{BodyArguments, MediaKind, Operation};
use serde_json::Value;

/// Returns the arguments of an operation that may be given as the text of a number, in the operation's order.
pub(crate) fn arguments(operation: &Operation, schema: &Value) -> Vec<String> {
    let parameters = operation.parameters.iter().filter(|one| one.encoding.content_type.is_none());
    let mut names: Vec<&str> = parameters.map(|one| one.argument.as_str()).collect();
    if let Some(body) = &operation.body
        && let BodyArguments::Fields(fields) = &body.arguments
    {
        let typed = |name: &str| match &body.kind {
            MediaKind::Form { encodings, .. } => {
                encodings.iter().any(|(field, encoding)| field == name && encoding.content_type.is_some())
            }
            MediaKind::Multipart { content_types, .. } => content_types.iter().any(|(field, _)| field == name),
            _ => true,
        };
        names.extend(fields.iter().filter(|field| !typed(&field.name)).map(|field| field.argument.as_str()));
    }
    let is_number = |name: &&str| {
        let property = &schema["properties"][*name];
        admits_number(property) || admits_number(&property["items"])
    };
    names.into_iter().filter(is_number).map(str::to_owned).collect()
}

/// Whether a schema names a number among its types and text not: a text is sent as it is anyway.
fn admits_number(schema: &Value) -> bool {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    types.iter().any(|name| matches!(*name, "number" | "integer")) && !types.contains(&"string")
}
