//! Decisions and their signature.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use rote_types::{Sha256Digest, sha256};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::canonical::canonical;
use crate::error::Problem;

/// What a signature over decisions is of. Those of the seed have another one, which no envelope of rote accepts.
pub(crate) const CONTEXT: &str = "rote.approval.v1";
/// What a signature over the end of a journal is of.
const HEAD_CONTEXT: &str = "rote.journal.head.v1";

/// What a person says of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub tool_call_id: String,
    pub approved: bool,
}

/// Decisions as they were signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signed {
    /// The bytes under the signature.
    pub(crate) object: String,
    /// The signature in hex.
    pub(crate) signature: String,
}

/// What is signed with an envelope's decisions.
pub(crate) struct Subject<'s> {
    pub(crate) nonce: &'s str,
    pub(crate) plan_hash: &'s str,
    pub(crate) key_id: &'s str,
}

/// Returns the id of a key: SHA-256 of its 32 bytes, in hex.
#[must_use]
pub fn key_id(public: &[u8; 32]) -> String {
    sha256(public).hex()
}

impl Signed {
    pub(crate) fn new(key: &SigningKey, context: &str, subject: &Subject<'_>, decisions: &[Decision]) -> Self {
        let object = canonical(&json!({
            "ctx": context,
            "nonce": subject.nonce,
            "plan_hash": subject.plan_hash,
            "key_id": subject.key_id,
            "decisions": decisions,
        }));
        let signature = hex::encode(key.sign(object.as_bytes()).to_bytes());
        Self { object, signature }
    }

    /// Checks the signature and that it is of this envelope; returns what was decided.
    pub(crate) fn decisions(&self, public: &[u8; 32], subject: &Subject<'_>) -> Result<Vec<Decision>, Problem> {
        verify(public, self.object.as_bytes(), &self.signature)?;
        let object: Value = serde_json::from_str(&self.object).map_err(|_| Problem::InvalidSignature)?;
        let says =
            [("ctx", CONTEXT), ("nonce", subject.nonce), ("plan_hash", subject.plan_hash), ("key_id", subject.key_id)];
        if says.into_iter().any(|(name, wanted)| object[name] != wanted) {
            return Err(Problem::InvalidSignature);
        }
        serde_json::from_value(object["decisions"].clone()).map_err(|_| Problem::InvalidSubmission)
    }
}

/// Checks a signature as RFC 8032 does, and refuses keys and points of small order.
pub(crate) fn verify(public: &[u8; 32], message: &[u8], signature: &str) -> Result<(), Problem> {
    let bytes: [u8; 64] =
        hex::decode(signature).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(Problem::InvalidSignature)?;
    let key = VerifyingKey::from_bytes(public).map_err(|_| Problem::UnknownKey)?;
    key.verify_strict(message, &Signature::from_bytes(&bytes)).map_err(|_| Problem::InvalidSignature)
}

/// The end of a journal at a time, as the key says it: whoever rewrites what is before it needs the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    /// The number of the event.
    pub seq: u64,
    /// Its hash.
    pub sha256: String,
    /// When it was signed, RFC 3339.
    pub at: String,
    pub key_id: String,
    pub signature_hex: String,
}

impl SignedHead {
    pub(crate) fn new(key: &SigningKey, (seq, hash): (u64, Sha256Digest), at: String) -> Self {
        let key_id = key_id(key.verifying_key().as_bytes());
        let mut head = Self { seq, sha256: hash.hex(), at, key_id, signature_hex: String::new() };
        head.signature_hex = hex::encode(key.sign(head.message().as_bytes()).to_bytes());
        head
    }

    /// Checks that the key signed it.
    ///
    /// # Errors
    /// [`Problem::InvalidSignature`], [`Problem::UnknownKey`].
    pub fn verify(&self, public: &[u8; 32]) -> Result<(), Problem> {
        if self.key_id != key_id(public) {
            return Err(Problem::UnknownKey);
        }
        verify(public, self.message().as_bytes(), &self.signature_hex)
    }

    fn message(&self) -> String {
        canonical(&json!({
            "ctx": HEAD_CONTEXT, "seq": self.seq, "sha256": self.sha256, "at": self.at, "key_id": self.key_id,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Issue, plan_hash, tests::vector};

    fn vector_key() -> SigningKey {
        SigningKey::from_bytes(&std::array::from_fn(|at| u8::try_from(at).unwrap()))
    }

    #[test]
    fn the_signature_of_the_vector() {
        let key = vector_key();
        let public = key.verifying_key();
        assert_eq!(hex::encode(public), "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8");
        let key_id = key_id(public.as_bytes());
        assert_eq!(key_id, "56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c");
        let (plan, ids) = vector();
        let issue = Issue { ids: &ids, issued_at: 0, expires_at: 0, about: "" };
        let plan_hash = plan_hash(&plan.scope(1, &issue), &plan.tool_calls(&ids)).hex();
        let nonce = "00112233445566778899aabbccddeeff";
        let decide = |id: &String, approved| Decision { tool_call_id: id.clone(), approved };
        let subject = Subject { nonce, plan_hash: &plan_hash, key_id: &key_id };
        let decisions = [decide(&ids[0], true), decide(&ids[1], false)];
        let signed = Signed::new(&key, "autopoiesis.approval.v1", &subject, &decisions);
        let expected = concat!(
            "d0a41ae5c4252cff3ddbd98cf56b9c6073f5602a5783543c58fb8025f89c12d3",
            "fc1f40b143c918ef71c9f038a36b51370593b415aedb560e28d93d445d6e8406"
        );
        assert_eq!(signed.signature, expected);
        // It is a signature, and not one of rote.
        verify(public.as_bytes(), signed.object.as_bytes(), &signed.signature).unwrap();
        assert_eq!(signed.decisions(public.as_bytes(), &subject), Err(Problem::InvalidSignature));
        let own = Signed::new(&key, CONTEXT, &subject, &decisions);
        assert_eq!(own.decisions(public.as_bytes(), &subject).unwrap(), decisions);
    }

    #[test]
    fn a_key_of_small_order_signs_nothing() {
        // The neutral point, with which every message has the signature of zeros under the lax check.
        let mut neutral = [0; 32];
        neutral[0] = 1;
        let mut signature = [0; 64];
        signature[0] = 1;
        assert_eq!(verify(&neutral, b"message", &hex::encode(signature)), Err(Problem::InvalidSignature));
    }

    #[test]
    fn a_head_holds_for_its_event_and_its_key() {
        let key = vector_key();
        let public = *key.verifying_key().as_bytes();
        let head = SignedHead::new(&key, (7, sha256(b"event")), "2026-03-01T12:00:00Z".to_owned());
        head.verify(&public).unwrap();
        assert_eq!(SignedHead { seq: 8, ..head.clone() }.verify(&public), Err(Problem::InvalidSignature));
        let other = SigningKey::from_bytes(&[9; 32]);
        assert_eq!(head.verify(other.verifying_key().as_bytes()), Err(Problem::UnknownKey));
    }
}
