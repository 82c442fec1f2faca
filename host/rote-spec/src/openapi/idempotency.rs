//! The header in which an operation takes idempotency keys, where it declares one.

use rote_request::Location;
use rote_types::names_idempotency_key;

use crate::notices::Notes;
use crate::openapi::parameters::Planned;
use crate::openapi::reader::Reader;

/// How long a key of rote's is: a UUID in its text form (RFC 9562 §4).
const KEY_CHARS: u64 = 36;

/// Returns the header that an operation declares for idempotency keys, when a key of rote's fits what is said of it.
/// Its argument becomes optional: where the caller gives none, rote has one.
pub(crate) fn take(reader: &Reader<'_>, planned: &mut [Planned<'_>], notes: &Notes) -> Option<String> {
    let declared = planned.iter_mut().find(|one| {
        one.parameter.location == Location::Header
            && one.parameter.encoding.content_type.is_none()
            && names_idempotency_key(&one.parameter.name)
            && admits_a_key(reader, one, notes)
    })?;
    declared.parameter.required = false;
    Some(declared.parameter.name.clone())
}

/// Whether the schema leaves room for a UUID. What a pattern admits is not known here, so it admits none.
fn admits_a_key(reader: &Reader<'_>, planned: &Planned<'_>, notes: &Notes) -> bool {
    let Some(schema) = planned.schema.clone() else { return true };
    let Some(schema) = reader.resolve(schema, "schema of an idempotency key not found", notes) else { return false };
    let number = |key: &str| schema.get(key).and_then(|node| node.value.as_u64());
    let is_text = schema.text("type").is_none_or(|kind| kind == "string")
        && !schema.get("type").is_some_and(|node| node.value.is_array());
    let is_free = ["pattern", "enum", "const", "allOf", "anyOf", "oneOf"].iter().all(|key| schema.get(key).is_none());
    let format = schema.text("format").is_none_or(|format| format == "uuid");
    let length = number("maxLength").is_none_or(|most| most >= KEY_CHARS)
        && number("minLength").is_none_or(|least| least <= KEY_CHARS);
    is_text && is_free && format && length
}
