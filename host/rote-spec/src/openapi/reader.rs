//! What every part of the walk shares: the documents, the bounds, the dialect and what was noticed.

use std::cell::Cell;

use rote_types::SpecType;

use crate::SpecLimits;
use crate::notices::{Notes, Notices};
use crate::openapi::documents::{Documents, Node};
use crate::openapi::security::Schemes;

/// The state of one walk; nothing in it changes but what was noticed.
pub(crate) struct Reader<'a> {
    pub(crate) documents: &'a Documents,
    pub(crate) limits: &'a SpecLimits,
    pub(crate) spec_type: SpecType,
    pub(crate) notices: &'a Notices,
    pub(crate) schemes: &'a Schemes,
    /// Bytes of schema that were written so far, at whatever level of detail.
    pub(crate) written: Cell<usize>,
}

impl<'a> Reader<'a> {
    /// Whether the document is Swagger 2.
    pub(crate) fn is_swagger(&self) -> bool {
        self.spec_type == SpecType::Swagger2
    }

    /// Follows the references at `node`; what cannot be followed becomes a note.
    pub(crate) fn resolve(&self, node: Node<'a>, what: &str, notes: &Notes) -> Option<Node<'a>> {
        match self.documents.resolve(node) {
            Ok(node) => Some(node),
            Err(broken) => {
                notes.add(&broken.pointer, format_args!("{what}: {}", broken.reason));
                None
            }
        }
    }

    /// The place of `node` as it is shown.
    pub(crate) fn place(&self, node: &Node<'_>) -> String {
        self.documents.place(node.document, &node.pointer)
    }

    /// The media types of a Swagger 2 operation: its own, else the document's.
    pub(crate) fn swagger_media(&self, operation: &Node<'a>, key: &str) -> Vec<&'a str> {
        let own = operation.get(key);
        let list = own.or_else(|| self.documents.root().get(key));
        list.map_or_else(Vec::new, |list| list.elements().filter_map(|media| media.value.as_str()).collect())
    }
}
