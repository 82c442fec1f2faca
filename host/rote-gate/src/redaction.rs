//! Which values nobody may see: all that the vault holds, whether or not this call uses them, and those that the
//! environment gives for the slots of a called adapter.
//!
//! The vault is read when a text is first to be masked, and again when its file has changed. A vault that cannot be
//! read is an error: what is not known cannot be masked.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use rote_govern::{Redactor, Secret};
use rote_types::{AuthKind, Manifest};
use rote_vault::{Generation, Vault, VaultError};
use rote_workspace::{Decoded, DecodedBody, RequestRecord};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::Environment;

/// The values of one home that are masked everywhere. Shared by reference between calls.
pub struct Redaction {
    vault: Arc<Vault>,
    env: Environment,
    made: Mutex<Made>,
}

/// A redactor, and what it was made from.
#[derive(Default)]
struct Made {
    /// The vault's content; none before the first use.
    generation: Option<Option<Generation>>,
    known: Vec<Secret>,
    /// What the environment gave, and passwords too short to be known without their slot; kept for the process.
    given: Vec<Secret>,
    redactor: Arc<Redactor>,
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redaction").field("vault", &self.vault).finish_non_exhaustive()
    }
}

impl Redaction {
    /// Masks the values of `vault` and of the environment. Nothing is read yet.
    pub(crate) fn new(vault: Arc<Vault>, env: Environment) -> Self {
        Self { vault, env, made: Mutex::new(Made::default()) }
    }

    /// Returns what finds and masks every value that is known now.
    ///
    /// # Errors
    /// The vault is there and cannot be read.
    pub fn redactor(&self) -> Result<Arc<Redactor>, VaultError> {
        self.made(&[])
    }

    /// Returns the same with what the environment gives for the slots of `adapter`.
    pub(crate) fn of(&self, adapter: &Manifest) -> Result<Arc<Redactor>, VaultError> {
        let slots: Vec<_> = adapter.auth.schemes.values().map(|slot| (&slot.kind, slot.token_env.as_str())).collect();
        self.made(&slots)
    }

    /// Masks known values in arguments that are to be kept or shown.
    ///
    /// # Errors
    /// As [`Redaction::redactor`].
    pub fn mask(&self, value: &Value) -> Result<Value, VaultError> {
        Ok(self.redactor()?.value(value).unwrap_or_else(|| value.clone()))
    }

    /// Masks known values in a message. While the vault cannot be read, nothing of the message is given.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        match self.redactor() {
            Ok(redactor) => redactor.text(text).into_owned(),
            Err(error) => format!("not kept, as nobody can say what in it is secret: {error}"),
        }
    }

    fn made(&self, slots: &[(&AuthKind, &str)]) -> Result<Arc<Redactor>, VaultError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = Some(self.vault.generation());
        let mut stale = made.generation != generation;
        if stale {
            let known = self.vault.known()?.into_iter();
            made.known = known.map(|one| Secret::new(one.name, one.value)).collect();
            made.generation = generation;
        }
        for secret in self.of_slots(slots, &made.known) {
            let same =
                |one: &Secret| one.name == secret.name && one.value.expose_secret() == secret.value.expose_secret();
            if !made.given.iter().chain(&made.known).any(same) {
                made.given.push(secret);
                stale = true;
            }
        }
        if stale {
            made.redactor = Arc::new(Redactor::new(made.known.iter().chain(&made.given).cloned()));
        }
        Ok(Arc::clone(&made.redactor))
    }

    /// What the slots add to the vault's values.
    fn of_slots(&self, slots: &[(&AuthKind, &str)], known: &[Secret]) -> Vec<Secret> {
        let mut all: Vec<Secret> = Vec::new();
        for (kind, token) in slots {
            let of_vault = known.iter().find(|secret| secret.name == *token);
            let value = (self.env)(token).map(|value| Secret::new(*token, value.trim()));
            if **kind == AuthKind::Basic {
                let pairs =
                    of_vault.into_iter().chain(&value).filter_map(|one| one.value.expose_secret().split_once(':'));
                all.extend(pairs.map(|(_, password)| Secret::new(*token, password)).collect::<Vec<_>>());
            }
            all.extend(value);
        }
        all
    }
}

/// Masks a text that is owned, copying only when there is something to mask.
pub(crate) fn text(redactor: &Redactor, text: String) -> String {
    match redactor.text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}

/// Masks headers, names included.
pub(crate) fn headers(redactor: &Redactor, headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.into_iter().map(|(name, value)| (text(redactor, name), text(redactor, value))).collect()
}

/// Masks a body in the form in which it is recorded: decoded, and JSON text by text.
pub(crate) fn body(redactor: &Redactor, body: DecodedBody) -> DecodedBody {
    let content = match body.content {
        Decoded::Empty => Decoded::Empty,
        Decoded::Json(json) => match redactor.json(&json) {
            Cow::Borrowed(_) => Decoded::Json(json),
            Cow::Owned(masked) => Decoded::Json(masked),
        },
        Decoded::Text { text: plain, note } => Decoded::Text { text: text(redactor, plain), note },
        Decoded::Binary(bytes) => Decoded::Binary(redactor.bytes(bytes)),
    };
    DecodedBody { content, ..body }
}

/// Masks a request that is recorded or shown.
pub(crate) fn request(redactor: &Redactor, request: RequestRecord) -> RequestRecord {
    let RequestRecord { url, method, endpoint, headers: given, body: sent } = request;
    let content_type = given.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = content_type.map(|(_, value)| value.clone()).unwrap_or_default();
    let masked = sent.map(|bytes| match body(redactor, DecodedBody::read(&content_type, bytes)).content {
        Decoded::Empty => Vec::new(),
        Decoded::Json(text) | Decoded::Text { text, .. } => text.into_bytes(),
        Decoded::Binary(bytes) => bytes,
    });
    RequestRecord { url: text(redactor, url), method, endpoint, headers: headers(redactor, given), body: masked }
}
