//! What a compiled module says about itself: what it imports and what it exports, by name.

use std::collections::{BTreeMap, BTreeSet};

/// A compiled module, before it is linked.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// The body, without import and export statements.
    pub(crate) code: String,
    /// Where the pieces of `code` come from, ordered by their place in `code`.
    pub(crate) tokens: Vec<Token>,
    /// The names.
    pub(crate) record: Record,
}

/// One entry of a source map: a place in the output and the place in the source. Lines and columns from 0, columns in
/// UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) source_line: u32,
    pub(crate) source_column: u32,
}

/// The imports and exports of a module.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The requested modules, in the order of the text; the position is the number in `__rote_i0`, `__rote_i1`, …
    pub(crate) requests: Vec<Request>,
    /// The imported names that the body uses.
    pub(crate) imports: Vec<Import>,
    /// The named exports.
    pub(crate) exports: BTreeMap<String, Export>,
    /// The requests of `export * from`.
    pub(crate) stars: Vec<usize>,
    /// The names that are exported as types only.
    pub(crate) types: BTreeSet<String>,
}

/// A module specifier and the byte offset at which it is written.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) specifier: String,
    pub(crate) offset: u32,
}

/// A name that is taken from a request.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) request: usize,
    pub(crate) name: String,
    pub(crate) offset: u32,
}

/// Where an exported name comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Export {
    /// A binding of the module itself.
    Local { binding: String, shape: Shape },
    /// A name of another module.
    Indirect { request: usize, name: String, offset: u32 },
    /// The exports object of another module.
    Namespace { request: usize },
}

/// What an exported binding holds, as far as its declaration tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Something that cannot be called, such as a class or a literal.
    NotFunction,
    /// A function, or unknown until it runs.
    Maybe,
}
