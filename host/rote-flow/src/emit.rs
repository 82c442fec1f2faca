//! A plan as a program: TypeScript or Rust sources that make the same calls and return the same value.
//!
//! The sources are for people to edit and build. A plan with a `for_each`, a condition or a step that may fail is
//! not written out: its rules about partial results are the plan's own.

mod rust;
mod typescript;

use std::path::{Path, PathBuf};

use rote_home::{FileMode, create_private_dir, write_atomic};
use rote_plan::{Expression, OnError, Plan, Step};
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
    let of_steps = plan.steps.iter().find_map(|step| Some(format!("step `{}` {}", step.id, beyond(step)?)));
    let of_result = || Some(format!("the result {}", beyond_value(&plan.result)?));
    match of_steps.or_else(of_result) {
        Some(reason) => Err(refused(reason)),
        None => Ok(plan),
    }
}

/// What of a step is not written out: a plain one is one call, always made, whose failure ends the run.
fn beyond(step: &Step) -> Option<&'static str> {
    if step.for_each.is_some() {
        return Some("has a loop");
    }
    if step.when.is_some() {
        return Some("has a condition");
    }
    if step.on_error != OnError::Stop {
        return Some("may fail");
    }
    beyond_value(&step.arguments)
}

fn beyond_value(value: &Expression) -> Option<&'static str> {
    let mut found = None;
    value.walk(&mut |one| match one {
        Expression::Default(..) => found = Some("has a fallback"),
        Expression::From(reference) if !reference.with.is_empty() => found = Some("has variables in a query"),
        _ => {}
    });
    found
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
    fn what_is_not_written_out_is_named() {
        let step = |more: serde_json::Value| {
            let mut step = serde_json::json!({"id": "s1", "adapter": "a", "tool": "t", "arguments": {}});
            for (key, value) in more.as_object().unwrap() {
                step[key] = value.clone();
            }
            serde_json::from_value::<Step>(step).unwrap()
        };
        let bound = serde_json::json!({"x": {"$from": {"step": "s0", "jq": "$p", "with": {"p": {"$param": "p"}}}}});
        let cases = [
            (serde_json::json!({}), None),
            (serde_json::json!({"for_each": []}), Some("has a loop")),
            (serde_json::json!({"when": {"all": []}}), Some("has a condition")),
            (serde_json::json!({"on_error": "continue"}), Some("may fail")),
            (serde_json::json!({"arguments": {"x": {"$default": [1, 2]}}}), Some("has a fallback")),
            (serde_json::json!({ "arguments": bound }), Some("has variables in a query")),
        ];
        for (more, expected) in cases {
            assert_eq!(beyond(&step(more.clone())), expected, "{more}");
        }
    }

    #[test]
    fn a_literal_never_ends_early() {
        assert_eq!(literal("a\"b\\c\n\u{2028}${x}"), r#""a\"b\\c\n\u{2028}${x}""#);
    }
}
