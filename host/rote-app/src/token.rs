//! Credentials in the vault: set, looked at, removed. Values come in as secrets and leave only when asked for.

use rote_types::{ErrorKind, command};
use rote_vault::{TokenInfo, TokenMeta, TokenSource};
use secrecy::SecretString;

use crate::{App, AppError};

impl App {
    /// Stores a credential.
    ///
    /// # Errors
    /// Usage for a bad name or value, Auth for a vault that cannot be trusted.
    pub fn token_set(&self, name: &str, value: &SecretString, description: &str) -> Result<TokenInfo, AppError> {
        let meta = TokenMeta { created_at: self.now(), expires_at: None, description: description.to_owned() };
        Ok(self.vault()?.set(name, value, meta)?)
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
    pub fn token_delete(&self, name: &str) -> Result<(), AppError> {
        if self.vault()?.delete(name)? { Ok(()) } else { Err(no_token(name)) }
    }
}

fn no_token(name: &str) -> AppError {
    AppError::new(ErrorKind::NotFound, format!("there is no credential `{name}`"))
        .with_hint(command("rote token set").argument(name).plain("--stdin"))
}
