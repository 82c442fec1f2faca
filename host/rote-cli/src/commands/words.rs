//! Words of the form `name=value`: one grammar for the arguments of a call and the parameters of a run.

use std::path::PathBuf;

use clap::Args;
use rote_app::Parameter;
use rote_types::Given;

use crate::error::{Result, usage};

/// What the help of every command that takes such words says of them.
pub(super) const GRAMMAR: &str = "\
Values:
  name=value    Typed by the schema; a name that comes again adds to its list
  name:=JSON    This JSON value, such as `draft:=true` or `labels:=[\"a\"]`
  name=@FILE    The content of a file; `@@x` is the text `@x`
  -f name=TEXT  This text: neither a file nor a number";

/// What stands in hints where a person puts a value.
const PLACEHOLDER: &str = "…";

/// A word that was read, or what is wrong with its value.
type Read = Result<(String, Parameter), String>;

/// Words that name what they give, behind an option.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The same as NAME=VALUE without the option
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    pub(super) param: Vec<String>,
    /// The value is this text: neither a file nor a number
    #[arg(short = 'f', long, value_name = "NAME=TEXT")]
    pub(super) raw_field: Vec<String>,
}

impl Named {
    /// Reads the bare words, then those behind options; `hint` is for one that names nothing.
    pub(super) fn read<'w>(
        &'w self,
        bare: impl IntoIterator<Item = &'w String>,
        hint: impl Fn() -> String,
    ) -> Result<Vec<(String, Parameter)>> {
        let typed = bare.into_iter().chain(&self.param).map(|word| (word, parameter(word)));
        let raw = self.raw_field.iter().map(|word| (word, text(word).map(Ok)));
        let read = |(word, read): (&String, Option<Read>)| match read {
            Some(Ok(parameter)) => Ok(parameter),
            Some(Err(problem)) => Err(usage(problem, hint())),
            None => Err(usage(format!("`{word}` is not of the form NAME=VALUE"), hint())),
        };
        typed.chain(raw).map(read).collect()
    }
}

/// Reads `name=value`, `name=@FILE` or `name:=JSON`; `@7{.id}` is left for templates. None where there is no name.
fn parameter(word: &str) -> Option<Read> {
    let (name, text) = split(word)?;
    if text == PLACEHOLDER {
        let place = format!("`{name}={PLACEHOLDER}` has a place for a value: put the value there");
        let as_text = if name.ends_with(':') { String::new() } else { format!(", or write `-f {word}`") };
        return Some(Err(place + &as_text));
    }
    if let Some(name) = name.strip_suffix(':').filter(|name| !name.is_empty()) {
        let problem = |error| format!("`{name}:=` takes JSON: {error}");
        let read = rote_types::read_json(text).map_err(problem);
        return Some(read.map(|value| (name.to_owned(), Parameter::Given(Given::Json(value)))));
    }
    let file = text.strip_prefix('@').filter(|rest| !is_of_template(rest));
    let value = match file {
        Some(escaped) if escaped.starts_with('@') => Parameter::Given(Given::Typed(escaped.to_owned())),
        Some(path) => Parameter::File(PathBuf::from(path)),
        None => Parameter::Given(Given::Typed(text.to_owned())),
    };
    Some(Ok((name.to_owned(), value)))
}

/// Whether what stands behind an at sign is the number of a response, alone or before a program; a file may begin with a digit.
fn is_of_template(rest: &str) -> bool {
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    behind.len() < rest.len() && (behind.is_empty() || behind.starts_with('{'))
}

/// Reads `name=TEXT` as it stands.
fn text(word: &str) -> Option<(String, Parameter)> {
    split(word).map(|(name, text)| (name.to_owned(), Parameter::Given(Given::Text(text.to_owned()))))
}

fn split(word: &str) -> Option<(&str, &str)> {
    word.split_once('=').filter(|(name, _)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rote_types::command;
    use serde_json::json;

    fn check(word: &str, expected: Parameter) {
        assert_eq!(parameter(word), Some(Ok(("n".to_owned(), expected))), "{word}");
    }

    #[test]
    fn a_value_is_typed_json_or_a_file() {
        let typed = |text: &str| Parameter::Given(Given::Typed(text.to_owned()));
        let json = |value| Parameter::Given(Given::Json(value));
        check("n=a=b", typed("a=b"));
        check("n=", typed(""));
        check("n==1", typed("=1"));
        check("n=@@ada", typed("@ada"));
        check("n=@7{.id}", typed("@7{.id}"));
        check("n=@7", typed("@7"));
        check("n=@12{.id}/x", typed("@12{.id}/x"));
        for file in ["a.md", "2026-notes.md", "7.json", "7 notes"] {
            check(&format!("n=@{file}"), Parameter::File(file.into()));
        }
        check("n:=[1,true]", json(json!([1, true])));
        check(r#"n:="@a.md""#, json(json!("@a.md")));
        assert_eq!((parameter("n"), parameter("=x"), text("=x")), (None, None, None));
        assert!(parameter("n=…").unwrap().unwrap_err().contains("put the value there") && text("n=…").is_some());
        assert!(parameter("n:=a").unwrap().unwrap_err().starts_with("`n:=` takes JSON: "));
    }

    proptest! {
        #[test]
        fn any_text_typed_behind_a_name_arrives(
            value in "\\PC*|@{0,3}[0-9a-z{=:]*".prop_filter("a place for a value", |value| value != PLACEHOLDER)
        ) {
            let arrives = |word| Some(("n".to_owned(), Parameter::Given(word)));
            prop_assert_eq!(text(&format!("n={value}")), arrives(Given::Text(value.clone())));
            let typed = format!("n={}{value}", if value.starts_with('@') { "@" } else { "" });
            let printed = command("rote").parameter("n", &value).to_string();
            prop_assert_eq!(printed, command("rote").assignment("n", &typed[2..]).to_string());
            prop_assert_eq!(parameter(&typed), arrives(Given::Typed(value)).map(Ok));
        }
    }
}
