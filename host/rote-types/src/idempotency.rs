//! Idempotency keys: the word that a person says of an adapter's, and the names that they go by.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What names of idempotency keys end with, without marks and in lower case: the IETF draft's `Idempotency-Key` and
/// its kin (`X-Idempotency-Key`, `X-Qonto-Idempotency-Key`, Square's `idempotency_key`), YooKassa's, PayPal's.
const NAMES: [&str; 3] = ["idempotencykey", "idempotencekey", "paypalrequestid"];

/// What a person decided of the header in which an adapter's writes carry idempotency keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyHeader {
    /// None, whatever the description declares.
    None,
    /// This one, also where the description declares none.
    Named(String),
}

impl fmt::Display for KeyHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Named(name) => name,
        })
    }
}

/// Whether a header or an argument of that name holds an idempotency key.
#[must_use]
pub fn names_idempotency_key(name: &str) -> bool {
    let plain = plain(name);
    NAMES.iter().any(|end| plain.ends_with(end))
}

/// Whether an argument of that name is the idempotency key of its own call. With another word before it, it may be that
/// of another one, as `previous_idempotency_key` is.
#[must_use]
pub fn is_idempotency_key(name: &str) -> bool {
    let plain = plain(name);
    NAMES.iter().any(|one| plain.strip_prefix('x').unwrap_or(&plain) == *one)
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_the_key_of_its_call_when_it_is_called_no_more_than_that() {
        for name in ["Idempotency-Key", "X-Idempotency-Key", "idempotency_key", "idempotencyKey", "idempotenceKey"] {
            assert!(is_idempotency_key(name), "{name}");
        }
        for name in ["", "x", "previous_idempotency_key", "originalIdempotencyKey", "idempotency_key_scope"] {
            assert!(!is_idempotency_key(name), "{name}");
        }
    }

    #[test]
    fn a_key_is_known_by_what_its_name_ends_with() {
        for name in ["Idempotency-Key", "X-Idempotency-Key", "idempotency_key", "idempotencyKey", "PayPal-Request-Id"] {
            assert!(names_idempotency_key(name), "{name}");
        }
        for name in ["", "Idempotency-Key-Scope", "X-Request-Id", "key", "Idempotent-Replayed", "Idempotency"] {
            assert!(!names_idempotency_key(name), "{name}");
        }
    }
}
