//! What a compiled module says about itself: what it imports and exports, by name, and what its statements are for.

use std::collections::{BTreeMap, BTreeSet};

use oxc_ast::ast::Program;

use crate::calls::Calls;
use crate::check::Refusal;

/// A compiled module, before it is linked.
#[derive(Debug)]
pub(crate) struct Compiled<'a> {
    /// The body, without import and export statements.
    pub(crate) body: Body<'a>,
    /// How the module is run.
    pub(crate) form: Form,
    /// The names.
    pub(crate) record: Record,
    /// The statements of the body, in the order of the text; none of a CommonJS module, which is one piece.
    pub(crate) parts: Vec<Part>,
    /// What a flow cannot use, in a package: it counts only where it is part of the script.
    pub(crate) refusals: Vec<Refusal>,
    /// The calls that are written in it, of the author's own.
    pub(crate) calls: Calls,
}

impl Compiled<'_> {
    /// What stands for a file that does not compile.
    pub(crate) fn broken() -> Self {
        let (body, form) = (Body::Text(String::new()), Form::CommonJs);
        let (parts, refusals, calls) = (Vec::new(), Vec::new(), Calls::default());
        Self { body, form, record: Record::default(), parts, refusals, calls }
    }
}

/// The code of a module.
#[derive(Debug)]
pub(crate) enum Body<'a> {
    /// What was parsed, to be printed when it is known which statements stay.
    Program(Program<'a>),
    /// What needs no printing.
    Text(String),
}

/// How a module is run and what importing it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A module of ECMAScript.
    Module,
    /// A CommonJS module: a function that runs once, when it is first required.
    CommonJs,
    /// A value with a default export.
    Json,
}

/// Printed code.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    pub(crate) code: String,
    /// Where the pieces of `code` come from, ordered by their place in `code`.
    pub(crate) tokens: Vec<Token>,
}

/// A statement of a module.
#[derive(Debug)]
pub(crate) struct Part {
    /// The top-level names that it binds.
    pub(crate) declares: BTreeSet<String>,
    /// What it needs when it runs, or when what it binds does.
    pub(crate) uses: Vec<Use>,
    /// It does something, whoever uses its names.
    pub(crate) effects: bool,
    /// Its bytes in the source.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A name that a statement uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// A name of the module itself.
    Local(String),
    /// An imported name, or a whole exports object when there is none, and the property that is read of it.
    Import { request: usize, name: Option<String>, member: Option<String>, offset: u32 },
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
    pub(crate) kind: RequestKind,
}

/// How a module is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// For names.
    Import,
    /// To be run, without a name.
    Effect,
    /// `require`.
    Require,
    /// `require` within a `try`: when it is not there, that is found when it is run.
    Try,
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
    /// A name of another module; `access` is how this module reads it.
    Indirect { request: usize, name: String, access: String, offset: u32 },
    /// The exports object of another module.
    Namespace { request: usize, access: String },
}

/// What an exported binding holds, as far as its declaration tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Something that cannot be called, such as a class or a literal.
    NotFunction,
    /// A function, or unknown until it runs.
    Maybe,
}
