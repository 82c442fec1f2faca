//! A plan as a program: TypeScript or Rust sources that make the same calls and return the same value.
//!
//! The sources are for people to edit and build. What both languages share is made once: the order and the blocks
//! (`outline`), names (`names`), parameters, comments (`origins`), lines (`layout`). A step that may fail without ending the run
//! is not written out: the rules about partial results are the plan's own.

mod layout;
mod names;
mod origins;
mod outline;
mod parameters;
mod rust;
mod typescript;

use std::path::{Path, PathBuf};

use rote_home::{FileMode, create_private_dir, read_capped, write_atomic};
use rote_plan::Plan;
use rote_types::Language;
use serde::Serialize;

pub(crate) use origins::Origins;

use crate::author::SourceHeader;
use crate::error::AuthorError;
use crate::package::Content;
use crate::{FlowError, FlowReference, Library, Package};

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
    /// [`AuthorError::CannotExport`] for a flow that is not a plan, or whose plan has what is not written out;
    /// [`AuthorError::Edited`] where a file says something else, unless it is forced: nothing is written then; the disk refused.
    pub fn export(
        &self,
        flow: &FlowReference,
        language: Language,
        path: &Path,
        force: bool,
    ) -> Result<Exported, FlowError> {
        let (_, package) = self.load(flow)?;
        let files = self.sources(&package, language, &self.origins(&package)?)?;
        // One file is written as the person named it; several go into a folder of that name.
        let place = |name: &str| if name.is_empty() { path.to_owned() } else { path.join(name) };
        let edited = |(name, text): &&(&str, String)| differs(&place(name), text);
        if let Some((name, _)) = files.iter().find(edited).filter(|_| !force) {
            return Err(FlowError::Author(AuthorError::Edited { path: place(name) }));
        }
        let mut written = Vec::with_capacity(files.len());
        for (name, text) in files {
            let path = place(name);
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
        origins: &Origins,
    ) -> Result<Vec<(&'static str, String)>, FlowError> {
        let frontmatter = &package.frontmatter;
        let refused =
            |reason: String| FlowError::Author(AuthorError::CannotExport { flow: frontmatter.name.clone(), reason });
        let plan = plan_of(package).map_err(refused)?;
        let header = SourceHeader::brief(frontmatter).to_yaml()?;
        Ok(match language {
            Language::TypeScript => {
                let program = typescript::program(frontmatter, plan, origins).map_err(refused)?;
                vec![("", rote_script::frontmatter::replace(&program, &header))]
            }
            Language::Rust => vec![
                ("flow.yaml", header),
                (
                    "Cargo.toml",
                    crate::author::rust_manifest(&frontmatter.name, &frontmatter.description, &self.unpack_rust_sdk()?),
                ),
                ("src/lib.rs", rust::program(frontmatter, plan, origins).map_err(refused)?),
            ],
        })
    }
}

/// Whether something else than this text stands in a file.
fn differs(path: &Path, text: &str) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    metadata.len() != length || read_capped(path, length).is_ok_and(|bytes| bytes != text.as_bytes())
}

fn plan_of(package: &Package) -> Result<&Plan, String> {
    match &package.content {
        Content::Plan(plan) => Ok(plan),
        _ => Err("it is not a plan but a program already".to_owned()),
    }
}

/// Text for a comment of one line, which nothing in it may end.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), " ")
}

/// The members that a jq program goes down, when it does nothing but that.
fn member_path(program: &str) -> Option<Vec<&str>> {
    let path = program.strip_prefix('.')?;
    if path.is_empty() {
        return Some(Vec::new());
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let names: Vec<&str> = path.split('.').collect();
    names.iter().all(|name| is_name(name)).then_some(names)
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
mod tests;
