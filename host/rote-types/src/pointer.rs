//! Reference tokens of JSON pointers (RFC 6901).

use std::borrow::Cow;

/// Returns `key` as one reference token of a JSON pointer: `~` as `~0`, `/` as `~1` (RFC 6901 §3).
#[must_use]
pub fn escape_token(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) { Cow::Owned(key.replace('~', "~0").replace('/', "~1")) } else { Cow::Borrowed(key) }
}

/// Returns the key that a reference token names; undoes [`escape_token`].
#[must_use]
pub fn unescape_token(token: &str) -> Cow<'_, str> {
    // In this order (RFC 6901 §4): `~01` is the key `~1`.
    if token.contains('~') { Cow::Owned(token.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(token) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_key_escaped_and_back() {
        for (key, token) in [("a", "a"), ("b/c~d", "b~1c~0d"), ("~1", "~01"), ("", "")] {
            assert_eq!(escape_token(key), token);
            assert_eq!(unescape_token(token), key);
        }
    }
}
