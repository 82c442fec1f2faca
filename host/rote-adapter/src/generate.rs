//! Generates an adapter component: the committed shell with a table of operations beside it.
//!
//! No toolchain takes part: the table becomes a custom section, so the code of all generated adapters is the same and
//! is compiled once, when rote is built. Invariants: the same operations give the same bytes, whatever their order; the
//! component imports only `rote:*` and exports exactly `describe` and `call`. Whether the operations are right is
//! the spec walker's business.

use rote_request::{Operation, table};
use rote_runtime::{PAYLOAD_SECTION, append_section};
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
}

impl Classify for GenerateError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Table { source: table::TableError::TooLarge } => ErrorKind::Limit,
            Self::Table { .. } => ErrorKind::General,
        }
    }
}

/// Returns the bytes of the component that has these operations as its tools.
///
/// # Errors
/// [`GenerateError::Table`] when two operations share a name or they are too many. A retry does not help.
pub fn generate(operations: &[Operation]) -> Result<Vec<u8>, GenerateError> {
    let table = table::encode(operations).map_err(|source| GenerateError::Table { source })?;
    let mut component = Vec::with_capacity(SHELL.len() + table.len() + PAYLOAD_SECTION.len() + 16);
    component.extend_from_slice(SHELL);
    let too_large = |_| GenerateError::Table { source: table::TableError::TooLarge };
    append_section(&mut component, PAYLOAD_SECTION, &table).map_err(too_large)?;
    Ok(component)
}

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod tests;
