//! Google Discovery v1: translated to the shape of OpenAPI 3, then read by the one walker.
//!
//! Only what the format says in its own way is decided here: dotted method ids in nested resources, common parameters, types with numbers
//! as text, `flatPath`, scopes, media upload and download. Access, names, bounds, schemas and credentials are the walker's. Schemas and common
//! parameters keep their places; all else is shown by the place that it was made from. Invariants: each method ends as a tool or as
//! skipped; what of it cannot be said is a note or a diagnostic; the walk is as deep as the document, which the parser bounds; what many methods
//! share is written once and referred to, so that the translation is not much larger than the document.

mod media;
mod method;
mod parameters;
mod route;
mod schema;
mod translation;

use crate::notices::Notices;
use crate::{Api, Found, Outcome, SpecError, SpecLimits, openapi};

/// Most bytes of the place of a resource, a method or a schema: each thing below it has a place that begins so. Google's are below 300.
const MOST_PLACE: usize = 1_000;

/// Reads a Discovery document; it refers to no other.
///
/// # Errors
/// [`SpecError`] when a bound of the whole description is reached.
pub(crate) fn read(found: Found<'_>, limits: &SpecLimits, notices: Notices) -> Result<Api, SpecError> {
    let mut translation = translation::translate(&found, limits, &notices)?;
    let translated = Found { value: translation.document, ..found };
    let mut api = openapi::read_translated(translated, translation.origins, limits, notices)?;
    for tool in &mut api.tools {
        let Some(mut notes) = translation.notes.remove(&tool.pointer).filter(|notes| !notes.is_empty()) else {
            continue;
        };
        if let Outcome::Repaired { notes: more } = &mut tool.outcome {
            notes.append(more);
        }
        tool.outcome = Outcome::Repaired { notes };
    }
    api.total += translation.skipped.len();
    api.skipped.extend(translation.skipped);
    Ok(api)
}
