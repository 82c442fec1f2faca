//! One source file to a module's body: parse, refuse, strip the types, take out imports and exports; later, print.
//!
//! The parser and the passes after it recurse along the syntax tree; the caller's stack holds the deepest tree that
//! [`nesting::check`](crate::nesting::check) lets through.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_resolver::ModuleType;
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::calls::{Calls, written_calls};
use crate::check::Author;
use crate::place::place;
use crate::record::{Body, Compiled, Export, Form, Part, Printed, Record, Shape, Token};
use crate::resolve::Language;
use crate::rewrite::{DEFAULT_BINDING, rewrite};
use crate::{Problem, ScriptError, check, packages};

/// The most syntax errors that are reported.
const MAX_PROBLEMS: usize = 10;

/// A file to compile. What is made of it lives as long as the allocator.
pub(crate) struct File<'f, 'a> {
    pub(crate) name: &'f str,
    pub(crate) source: &'a str,
    pub(crate) language: Language,
    /// It belongs to a package.
    pub(crate) package: bool,
    /// What its package says about modules with the extension `.js`.
    pub(crate) kind: Option<ModuleType>,
    pub(crate) allocator: &'a Allocator,
}

/// Compiles a file that passed the nesting check, up to printing.
///
/// # Errors
/// [`ScriptError::Syntax`] and [`ScriptError::Refused`] for the file.
pub(crate) fn compile<'a>(file: &File<'_, 'a>) -> Result<Compiled<'a>, ScriptError> {
    match file.language {
        Language::Json => json(file.name, file.source),
        _ => file.compile(),
    }
}

/// Prints a module without the parts that are not live.
pub(crate) fn print(name: &str, form: Form, body: &mut Body<'_>, live: &[bool]) -> Printed {
    let program = match body {
        Body::Text(code) => return Printed { code: std::mem::take(code), tokens: Vec::new() },
        Body::Program(program) => program,
    };
    if form == Form::Module {
        let mut live = live.iter();
        program.body.retain(|_| live.next().copied().unwrap_or(true));
    }
    let options = CodegenOptions {
        comments: CommentOptions::disabled(),
        source_map_path: Some(PathBuf::from(name)),
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
    Printed { tokens: tokens.collect(), code: printed.code }
}

impl<'a> File<'_, 'a> {
    fn compile(&self) -> Result<Compiled<'a>, ScriptError> {
        let (parsed, form) = self.parse();
        let mut errors: Vec<_> = parsed.diagnostics.errors().map(located).collect();
        if parsed.panicked {
            return Err(self.syntax(errors));
        }
        let mut program = parsed.program;
        let analysed = SemanticBuilder::new_compiler().with_enum_eval(true).build(&program);
        errors.extend(analysed.diagnostics.errors().map(located));
        let scoping = analysed.semantic.into_scoping();
        let author = match (self.package, form) {
            (_, Form::CommonJs) => Author::CommonJs,
            (true, _) => Author::Package,
            (false, _) => Author::Own,
        };
        let mut refusals = check::refusals(&program, &scoping, author);
        if !self.package && !refusals.is_empty() {
            let refusal = refusals.swap_remove(0);
            return Err(self.refused(refusal.span.start, refusal.what, refusal.reason));
        }
        if !errors.is_empty() {
            return Err(self.syntax(errors));
        }
        if form == Form::CommonJs {
            let record = packages::rewrite(&mut program, &scoping, self.allocator, true);
            let (body, parts, calls) = (Body::Program(program), Vec::new(), Calls::default());
            return Ok(Compiled { body, form, record, parts, refusals, calls });
        }
        let own = !self.package;
        let calls = if own { written_calls(&program, &scoping, (self.name, self.source)) } else { Calls::default() };
        let names = parsed.module_record.exported_bindings.keys().map(|name| name.to_string()).collect();
        let scoping = self.strip(&mut program, scoping)?;
        let (record, parts) = self.finish(&mut program, &scoping, names)?;
        Ok(Compiled { body: Body::Program(program), form, record, parts, refusals, calls })
    }

    /// Parses, and finds out what kind of module it is: as Node does, and where the package does not say, by its words.
    /// A CommonJS module is parsed as strict code, too, since the script is strict.
    fn parse(&self) -> (ParserReturn<'a>, Form) {
        let declared = match self.name.rsplit_once('.') {
            Some((_, "cjs")) => Some(Form::CommonJs),
            Some((_, "js")) if self.package && self.kind != Some(ModuleType::Module) => None,
            _ => Some(Form::Module),
        };
        let options = ParseOptions {
            preserve_parens: false,
            allow_return_outside_function: declared != Some(Form::Module),
            ..ParseOptions::default()
        };
        let source_type = match self.language {
            Language::TypeScript => SourceType::ts(),
            _ => SourceType::mjs(),
        };
        let parsed = Parser::new(self.allocator, self.source, source_type).with_options(options).parse();
        let words = if parsed.module_record.has_module_syntax { Form::Module } else { Form::CommonJs };
        (parsed, declared.unwrap_or(words))
    }

    /// Removes the types. The names are resolved anew: the transformer's own table is kept for its own needs.
    fn strip(&self, program: &mut Program<'a>, scoping: Scoping) -> Result<Scoping, ScriptError> {
        if self.language != Language::TypeScript {
            return Ok(scoping);
        }
        let transformer = Transformer::new(self.allocator, Path::new(self.name), &TransformOptions::default());
        let done = transformer.build_with_scoping(scoping, program);
        if let Some(problem) = done.diagnostics.errors().chain(done.diagnostics.warnings()).next() {
            let (at, message) = located(problem);
            return Err(self.refused(at.unwrap_or_default(), "this use of TypeScript".into(), &sentence(&message)));
        }
        Ok(SemanticBuilder::new().build(program).semantic.into_scoping())
    }

    /// Takes out imports and exports.
    fn finish(
        &self,
        program: &mut Program<'a>,
        scoping: &Scoping,
        names: BTreeSet<String>,
    ) -> Result<(Record, Vec<Part>), ScriptError> {
        if self.package {
            packages::rewrite(program, scoping, self.allocator, false);
        }
        let (mut record, parts) = rewrite(program, scoping, self.allocator, self.package).map_err(|(span, name)| {
            self.refused(span.start, format!("assigning to the import `{name}`"), "imports are read-only")
        })?;
        record.types = names.into_iter().filter(|name| !record.exports.contains_key(name)).collect();
        Ok((record, parts))
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
fn json<'a>(file: &str, source: &str) -> Result<Compiled<'a>, ScriptError> {
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
    let code = format!("const {DEFAULT_BINDING} = JSON.parse({quoted});\n");
    let export = Export::Local { binding: DEFAULT_BINDING.into(), shape: Shape::NotFunction };
    let exports = [("default".to_owned(), export)].into();
    let record = Record { exports, ..Record::default() };
    let (body, parts, refusals, calls) = (Body::Text(code), Vec::new(), Vec::new(), Calls::default());
    Ok(Compiled { body, form: Form::Json, record, parts, refusals, calls })
}
