//! Credentials in the vault: set, looked at, removed. Values come in as secrets and leave only when asked for.

use rote_types::{ErrorKind, command};
use rote_vault::{TokenInfo, TokenMeta, TokenSource};
use secrecy::SecretString;
use serde_json::json;

use crate::change::{Change, Consent};
use crate::{App, AppError};

impl App {
    /// Stores a credential.
    ///
    /// # Errors
    /// Usage for a bad name or value, Auth for a vault that cannot be trusted.
    pub fn token_set(
        &self,
        name: &str,
        value: &SecretString,
        description: &str,
        consent: Consent,
    ) -> Result<TokenInfo, AppError> {
        rote_vault::check_name(name)?;
        let meta = TokenMeta { created_at: self.now(), expires_at: None, description: description.to_owned() };
        let vault = self.vault()?;
        let replaced = vault.list()?.iter().any(|info| info.name == name);
        let object = json!({ "name": name, "replaced": replaced });
        self.change(Change::TokenSet, consent, object, || Ok(vault.set(name, value, meta)?))
    }

    /// Returns a credential and where it came from: the vault, else the environment.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn token_get(&self, name: &str) -> Result<(SecretString, TokenSource), AppError> {
        let environment = self.environment();
        let found = self.vault()?.resolve(name, &*environment)?;
        found.ok_or_else(|| no_token(name))
    }

    /// Returns a credential for somebody to see, and where it came from.
    ///
    /// # Errors
    /// As [`App::token_get`].
    pub fn token_reveal(&self, name: &str, consent: Consent) -> Result<(SecretString, TokenSource), AppError> {
        let (value, source) = self.token_get(name)?;
        let object = json!({ "name": name, "source": source });
        self.change(Change::TokenRevealed, consent, object, || Ok((value, source)))
    }

    /// Returns what is stored, without values.
    ///
    /// # Errors
    /// Auth for a vault that cannot be trusted.
    pub fn tokens(&self) -> Result<Vec<TokenInfo>, AppError> {
        Ok(self.vault()?.list()?)
    }

    /// Removes a credential.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn token_delete(&self, name: &str, consent: Consent) -> Result<(), AppError> {
        let vault = self.vault()?;
        if !vault.list()?.iter().any(|info| info.name == name) {
            return Err(no_token(name));
        }
        self.change(Change::TokenDeleted, consent, json!({ "name": name }), || match vault.delete(name)? {
            true => Ok(()),
            false => Err(no_token(name)),
        })
    }
}

fn no_token(name: &str) -> AppError {
    AppError::new(ErrorKind::NotFound, format!("there is no credential `{name}`"))
        .with_hint(command("rote token set").argument(name).plain("--stdin"))
}
