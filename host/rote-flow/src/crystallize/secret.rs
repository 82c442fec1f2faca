//! Refuses to put a secret into a flow: a value that the vault knows, by the name of the argument, or by the shape of
//! the value.
//!
//! Secrets belong into the vault, where the host adds them after a call was admitted. One that was typed into an
//! argument would travel with the flow to everyone who gets it, so crystallize stops and says where it stands. As a
//! parameter that was asked for it is `writeOnly`: neither the flow nor its recording has the value.

use std::collections::BTreeMap;

use rote_gate::Redaction;
use rote_plan::{Comparison, Expression};
use serde_json::Value;

use super::draft::Draft;
use super::program;
use crate::FlowError;
use crate::error::CrystallizeError;
use crate::literals::{walk_literals, walk_scalars};
use crate::trace::Trace;

/// Argument names whose values are secrets, compared without case, `-` and `_`.
const NAMES: [&str; 13] = [
    "password",
    "passwd",
    "secret",
    "clientsecret",
    "apikey",
    "accesstoken",
    "refreshtoken",
    "privatekey",
    "authorization",
    "authtoken",
    "secretkey",
    "bearertoken",
    "credentials",
];
/// Beginnings of published token formats (GitHub, GitLab, Slack, Stripe, OpenAI, Google, npm) and of PEM and
/// `Authorization` values.
const BEGINNINGS: [&str; 22] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "whsec_",
    "sk-",
    "AIza",
    "ya29.",
    "npm_",
    "-----BEGIN",
    "Bearer ",
    "Basic ",
];

/// Checks every literal of the draft, those in its jq programs and conditions too.
pub(crate) fn refuse_secrets(trace: &Trace, draft: &Draft, redaction: &Redaction) -> Result<(), FlowError> {
    for step in &draft.steps {
        let call = &step.call(trace).name();
        let mut outcome = Ok(());
        walk_literals(&step.arguments, &mut |pointer, value| {
            if outcome.is_ok() {
                outcome = refuse_literal(call, pointer, value, redaction);
            }
        });
        if let Some(condition) = &step.when {
            condition.walk(&mut |Comparison { left, right, .. }| {
                let (Some(Expression::Literal(value)), Ok(())) = (right, &outcome) else { return };
                // `.password` is what the right side is a value of.
                let name = left.references().first().and_then(|left| left.jq.rsplit('.').next()).unwrap_or_default();
                outcome = refuse_literal(call, &format!("when/{name}"), value, redaction);
            });
        }
        outcome?;
        for expression in step.expressions() {
            refuse_in_programs(call, expression, redaction)?;
        }
    }
    refuse_in_programs("result", &draft.result, redaction)
}

/// Refuses the texts of programs; that a program reads `.password` does not make a secret of what it looks for.
fn refuse_in_programs(call: &str, expression: &Expression, redaction: &Redaction) -> Result<(), FlowError> {
    for reference in expression.references() {
        for text in program::texts(&reference.jq) {
            refuse_literal(call, "{jq}", &Value::from(text), redaction)?;
        }
    }
    Ok(())
}

fn refuse_literal(call: &str, pointer: &str, value: &Value, redaction: &Redaction) -> Result<(), FlowError> {
    redaction.refuse_recorded(&format!("argument `{pointer}` of `{call}`"), value)?;
    if is_secret(pointer, value) {
        Err(FlowError::Crystallize(CrystallizeError::Secret { step: call.to_owned(), pointer: pointer.to_owned() }))
    } else {
        Ok(())
    }
}

/// Returns the secrets of a value at this place, by where they stand below it.
pub(crate) fn secrets_in(place: &str, value: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    walk_scalars(value, place.to_owned(), &mut |pointer, inner| {
        if let Some(text) = inner.as_str().filter(|_| is_secret(pointer, inner)) {
            found.insert(pointer[place.len()..].to_owned(), text.to_owned());
        }
    });
    found
}

/// Whether a value at this place is, or looks like, a secret.
pub(crate) fn is_secret(pointer: &str, value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    let name = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default();
    let name: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_ascii_lowercase();
    (!text.is_empty() && NAMES.contains(&name.as_str())) || looks_secret(text)
}

/// Whether a word of the text is shaped as tokens are, or the text begins as a header or a key does.
pub(crate) fn looks_secret(text: &str) -> bool {
    let breaks =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '=' | ':' | ',' | ';' | '(' | ')' | '<' | '>');
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    is_token(text) || text.split(breaks).any(|word| has_digit(word) && is_token(word))
}

fn is_token(text: &str) -> bool {
    let long = text.len() >= 16;
    let begins = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) && !text.trim().is_empty();
    let web_token = text.starts_with("eyJ") && text.split('.').count() == 3;
    let aws = text.len() == 20 && text.starts_with("AKIA") && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    long && (begins || web_token || aws)
}
