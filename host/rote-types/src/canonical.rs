//! RFC 8785 canonical JSON: the one byte form over which identities and signatures are computed.

use serde::Serialize;

/// A value that has no canonical form (a map key that is no string, or a number that JSON cannot hold).
#[derive(Debug, thiserror::Error)]
#[error("value has no canonical JSON form")]
pub struct CanonicalError(#[source] serde_json::Error);

/// Returns the RFC 8785 (JCS) bytes of `value`: sorted keys, ECMAScript numbers, no white space.
///
/// # Errors
/// [`CanonicalError`] when the value cannot be written as JSON; the caller's type is to blame.
pub fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    serde_jcs::to_vec(value).map_err(CanonicalError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_and_white_space_do_not_matter() {
        let one = canonical_json(&json!({"b": 1, "a": [true, null]})).unwrap();
        let two = canonical_json(&json!({"a": [true, null], "b": 1})).unwrap();
        assert_eq!(one, two);
        assert_eq!(one, br#"{"a":[true,null],"b":1}"#);
    }
}
