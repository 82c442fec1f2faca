//! A plan as a program: TypeScript or Rust sources that make the same calls and return the same value.
//!
//! The sources are for people to edit and build. A plan with a `for_each`, a condition or a step that may fail is
//! not written out: its rules about partial results are the plan's own.

mod rust;
mod typescript;

use std::path::{Path, PathBuf};

use rote_home::{FileMode, create_private_dir, write_atomic};
use rote_plan::{Expression, Plan, Step};
use rote_types::Language;
use serde::Serialize;

use crate::author::SourceHeader;
use crate::error::AuthorError;
use crate::package::Content;
use crate::{FlowError, FlowReference, Frontmatter, Library, Package};

/// Sources that were written out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The files.
    pub files: Vec<PathBuf>,
}

impl Library {
    /// Writes a plan flow as editable sources: one file for TypeScript, a crate's files for Rust.
    ///
    /// # Errors
    /// [`AuthorError::CannotExport`] for a flow that is not a plain plan; the disk refused.
    pub fn export(&self, flow: &FlowReference, language: Language, path: &Path) -> Result<Exported, FlowError> {
        let (_, package) = self.load(flow)?;
        let files = self.sources(&package, language)?;
        let mut written = Vec::with_capacity(files.len());
        for (name, text) in files {
            // One file is written as the person named it; several go into a folder of that name.
            let path = if name.is_empty() { path.to_owned() } else { path.join(name) };
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                create_private_dir(folder)?;
            }
            write_atomic(&path, text.as_bytes(), FileMode::Shared)?;
            written.push(path);
        }
        Ok(Exported { files: written })
    }

    /// The sources by file name; the name of an only file is empty.
    pub(crate) fn sources(
        &self,
        package: &Package,
        language: Language,
    ) -> Result<Vec<(&'static str, String)>, FlowError> {
        let plan = plain_plan(package)?;
        let frontmatter = &package.frontmatter;
        Ok(match language {
            Language::TypeScript => vec![("", typescript_source(frontmatter, plan)?)],
            Language::Rust => vec![
                ("flow.yaml", SourceHeader::of(frontmatter).to_yaml()?),
                ("Cargo.toml", crate::author::rust_manifest(&frontmatter.name, &self.unpack_rust_sdk()?)),
                ("src/lib.rs", rust::program(frontmatter, plan)),
            ],
        })
    }
}

/// The TypeScript source of a plan, with its frontmatter.
pub(crate) fn typescript_source(frontmatter: &Frontmatter, plan: &Plan) -> Result<String, FlowError> {
    let program = typescript::program(frontmatter, plan);
    Ok(rote_script::frontmatter::replace(&program, &SourceHeader::of(frontmatter).to_yaml()?))
}

/// The plan of a flow, when it can be written as a program.
fn plain_plan(package: &Package) -> Result<&Plan, FlowError> {
    let refused = |reason: String| {
        FlowError::Author(AuthorError::CannotExport { flow: package.frontmatter.name.clone(), reason })
    };
    let Content::Plan(plan) = &package.content else {
        return Err(refused("it is not a plan but a program already".to_owned()));
    };
    match plan.steps.iter().find(|step| !is_plain(step)) {
        Some(step) => Err(refused(format!("step `{}` has a loop, a condition or may fail", step.id))),
        None => Ok(plan),
    }
}

/// Whether a step is one call, always made, whose failure ends the run.
pub(crate) fn is_plain(step: &Step) -> bool {
    let mut plain = step.when.is_none() && step.for_each.is_none() && step.on_error == rote_plan::OnError::Stop;
    step.arguments.walk(&mut |one| plain &= !matches!(one, Expression::Default(..)));
    plain
}

/// Words of the two languages, and names that the written programs use.
const TAKEN: &str = "abstract arguments as async await become box break case catch class const continue crate cx \
    debugger default delete do dyn each else enum eval export extends extern false final finally fn for function gen \
    if impl import in instanceof interface let loop macro main match mod move mut needed new null object one override \
    package params priv private protected pub public ref return rote self static struct super switch text this throw \
    trait true try type typeof undefined unsafe unsized use var virtual void where while with yield";

/// A variable for a name: the name itself where both languages take it, otherwise one that no other name gets.
fn variable(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && !TAKEN.split_whitespace().any(|word| word == name) {
        return name.to_owned();
    }
    let mut text = "v_".to_owned();
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => text.push(c),
            // Written out, so that `a-b`, `a.b` and `a_b` do not meet.
            '_' => text.push_str("__"),
            '-' => text.push_str("_d"),
            _ => text.push_str("_p"),
        }
    }
    text
}

/// The variable of an adapter, which no step of the plan has.
fn adapter_variable(plan: &Plan, adapter: &str) -> String {
    let name = variable(adapter);
    if plan.steps.iter().any(|step| variable(&step.id) == name) { format!("adapter_{name}") } else { name }
}

/// A string literal that both languages read as the same text.
fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Escaped as both languages can: line and paragraph separators and what cannot be seen.
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                quoted.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_different_names_differ() {
        let names = ["a-b", "a.b", "a_b", "a__b", "ab", "a_-b", "if", "one", "A"];
        let made: std::collections::BTreeSet<String> = names.iter().map(|name| variable(name)).collect();
        assert_eq!(made.len(), names.len(), "{made:?}");
    }

    #[test]
    fn a_literal_never_ends_early() {
        assert_eq!(literal("a\"b\\c\n\u{2028}${x}"), r#""a\"b\\c\n\u{2028}${x}""#);
    }
}
