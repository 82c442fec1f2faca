//! The credentials for which calls would be refused, found before the first of them is made: a person is asked for all of
//! them at once, while nothing has been sent.

use std::collections::BTreeSet;

use rote_govern::reach;
use rote_types::{AdapterId, Classify, ErrorKind, Manifest, Refusal, Tool, WantedCredential, command};
use rote_vault::VaultError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::credential::{Source, choose};
use crate::{Gate, GateError};

/// A credential of the vault that calls would need where nobody bound it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Unbound {
    /// The adapter that would send it.
    adapter: AdapterId,
    /// The entry of the vault.
    token: String,
    /// Where it would go.
    origin: String,
    /// The vault has it.
    stored: bool,
}

/// Calls are not made because of credentials that nobody bound.
#[derive(Debug, thiserror::Error)]
#[error("{}", text(.0))]
pub struct UnboundError(BTreeSet<Unbound>);

impl UnboundError {
    /// Refuses calls that lack credentials of the vault because nobody bound them. What else they lack is told when
    /// they are made.
    ///
    /// # Errors
    /// There are some.
    pub fn refuse(lacking: impl IntoIterator<Item = GateError>) -> Result<(), Self> {
        let unbound: BTreeSet<Unbound> = lacking.into_iter().filter_map(found).collect();
        if unbound.is_empty() { Ok(()) } else { Err(Self(unbound)) }
    }
}

fn text(unbound: &BTreeSet<Unbound>) -> String {
    let places = unbound.iter().map(|one| format!("`{}` to adapter `{}` at {}", one.token, one.adapter, one.origin));
    format!("nobody bound {}; nothing was sent", places.collect::<Vec<_>>().join(", nor "))
}

impl Classify for UnboundError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Auth
    }

    fn hint(&self) -> Option<String> {
        let uses: BTreeSet<(&str, &AdapterId)> = self.0.iter().map(|one| (one.token.as_str(), &one.adapter)).collect();
        let bind = |(token, adapter)| command("rote token bind").argument(token).argument(adapter).to_string();
        Some(uses.into_iter().map(bind).collect::<Vec<_>>().join("\n"))
    }

    fn refusal(&self) -> Option<Refusal> {
        let stored = self.0.iter().filter(|one| one.stored);
        let wanted = stored.map(|one| WantedCredential { token: one.token.clone(), adapter: one.adapter.clone() });
        Some(Refusal::Unbound(wanted.collect()))
    }

    fn details(&self) -> Option<Value> {
        Some(json!({ "unbound": self.0 }))
    }
}

impl Gate {
    /// Returns the refusals that calls of these tools would get for want of a credential, wherever those calls go: by the
    /// rule that refuses the calls. What stands behind another one is found once that one is mended.
    ///
    /// # Errors
    /// The vault cannot be trusted.
    pub fn lacking<'t>(
        &self,
        adapter: &Manifest,
        tools: impl IntoIterator<Item = &'t Tool>,
    ) -> Result<Vec<GateError>, VaultError> {
        let source = Source { vault: &self.parts.vault, env: &self.parts.env };
        let (mut seen, mut lacking) = (BTreeSet::new(), Vec::new());
        for tool in tools {
            for origin in reach::origins(adapter, tool) {
                if !seen.insert((&tool.security, origin.clone())) {
                    continue;
                }
                match choose(&source, adapter, tool, &tool.security, Some(&origin)) {
                    Ok(choice) => lacking.extend(choice.missing),
                    Err(GateError::Vault(error)) => return Err(error),
                    // What else is wrong is told when the call is made.
                    Err(_) => {}
                }
            }
        }
        Ok(lacking)
    }
}

/// What a binding would mend.
fn found(error: GateError) -> Option<Unbound> {
    match error {
        GateError::Unbound { adapter, token, origin, stored: true } => {
            Some(Unbound { adapter, token, origin, stored: true })
        }
        _ => None,
    }
}
