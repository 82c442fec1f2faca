//! OpenAPI 3.0, 3.1 and 3.2, and Swagger 2.0, which is upgraded while it is walked; other formats are translated to this one.

mod body;
pub(crate) mod credentials;
mod documents;
mod form;
mod idempotency;
mod keywords;
mod media;
mod merge;
mod operation;
mod outline;
mod parameters;
mod reader;
mod reference;
mod response;
mod schema;
mod security;
mod servers;
mod spelled;
mod template;
mod walk;
mod xml;

use crate::notices::Notices;
use crate::{Api, DocumentLoader, Found, NoReferences, SpecError, SpecLimits};

pub(crate) use documents::{Node, Origins};
pub(crate) use media::{Class, class};

/// Reads a description whose first document is `found`; the others come through `loader`.
///
/// # Errors
/// [`SpecError`] when a bound of the whole description is reached.
pub(crate) fn read(
    found: Found<'_>,
    loader: &mut dyn DocumentLoader,
    limits: &SpecLimits,
    notices: Notices,
) -> Result<Api, SpecError> {
    let documents = documents::Documents::collect(found.name, found.value, found.size, loader, limits);
    walk::walk(&documents, found.spec_type, found.version, limits, notices)
}

/// Reads what another format was translated to: one document of the shape of OpenAPI 3, whose places are shown by `origins`.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_translated(
    found: Found<'_>,
    origins: Origins,
    limits: &SpecLimits,
    notices: Notices,
) -> Result<Api, SpecError> {
    let alone = &mut NoReferences;
    let documents = documents::Documents::collect(found.name, found.value, found.size, alone, limits);
    walk::walk(&documents.shown_by(origins), found.spec_type, found.version, limits, notices)
}
