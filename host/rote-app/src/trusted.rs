//! Whom TLS trusts. Whoever sets `SSL_CERT_FILE` or `SSL_CERT_DIR` decides who can read what is sent, so the journal says
//! once of each such choice which authorities it names, before a request can go out under it.
//!
//! The journal's own newest event is what a choice is compared with: a file beside it could be edited. A process without
//! the variables trusts the system's authorities, which is not an event.

use std::path::Path;

use rote_home::{Durability, Journal, NewEvent, read_capped};
use rote_types::event::TRUST_CHANGED;
use rote_types::sha256;
use serde_json::{Map, Value, json};

use crate::config::{in_directory, user};
use crate::{AppError, Host};

/// The variables that choose which authorities TLS trusts; the TLS library reads them.
pub const TRUST: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Longest file of authorities whose digest is taken; of a longer one, and of a folder, the event has the path alone.
const MAX_AUTHORITIES: u64 = 16 << 20;

/// What a person is told of a choice.
#[must_use]
pub fn trust_note(name: &str, path: &str) -> String {
    format!("{name} is set: the authorities in `{path}` are trusted in place of the system's")
}

impl Host {
    /// Has the journal tell whom the environment makes TLS trust, unless it told of just that last.
    pub(crate) fn tell_trust(&self, journal: &Journal) -> Result<(), AppError> {
        let config = self.config();
        let environment = &config.environment;
        let set = TRUST.into_iter().filter_map(|name| Some((name, environment.get(name)?)));
        let chosen: Map<String, Value> = set
            .filter(|(_, path)| !path.is_empty())
            .map(|(name, path)| {
                let digest = read_capped(&in_directory(config.directory.as_deref(), Path::new(path)), MAX_AUTHORITIES)
                    .ok()
                    .map(|bytes| sha256(&bytes));
                (name.to_owned(), json!({ "path": path, "sha256": digest }))
            })
            .collect();
        if chosen.is_empty() {
            return Ok(());
        }
        let authorities = Value::Object(chosen);
        let told = journal.last_of_trust()?;
        if told.is_some_and(|told| told.body["authorities"] == authorities) {
            return Ok(());
        }
        let body = json!({ "authorities": authorities, "by": user(environment) });
        journal.append(self.now(), Durability::Disk, &[NewEvent { kind: TRUST_CHANGED, effect: None, body }])?;
        let set: Vec<(&str, &str)> =
            TRUST.into_iter().filter_map(|name| Some((name, environment.get(name)?.as_str()))).collect();
        set.iter().filter(|(_, path)| !path.is_empty()).for_each(|(name, path)| self.note(trust_note(name, path)));
        Ok(())
    }
}
