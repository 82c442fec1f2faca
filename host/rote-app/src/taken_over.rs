//! Vaults of before, taken over once: whoever used a credential keeps it.

use std::collections::BTreeMap;

use rote_govern::audit::Word;
use rote_types::command;
use rote_vault::{Age, Vault};
use serde_json::json;

use crate::change::Change;
use crate::config::user;
use crate::{AppError, Host};

impl Host {
    /// Takes over a vault that an older rote wrote: credentials that knew no bindings get the ones that they have had in
    /// effect.
    pub(crate) fn take_over(&self, vault: &Vault) -> Result<(), AppError> {
        // What is wrong with the vault is told by whoever needs a value of it.
        let Ok(Some(age)) = vault.age() else { return Ok(()) };
        if age == Age::Bound {
            // Who may use what stays as it is.
            return Ok(vault.take_over(&BTreeMap::new()).map(drop)?);
        }
        // Nothing is announced of a file that is refused.
        let _readable = vault.known()?;
        let present = self.adapters()?.bindings()?;
        let word = Word { by: user(&self.config().environment).to_owned(), attended: false };
        let object = json!({ "taken_over": present.keys().collect::<Vec<_>>() });
        let taken = self.change(&word, Change::TokenBound, (object, None), || Ok(vault.take_over(&present)?))?;
        let Some(taken) = taken else { return Ok(()) };
        self.note(
            "credentials go only where they are bound to from now on; they were taken over as they are used now:",
        );
        for (name, bindings) in taken {
            let adapters: Vec<String> = bindings.iter().map(|one| one.adapter.to_string()).collect();
            if adapters.is_empty() {
                self.note(format!(
                    "{name} is bound to no adapter: {}",
                    command("rote token bind").argument(&name).plain("ADAPTER")
                ))
            } else {
                self.note(format!("{name} is bound to {}", adapters.join(", ")))
            }
        }
        Ok(())
    }
}
