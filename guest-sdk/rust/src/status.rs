//! How adapters and their credentials stand.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::HostHandle;
use crate::{Adapter, Cause, Error, Result, Rote};

/// How an adapter stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AdapterStatus {
    /// Its id.
    pub adapter: String,
    /// The fingerprint in the flow's frontmatter, if it pins one.
    #[serde(default)]
    pub expected: Option<String>,
    /// The fingerprint of what is installed.
    #[serde(default)]
    pub installed: Option<String>,
    /// Whether what is installed is what is expected.
    #[serde(default)]
    pub matches: bool,
    /// What changed, when they differ.
    #[serde(default)]
    pub drift: Value,
    /// Its credential slots.
    #[serde(default)]
    pub credentials: Vec<Credential>,
}

/// A credential slot of an adapter; never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Credential {
    /// Its name.
    pub slot: String,
    /// Whether the vault has a value for it.
    pub present: bool,
}

/// Which credentials are there. Their values never reach a flow: the host adds them to requests.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub(crate) host: HostHandle,
}

impl Tokens {
    /// Whether every credential slot of the adapter has a value. An adapter may need only some of them.
    ///
    /// # Errors
    /// As [`Adapter::status`].
    pub fn check(&self, adapter: &str) -> Result<bool> {
        Ok(self.info(adapter)?.iter().all(|credential| credential.present))
    }

    /// Returns the credential slots of the adapter.
    ///
    /// # Errors
    /// As [`Adapter::status`].
    pub fn info(&self, adapter: &str) -> Result<Vec<Credential>> {
        Ok(Adapter::new(self.host.clone(), adapter).status()?.credentials)
    }
}

/// See [`Rote::preflight`].
pub(crate) fn preflight(rote: &Rote, adapters: &[&str]) -> Result<()> {
    let statuses = adapters.iter().map(|id| rote.adapter(id).status()).collect::<Result<Vec<_>>>()?;
    for status in &statuses {
        if let Some(expected) = status.expected.as_deref().filter(|_| !status.matches) {
            return Err(mismatch(&status.adapter, expected, status.installed.as_deref()));
        }
    }
    for status in &statuses {
        let missing = status.credentials.iter().filter(|credential| !credential.present);
        let slots: Vec<String> = missing.map(|credential| ["`", &credential.slot, "`"].concat()).collect();
        if !slots.is_empty() {
            return Err(
                Cause::Auth(format!("adapter `{}` has no value for {}", status.adapter, slots.join(", "))).into()
            );
        }
    }
    Ok(())
}

/// The words that people know a drifted adapter by; the SDK for TypeScript and the host use them too.
pub(crate) fn mismatch(adapter: &str, expected: &str, installed: Option<&str>) -> Error {
    let mut name = adapter.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let installed = installed.unwrap_or("none");
    Cause::FingerprintMismatch(format!(
        "⚠️ {name} adapter fingerprint mismatch.\nExpected: {expected}\nInstalled: {installed}\n\
         Re-export this flow to update fingerprints."
    ))
    .into()
}
