//! Generates an adapter component: the committed shell with a table of operations in its memory.
//!
//! No toolchain takes part: the table is spliced into the shell's core module ([`splice`]) and the result is
//! wrapped as a component. Invariants: the same operations give the same bytes, whatever their order; the
//! component imports only `rote:*` and exports exactly `describe` and `call`. Whether the operations are right is
//! the spec walker's business.

mod splice;

use rote_request::{Operation, table};
use rote_types::{Classify, ErrorKind};

/// The shell guest, built from `adapters/_shell` and committed (`cargo xtask guests`).
const SHELL: &[u8] = include_bytes!("../../../adapters/_shell/shell.wasm");

/// Why a component could not be generated. Nobody's input but ours is at fault, save for sizes and names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The operations do not fit into a table.
    #[error("cannot write the operation table")]
    Table {
        /// Which rule they break.
        #[source]
        source: table::TableError,
    },
    /// The shell module is not one that a table can be spliced into.
    #[error("cannot splice the operation table into the shell: {reason}")]
    Splice {
        /// What does not fit.
        reason: String,
    },
    /// The spliced module cannot be wrapped as a component.
    #[error("cannot wrap the shell as a component: {reason}")]
    Wrap {
        /// What the encoder said, causes included.
        reason: String,
    },
}

impl Classify for GenerateError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Table { source: table::TableError::TooLarge } => ErrorKind::Limit,
            _ => ErrorKind::General,
        }
    }
}

/// Returns the bytes of the component that has these operations as its tools.
///
/// # Errors
/// [`GenerateError::Table`] when two operations share a name or they are too many; the other variants say that
/// the committed shell is not what this code was written for. A retry does not help.
pub fn generate(operations: &[Operation]) -> Result<Vec<u8>, GenerateError> {
    let table = table::encode(operations).map_err(|source| GenerateError::Table { source })?;
    wrap(&splice::splice(SHELL, &table)?)
}

fn wrap(module: &[u8]) -> Result<Vec<u8>, GenerateError> {
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(wit_component::ComponentEncoder::encode)
        .map_err(|error| GenerateError::Wrap { reason: format!("{error:#}") })
}

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod tests;
