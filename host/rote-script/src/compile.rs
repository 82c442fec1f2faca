//! One source file to a module's body: parse, refuse, strip the types, take out imports and exports, print.
//!
//! The parser and the passes after it recurse along the syntax tree, so a file is compiled on a thread of its own whose
//! stack holds the deepest tree that [`nesting::check`](crate::nesting::check) lets through.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::place::place;
use crate::record::{Compiled, Export, Shape, Token};
use crate::resolve::Language;
use crate::rewrite::{DEFAULT_BINDING, rewrite};
use crate::{Problem, ScriptError, check};

/// The stack that a file is compiled on. Only what is touched takes memory. The deepest trees that pass the nesting
/// check were measured to need less than 16 MiB, unoptimised; a test compiles one of each kind.
const STACK_BYTES: usize = 128 * 1024 * 1024;
/// The most syntax errors that are reported.
const MAX_PROBLEMS: usize = 10;

/// Compiles a file that passed the nesting check.
///
/// # Errors
/// [`ScriptError::Syntax`] and [`ScriptError::Refused`] for the file; [`ScriptError::Internal`] when the compiler fails.
pub(crate) fn compile(file: &str, source: &str, language: Language) -> Result<Compiled, ScriptError> {
    let internal = |message: String| ScriptError::Internal { file: file.to_owned(), message };
    let source_type = match language {
        Language::Json => return json(file, source),
        Language::TypeScript => SourceType::ts(),
        Language::JavaScript => SourceType::mjs(),
    };
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("rote-script".into()).stack_size(STACK_BYTES);
        let worker = builder
            .spawn_scoped(scope, || File { name: file, source }.compile(source_type))
            .map_err(|error| internal(format!("no thread: {error}")))?;
        worker.join().map_err(|_| internal("the compiler panicked on it".into()))?
    })
}

struct File<'f> {
    name: &'f str,
    source: &'f str,
}

impl File<'_> {
    fn compile(&self, source_type: SourceType) -> Result<Compiled, ScriptError> {
        let allocator = Allocator::default();
        let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
        let parsed = Parser::new(&allocator, self.source, source_type).with_options(options).parse();
        let mut errors: Vec<_> = parsed.diagnostics.errors().map(located).collect();
        if parsed.panicked {
            return Err(self.syntax(errors));
        }
        let mut program = parsed.program;
        let analysed = SemanticBuilder::new_compiler().with_enum_eval(true).build(&program);
        errors.extend(analysed.diagnostics.errors().map(located));
        let scoping = analysed.semantic.into_scoping();
        if let Some(refusal) = check::first_refusal(&program, &scoping) {
            return Err(self.refused(refusal.span.start, refusal.what, refusal.reason));
        }
        if !errors.is_empty() {
            return Err(self.syntax(errors));
        }
        let names: BTreeSet<String> =
            parsed.module_record.exported_bindings.keys().map(|name| name.to_string()).collect();
        self.strip(&allocator, &mut program, scoping)?;
        self.finish(&allocator, &mut program, names)
    }

    /// Removes the types.
    fn strip<'a>(
        &self,
        allocator: &'a Allocator,
        program: &mut Program<'a>,
        scoping: Scoping,
    ) -> Result<(), ScriptError> {
        let transformer = Transformer::new(allocator, Path::new(self.name), &TransformOptions::default());
        let done = transformer.build_with_scoping(scoping, program);
        match done.diagnostics.errors().chain(done.diagnostics.warnings()).next() {
            Some(problem) => {
                let (at, message) = located(problem);
                Err(self.refused(at.unwrap_or_default(), "this use of TypeScript".into(), &sentence(&message)))
            }
            None => Ok(()),
        }
    }

    /// Takes out imports and exports, and prints.
    fn finish<'a>(
        &self,
        allocator: &'a Allocator,
        program: &mut Program<'a>,
        names: BTreeSet<String>,
    ) -> Result<Compiled, ScriptError> {
        // The names are resolved anew: the transformer's own table is kept for its own needs.
        let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
        let mut record = rewrite(program, &scoping, allocator).map_err(|(span, name)| {
            self.refused(span.start, format!("assigning to the import `{name}`"), "imports are read-only")
        })?;
        record.types = names.into_iter().filter(|name| !record.exports.contains_key(name)).collect();
        let options = CodegenOptions {
            comments: CommentOptions::disabled(),
            source_map_path: Some(PathBuf::from(self.name)),
            // Without indentation the output is linear in the source, however deep the source is.
            indent_width: 0,
            ..CodegenOptions::default()
        };
        let printed = Codegen::new().with_options(options).build(program);
        let map = printed.map.unwrap_or_default();
        let tokens = map.get_tokens().filter(|token| token.get_source_id().is_some()).map(|token| Token {
            line: token.get_dst_line(),
            column: token.get_dst_col(),
            source_line: token.get_src_line(),
            source_column: token.get_src_col(),
        });
        Ok(Compiled { tokens: tokens.collect(), code: printed.code, record })
    }

    fn refused(&self, offset: u32, what: String, reason: &str) -> ScriptError {
        ScriptError::Refused { at: place(self.name, self.source, offset as usize), what, reason: reason.to_owned() }
    }

    fn syntax(&self, mut errors: Vec<(Option<u32>, String)>) -> ScriptError {
        errors.sort_by_key(|(offset, _)| *offset);
        errors.dedup();
        let mut problems = errors.into_iter().take(MAX_PROBLEMS).map(|(offset, message)| {
            let at = place(self.name, self.source, offset.unwrap_or_default() as usize);
            Problem { line: at.line, column: at.column, message: sentence(&message), excerpt: at.excerpt }
        });
        let first = problems.next();
        let more = problems.collect();
        let Some(Problem { line, column, message, excerpt }) = first else {
            return ScriptError::Internal { file: self.name.to_owned(), message: "it does not parse".into() };
        };
        ScriptError::Syntax { file: self.name.to_owned(), line, column, message, excerpt, more }
    }
}

/// Where a diagnostic points, in bytes, and what it says.
fn located(diagnostic: &OxcDiagnostic) -> (Option<u32>, String) {
    (diagnostic.labels.first().map(|label| label.offset()), diagnostic.to_string())
}

/// A compiler's sentence as the middle of ours.
fn sentence(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut characters = message.chars();
    let second_is_lower = message.chars().nth(1).is_some_and(|second| !second.is_uppercase());
    match characters.next() {
        Some(first) if second_is_lower => first.to_lowercase().chain(characters).collect(),
        _ => message.to_owned(),
    }
}

/// A JSON file as a module with a default export. `JSON.parse` and not a literal: in a literal the key `__proto__` would
/// set the prototype.
fn json(file: &str, source: &str) -> Result<Compiled, ScriptError> {
    let text = source.trim_start_matches('\u{feff}').trim();
    let located = |error: serde_json::Error| ScriptError::Json {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
        // The text ends in the place, which is said already.
        message: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
    };
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(located)?;
    let quoted = serde_json::to_string(text).map_err(located)?;
    let mut compiled =
        Compiled { code: format!("const {DEFAULT_BINDING} = JSON.parse({quoted});\n"), ..Compiled::default() };
    let export = Export::Local { binding: DEFAULT_BINDING.into(), shape: Shape::NotFunction };
    compiled.record.exports.insert("default".into(), export);
    Ok(compiled)
}
