//! TypeScript flows to one script: TypeScript sources in, one JavaScript script and its source map out.
//!
//! [`bundle`] follows the static imports of relative modules and of packages in `node_modules` from an entry, strips the
//! types, leaves out what is not used of packages, and prints one script whose value is the entry's exports object. The
//! script needs nothing but an engine with ES2023 and, when the sources import `@rote/sdk`, the global `__rote_sdk`.
//! [`SourceMap`] takes positions in that script back to the files. [`frontmatter`] reads and writes the YAML block at the
//! top of an entry.
//!
//! Invariants: no I/O, no clock, no environment; the same sources give the same bytes. What there is to read is asked of
//! [`Sources`], by the resolver, too. Everything is bounded by [`BundleLimits`]: bytes, modules, paths that are looked
//! at, and the nesting of the text, which is measured before a recursive parser sees it. No input makes this crate panic
//! or overflow its stack. A refusal names file, line and column and says what to write instead; one of a package says
//! who imports it.
//!
//! Modules keep the semantics of ECMAScript: each is evaluated once, after what it imports, in strict mode with `this`
//! undefined; imports are live bindings; cycles work, functions across a cycle can be called before their module ran,
//! and a `const` or class read too early throws a `ReferenceError`, as in any engine. CommonJS modules are functions
//! that run when they are required; they, too, are strict code, as the engine runs all of it so.
//!
//! TypeScript that has a meaning when it runs (enums, namespaces, parameter properties) becomes JavaScript as `tsc` with
//! `isolatedModules` does it; decorators, `accessor`, `using`, `import x = require()` and `export =` are refused.
//! Time is bounded by the limits, not measured: a file of 1 MiB written to be slow can take minutes, as look-ahead in
//! the parser grows with the square of a statement's length. Sources come from the person who waits.
//!
//! What it deliberately does not do: check types, shake the author's own files, lower syntax, or act as a security
//! boundary. The refusals of `eval`, `fetch` and their like are there to explain; what a flow may do is the sandbox's
//! business.

mod bundle;
mod calls;
mod check;
mod compile;
mod emit;
mod error;
mod exports;
pub mod frontmatter;
mod limits;
mod link;
mod nesting;
mod packages;
mod parts;
mod place;
mod record;
mod resolve;
mod rewrite;
mod scan;
mod shake;
mod source_map;
mod sources;
mod vlq;

#[cfg(test)]
mod tests;

pub use bundle::{Bundle, bundle};
pub use calls::{ImportedCall, LiteralArgument, LiteralArguments, LiteralCall};
pub use error::{Place, Problem, ScriptError, SourceError};
pub use limits::BundleLimits;
pub use resolve::{SDK_GLOBAL, SDK_MODULE};
pub use source_map::{MapError, Position, SCRIPT_NAME, SourceMap};
pub use sources::{Entry, Sources};
