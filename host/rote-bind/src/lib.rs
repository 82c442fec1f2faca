//! Typed bindings for flow authors: an adapter's manifest and tools in, one TypeScript or Rust file out.
//!
//! Invariants: pure, no I/O; the same manifest, tools and options give the same bytes. Whatever a description
//! says is data: no name, path, literal or sentence of it can end a string or a comment of the output
//! (`text.rs` is the only way in). A schema that says more than a type can is widened, never refused.
//!
//! How drift becomes a compile error first: `rote bind` writes the file and pins the adapter's fingerprint in
//! its first line and in a constant. `rote flow build` reads that line back ([`header_of`]), refuses when it is
//! not the installed fingerprint, and can write the same selection again. After that, a removed tool is a
//! missing function, a removed or renamed argument an unknown field, and a newly required one a missing field.
//! What the compiler cannot see (the base URL, prose, answers) is outside the fingerprint too.

mod effect;
mod error;
mod graph;
mod header;
mod model;
mod name;
mod options;
mod pages;
mod read;
mod rust;
mod shape;
mod text;
mod typescript;

#[cfg(test)]
mod tests;

pub use error::BindError;
pub use header::{Header, functions_of, header_of};
pub use options::BindOptions;
pub use pages::{MAX_PAGES, Paging, Step};

use rote_types::{Language, Manifest, Tool};

/// The function of a binding that returns its adapter.
pub const CONNECT: &str = "connect";

/// Writes TypeScript bindings: one module that imports types, and nothing else, from `@rote/sdk`.
///
/// # Errors
/// [`BindError`] when the options name something that the adapter does not have, or when the package is not
/// consistent in itself. A retry does not help.
pub fn typescript(manifest: &Manifest, tools: &[Tool], options: &BindOptions) -> Result<String, BindError> {
    let model = model::build(manifest, tools, options, Language::TypeScript)?;
    Ok(typescript::write(&model))
}

/// Writes Rust bindings: one module that needs the crates `rote_sdk`, `serde` (with `derive`) and `serde_json`.
///
/// # Errors
/// As for [`typescript`].
pub fn rust(manifest: &Manifest, tools: &[Tool], options: &BindOptions) -> Result<String, BindError> {
    let model = model::build(manifest, tools, options, Language::Rust)?;
    Ok(rust::write(&model))
}

/// Says how a tool is read page by page, if it is one that reads and its arguments say so.
#[must_use]
pub fn paging(tool: &Tool) -> Option<Paging> {
    model::paging(tool)
}
