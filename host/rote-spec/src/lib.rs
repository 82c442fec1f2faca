//! API descriptions to tools: bytes in, tools and diagnostics out.
//!
//! One walker over `serde_json::Value` reads OpenAPI 3.0, 3.1 (3.2 tolerantly) and Swagger 2.0; Swagger is
//! upgraded while it is walked. Invariants: no I/O (other documents come through [`DocumentLoader`]), no clock,
//! no strict structs over foreign data, every loop and recursion bounded by [`SpecLimits`], and every operation
//! of the document ends as generated, repaired or skipped with a reason and a JSON pointer.
//! What it does not do: decide whether a reference may be followed (the loader does), talk to a server, or
//! know where an adapter is kept.

mod access;
mod api;
mod body;
mod credentials;
mod detect;
mod documents;
mod error;
mod form;
mod idempotency;
mod keywords;
mod media;
mod merge;
mod names;
mod notices;
mod operation;
mod parameters;
mod prose;
mod reader;
mod reference;
mod response;
mod schema;
mod security;
mod servers;
mod spelled;
mod template;
#[cfg(test)]
mod tests;
mod tree;
mod walk;
mod xml;

pub use api::{
    Api, Diagnostic, DocumentLoader, GeneratedTool, NoReferences, Outcome, ServerChoice, Severity, Skipped, Source,
    SpecLimits,
};
pub use error::SpecError;

/// Reads one API description.
///
/// # Errors
/// [`SpecError`] when the document as a whole cannot be read: the document is to blame and a retry does not
/// help. A single operation that cannot be read is no error; it is in [`Api::skipped`].
pub fn read(document: Source<'_>, loader: &mut dyn DocumentLoader, limits: &SpecLimits) -> Result<Api, SpecError> {
    let tree = detect::parse(document.name, document.bytes, limits)?;
    let (spec_type, spec_version) = detect::format(document.name, &tree.value)?;
    let notices = notices::Notices::default();
    for key in tree.duplicates {
        notices.warn("/", format!("key `{}` stands twice in one object; the last one counts", prose::capped(&key, 80)));
    }
    let size = document.bytes.len();
    let documents = documents::Documents::collect(document.name, tree.value, size, loader, limits);
    walk::walk(&documents, spec_type, spec_version, limits, notices)
}

/// Returns the document as compact JSON, whichever of JSON and YAML it was written in.
///
/// # Errors
/// [`SpecError`] as for [`read`], for documents that are no readable JSON or YAML.
pub fn document_json(document: Source<'_>, limits: &SpecLimits) -> Result<Vec<u8>, SpecError> {
    let tree = detect::parse(document.name, document.bytes, limits)?;
    // A `Value` has string keys only and finite numbers, so it always is JSON.
    Ok(tree.value.to_string().into_bytes())
}
