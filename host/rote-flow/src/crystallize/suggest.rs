//! Literals that equal a value of an earlier response: perhaps a dependency that nobody recorded.
//!
//! Only suggested: equal values prove nothing. The hint shows what to type in the workspace
//! so that the dependency is recorded next time.

use serde_json::Value;

use super::context::Context;
use super::draft::Draft;
use super::literals::walk_literals;
use super::report::{Place, Report, Suggestion};

/// Shortest value that is looked for; shorter ones match by chance.
const MIN_CHARS: usize = 10;
/// Most suggestions.
const MAX_SUGGESTIONS: usize = 50;

/// Adds suggestions to the report.
pub(crate) fn suggest(cx: &Context<'_>, draft: &Draft, report: &mut Report) {
    let mut wanted: Vec<(usize, Place, String)> = Vec::new();
    for step in &draft.steps {
        walk_literals(&step.arguments, &mut String::new(), &mut |pointer, value| {
            if let Some(text) = value.as_str().filter(|text| is_telling(text)) {
                let place = Place { step: step.id.clone(), pointer: pointer.to_owned() };
                wanted.push((step.calls[0], place, text.to_owned()));
            }
        });
    }
    for (position, call) in cx.trace.calls.iter().enumerate() {
        if !wanted.iter().any(|(user, ..)| *user > position) || call.state != rote_workspace::ResponseState::Ok {
            continue;
        }
        let Some(body) = cx.body(call.response) else { continue };
        wanted.retain(|(user, place, text)| {
            let found = if *user > position { find(&body, text, &mut String::new()) } else { None };
            let Some(jq) = found else { return true };
            if report.suggestions.len() < MAX_SUGGESTIONS {
                report.suggestions.push(Suggestion {
                    place: place.clone(),
                    response: call.response,
                    jq,
                    inferred: true,
                });
            }
            false
        });
    }
}

/// Long enough, and of more than one kind of character.
fn is_telling(text: &str) -> bool {
    let kinds = [
        text.chars().any(|c| c.is_lowercase()),
        text.chars().any(|c| c.is_uppercase()),
        text.chars().any(|c| c.is_ascii_digit()),
    ];
    text.chars().count() >= MIN_CHARS && kinds.into_iter().filter(|kind| *kind).count() >= 2
}

/// Returns the jq path of the first string that equals `text`. Bodies are as deep as the JSON reader allows.
fn find(value: &Value, text: &str, path: &mut String) -> Option<String> {
    let length = path.len();
    let found = match value {
        Value::String(one) if one == text => return Some(if path.is_empty() { ".".to_owned() } else { path.clone() }),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            path.truncate(length);
            path.push_str(&if length == 0 { format!(".[{index}]") } else { format!("[{index}]") });
            find(item, text, path)
        }),
        Value::Object(members) => members.iter().find_map(|(key, item)| {
            path.truncate(length);
            let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let root = if length == 0 { "." } else { "" };
            path.push_str(&if plain { format!(".{key}") } else { format!("{root}[{}]", Value::String(key.clone())) });
            find(item, text, path)
        }),
        _ => None,
    };
    path.truncate(length);
    found
}
