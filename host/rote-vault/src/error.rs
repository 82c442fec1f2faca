//! Why a token could not be kept or given; never with a value in the text.

use std::path::PathBuf;

use rote_home::HomeError;
use rote_types::{Classify, ErrorKind, command};

/// A failure of the token store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The files could not be read or written.
    #[error("the token store is not usable")]
    Home(#[from] HomeError),
    /// `tokens.json` is not what rote wrote: cut, or edited by hand.
    #[error("the token store `{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// Others can read the file.
    #[error("the token store `{}` has mode {mode:03o}: others can read it", path.display())]
    Insecure {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// There are entries, but the key that they were written with is gone.
    #[error("the key of the token store is missing ({source_name})")]
    KeyMissing {
        /// Where the key is looked for.
        source_name: &'static str,
    },
    /// The key is another one than the entries were written with.
    #[error("the token store was written with another key than this machine's ({source_name})")]
    WrongKey {
        /// Where the key was taken from.
        source_name: &'static str,
    },
    /// The file is an older one than the last that was written.
    #[error("the token store `{}` was put back to an older state: {}", path.display(), age(*.found, *.expected))]
    RolledBack {
        /// The file.
        path: PathBuf,
        /// How many changes it has seen.
        found: u64,
        /// How many there were; none when the record of that is gone.
        expected: Option<u64>,
    },
    /// There was a file, and there is none any more.
    #[error("the token store `{}` is gone: what it held is neither sent nor masked", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The entry does not decrypt: it was changed after it was written.
    #[error("the token `{name}` does not decrypt: its entry was changed")]
    Tampered {
        /// The entry.
        name: String,
    },
    /// A name that is not a token name.
    #[error("`{name}` is not a token name: {rule}")]
    InvalidName {
        name: String,
        /// What is allowed.
        rule: &'static str,
    },
    /// A value that cannot travel in a header.
    #[error("the value for `{name}` is refused: {reason}")]
    InvalidValue {
        /// The token's name.
        name: String,
        /// Why, without the value.
        reason: &'static str,
    },
    /// The keyring of the system refused.
    #[error("the system keyring is not usable")]
    Keyring {
        /// What it said.
        #[source]
        source: keyring::Error,
    },
}

fn age(found: u64, expected: Option<u64>) -> String {
    match expected {
        Some(expected) => format!("it has seen {found} changes, there were {expected}"),
        None => "the record of its changes is gone".to_owned(),
    }
}

impl Classify for VaultError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Home(source) if source.kind() != ErrorKind::General => source.kind(),
            Self::InvalidName { .. } | Self::InvalidValue { .. } => ErrorKind::Usage,
            Self::Insecure { .. } => ErrorKind::Denied,
            Self::Home(_)
            | Self::Damaged { .. }
            | Self::RolledBack { .. }
            | Self::Gone { .. }
            | Self::KeyMissing { .. }
            | Self::WrongKey { .. }
            | Self::Tampered { .. }
            | Self::Keyring { .. } => ErrorKind::Auth,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Home(source) => source.hint(),
            Self::Insecure { path, .. } => Some(command("chmod 600").argument(path.display()).into()),
            Self::Damaged { path, .. } | Self::RolledBack { path, .. } => {
                let moved = command("mv").argument(path.display()).argument(format!("{}.damaged", path.display()));
                Some(format!("{moved}, then `rote token set NAME` for each token"))
            }
            Self::Gone { .. } => Some("restore it, or begin anew with `rote token set NAME`".to_owned()),
            Self::KeyMissing { .. } | Self::WrongKey { .. } => {
                Some("restore the key, or move secrets/tokens.json away and `rote token set NAME` again".to_owned())
            }
            Self::Tampered { name } => Some(command("rote token set").argument(name).plain("--stdin").into()),
            Self::InvalidName { .. } => None,
            Self::InvalidValue { name, .. } => Some(command("rote token set").argument(name).plain("--stdin").into()),
            Self::Keyring { .. } => Some("unlock the keyring, or use the key file of the home".to_owned()),
        }
    }
}
