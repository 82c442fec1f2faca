//! Confirm tokens: what a token is bound to and what is stored of it.
//!
//! Invariants: a token is 64 random bits as 16 hex digits; only its hash is ever stored; the hash input is
//! canonical JSON with named members, so that no two bindings collide by moving text between them.

use std::time::Duration;

use rote_types::{CanonicalError, Fingerprint, Sha256Digest, canonical_json, sha256};
use serde::Serialize;
use serde_json::Value;

/// How long a token is good for (seed 001: 5 minutes).
pub const CONFIRM_LIFETIME: Duration = Duration::from_secs(300);

/// The one call that a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Binding<'c> {
    /// The adapter.
    pub adapter: &'c str,
    /// Its surface when the token was minted.
    pub fingerprint: &'c Fingerprint,
    /// The tool.
    pub tool: &'c str,
    /// The arguments, by digest.
    pub arguments: &'c Sha256Digest,
    /// The workspace.
    pub workspace: &'c str,
}

impl Binding<'_> {
    /// Returns the digest that stands for the binding.
    ///
    /// # Errors
    /// [`CanonicalError`], which text members cannot cause.
    pub fn digest(&self) -> Result<Sha256Digest, CanonicalError> {
        canonical_json(self).map(|bytes| sha256(&bytes))
    }
}

/// Returns the digest of a call's arguments over their canonical form.
///
/// # Errors
/// [`CanonicalError`] for a number that JSON cannot hold.
pub fn args_digest(arguments: &Value) -> Result<Sha256Digest, CanonicalError> {
    canonical_json(arguments).map(|bytes| sha256(&bytes))
}

/// Writes eight random bytes as a token.
#[must_use]
pub fn confirm_token(random: [u8; 8]) -> String {
    hex::encode(random)
}

/// Returns what is stored of a token, or `None` for a text that cannot be one.
#[must_use]
pub fn token_hash(token: &str) -> Option<Sha256Digest> {
    let fits = token.len() == 16 && token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    fits.then(|| sha256(format!("rote:confirm:{token}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_binding_changes_with_each_of_its_members() {
        let print = Fingerprint("mcp_x".into());
        let other_print = Fingerprint("mcp_y".into());
        let arguments = args_digest(&json!({"a": 1, "b": 2})).unwrap();
        let other_arguments = args_digest(&json!({"a": 1})).unwrap();
        let base = Binding { adapter: "a", fingerprint: &print, tool: "t", arguments: &arguments, workspace: "w" };
        let changed = [
            Binding { adapter: "b", ..base },
            Binding { fingerprint: &other_print, ..base },
            Binding { tool: "u", ..base },
            Binding { arguments: &other_arguments, ..base },
            Binding { workspace: "v", ..base },
            Binding { adapter: "at", tool: "", ..base },
        ];
        for binding in changed {
            assert_ne!(binding.digest().unwrap(), base.digest().unwrap(), "{binding:?}");
        }
        assert_eq!(args_digest(&json!({"b": 2, "a": 1})).unwrap(), arguments);
    }

    #[test]
    fn only_sixteen_lower_hex_digits_are_a_token() {
        let token = confirm_token([0, 1, 2, 3, 4, 5, 6, 255]);
        assert_eq!(token, "00010203040506ff");
        assert!(token_hash(&token).is_some());
        for bad in ["", "00010203040506f", "00010203040506FF", "00010203040506fg", "00010203040506ff0"] {
            assert_eq!(token_hash(bad), None, "{bad}");
        }
    }
}
