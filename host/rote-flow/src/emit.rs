//! A plan as a program: TypeScript or Rust sources that make the same calls and return the same value.
//!
//! The sources are for people to edit and build. What both languages share is made once: the order and the blocks
//! (`outline`), how comparisons are joined (`condition`), names (`names`), parameters, comments (`origins`), lines (`layout`). A
//! step that may fail without ending the run is not written out: the rules about partial results are the plan's own.

mod condition;
mod layout;
mod names;
mod origins;
mod outline;
mod parameters;
mod rust;
mod typescript;

use rote_plan::{Count, Plan};
use rote_types::{Language, is_hidden};

pub(crate) use origins::Origins;

use crate::author::SourceHeader;
use crate::error::AuthorError;
use crate::package::Content;
use crate::{FlowError, Library, Package};

/// The number of the next page, of `read` pages.
fn counted(Count { from, by }: Count) -> String {
    match (from, by) {
        (0, 1) => "read".to_owned(),
        (0, by) => format!("{by} * read"),
        (from, 1) => format!("{from} + read"),
        (from, by) => format!("{from} + {by} * read"),
    }
}

impl Library {
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

fn plan_of(package: &Package) -> Result<&Plan, String> {
    match &package.content {
        Content::Plan(plan) => Ok(plan),
        _ => Err("it is not a plan but a program already".to_owned()),
    }
}

/// Text for a comment of one line, which nothing in it may end.
fn one_line(text: &str) -> String {
    text.replace(is_hidden, " ")
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
            c if is_hidden(c) => quoted.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
