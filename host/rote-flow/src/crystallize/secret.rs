//! Refuses to put a secret into a flow: a value that the vault knows, by the name of the argument, or by the shape of
//! the value.
//!
//! Secrets belong into the vault, where the host adds them after a call was admitted. One that was typed into an
//! argument would travel with the flow to everyone who gets it, so crystallize stops and says where it stands. As a
//! parameter that was asked for it is `writeOnly`: neither the flow nor its recording has the value.

use std::collections::BTreeMap;

use rote_gate::Redaction;
use rote_plan::{Comparison, Expression, Onward, text_of};
use serde_json::{Map, Value};

use super::draft::Draft;
use super::program;
use crate::FlowError;
use crate::error::CrystallizeError;
use crate::literals::{pointer_of, visit_value, walk_literals};
use crate::trace::Trace;

/// Names whose values are secrets, compared without case, `-` and `_`.
const NAMES: [&str; 3] = ["secret", "authorization", "credentials"];
/// Ends of such names. One that ends in `token` alone may be that of a page.
const ENDS: [&str; 22] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "privatekey",
    "secretkey",
    "secretaccesskey",
    "apisecret",
    "appsecret",
    "clientsecret",
    "sharedsecret",
    "signingsecret",
    "webhooksecret",
    "accesstoken",
    "apitoken",
    "authtoken",
    "bearertoken",
    "bottoken",
    "githubtoken",
    "gitlabtoken",
    "refreshtoken",
    "slacktoken",
];
/// Names under which three to twelve digits are a secret.
const CODES: [&str; 9] =
    ["pin", "otp", "totp", "cvv", "cvc", "passcode", "otpcode", "securitycode", "verificationcode"];
/// Names of what a URL is opened by.
const KEYS_OF_URLS: [&str; 3] = ["token", "sig", "signature"];
/// Names of the member of a pair that says what its `value` is called.
const NAMING: [&str; 5] = ["name", "key", "header", "variable", "field"];
/// Words that say of what kind an `Authorization` is.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "digest"];
/// Most bytes that are looked at behind a name.
const MAX_LOOK: usize = 512;
/// What stands for a part of a text that is not looked at: no secret.
const OTHER: &str = "<other>";
/// Words that stand where a secret would, and are none.
const PLACEHOLDERS: [&str; 9] =
    ["null", "true", "false", "none", "string", "required", "optional", "hidden", "redacted"];
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
        let recorded = &step.call(trace).arguments;
        let call = &step.call(trace).name();
        let mut outcome = refuse_around(call, &step.arguments);
        walk_literals(&step.arguments, &mut |pointer, value| {
            if outcome.is_ok() {
                outcome = refuse_literal(call, pointer, value, redaction);
            }
            if outcome.is_ok() && is_paired(recorded, pointer, value) {
                outcome = Err(refused(call, pointer));
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
    if is_secret(pointer, value) { Err(refused(call, pointer)) } else { Ok(()) }
}

fn refused(call: &str, pointer: &str) -> FlowError {
    FlowError::Crystallize(CrystallizeError::Secret { step: call.to_owned(), pointer: pointer.to_owned() })
}

/// Refuses what is a secret only as a whole: the name of a member, and a text in which something else stands too.
fn refuse_around(call: &str, arguments: &Expression) -> Result<(), FlowError> {
    let mut found = None;
    arguments.visit(&mut |way, one| {
        let mut pointer = pointer_of(way);
        let is_secret = match one {
            Expression::Object(members) => members.iter().any(|(name, _)| is_token_word(name)),
            Expression::Text(parts) => {
                let part = |part: &Expression| match part {
                    Expression::Literal(value) => text_of(value),
                    _ => OTHER.to_owned(),
                };
                holds_secret(&parts.iter().map(part).collect::<String>())
            }
            Expression::Literal(value) => {
                visit_value(value, &mut pointer, &mut |pointer, inner| {
                    if inner.as_object().is_some_and(|members| members.keys().any(|name| is_token_word(name))) {
                        found.get_or_insert_with(|| pointer.to_owned());
                    }
                    Onward::Into
                });
                false
            }
            _ => false,
        };
        if is_secret {
            found.get_or_insert(pointer);
        }
        Onward::Into
    });
    found.map_or(Ok(()), |pointer| Err(refused(call, &pointer)))
}

/// Returns the secrets of a value at this place of the arguments, by where they stand below it.
pub(crate) fn secrets_in(arguments: &Value, place: &str, value: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    visit_value(value, &mut String::new(), &mut |below, inner| {
        let pointer = format!("{place}{below}");
        match inner {
            Value::Object(members) => {
                let names = members.keys().enumerate().filter(|(_, name)| is_token_word(name));
                // No member has a `~` that nothing follows.
                found.extend(names.map(|(at, name)| (format!("{below}/~~{at}"), name.clone())));
            }
            Value::Array(_) => {}
            scalar => {
                let paired = || is_paired(arguments, &pointer, scalar) || is_paired(value, below, scalar);
                if is_secret(&pointer, scalar) || paired() {
                    found.insert(below.to_owned(), text_of(scalar));
                }
            }
        }
        Onward::Into
    });
    found
}

/// Whether a part of the text that stands at a place of the arguments is what makes it a secret.
pub(crate) fn is_secret_part(arguments: &Value, place: &str, part: &str) -> bool {
    let whole = arguments.pointer(place).and_then(Value::as_str).filter(|whole| !part.is_empty() && *whole != part);
    whole.is_some_and(|whole| looks_secret(whole) && !looks_secret(&whole.replace(part, OTHER)))
}

/// Whether a value is a secret by what the member beside it says: `{"name": "API_KEY", "value": "…"}`.
fn is_paired(arguments: &Value, pointer: &str, value: &Value) -> bool {
    let Some((above, name)) = pointer.rsplit_once('/') else { return false };
    let members = arguments.pointer(above).and_then(Value::as_object);
    members.is_some_and(|members| is_value_of_secret(members, name, value))
}

/// Whether the member of this name is the value of a pair that names a secret.
pub(crate) fn is_value_of_secret(members: &Map<String, Value>, name: &str, value: &Value) -> bool {
    let naming = members.iter().filter(|(name, _)| NAMING.contains(&&*name.to_ascii_lowercase()));
    name.eq_ignore_ascii_case("value")
        && naming.filter_map(|(_, told)| told.as_str()).any(|told| is_secret(told, value))
}

/// Whether a value at this place is, or looks like, a secret. The numbers 0 and 1 are flags.
pub(crate) fn is_secret(pointer: &str, value: &Value) -> bool {
    let name = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default();
    match value {
        Value::String(text) => {
            let named = names_secret(name) && !text.is_empty() && !is_placeholder(text);
            named || names_code(name) && is_code(text) || looks_secret(text)
        }
        Value::Number(number) => {
            let named = names_secret(name) && number.as_u64().is_none_or(|number| number > 1);
            named || names_code(name) && is_code(&number.to_string())
        }
        _ => false,
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_ascii_lowercase()
}

/// Whether a value under this name is a secret. A name in capitals is one of an environment variable.
fn names_secret(name: &str) -> bool {
    let plain = plain(name);
    let variable = !name.contains(|c: char| c.is_ascii_lowercase());
    NAMES.contains(&plain.as_str())
        || ENDS.iter().any(|end| plain.ends_with(end))
        || variable && ["_TOKEN", "_SECRET"].iter().any(|end| name.ends_with(end))
}

fn names_code(name: &str) -> bool {
    CODES.contains(&plain(name).as_str())
}

fn is_code(text: &str) -> bool {
    (3..=12).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word of the text is shaped as tokens are, or the text holds a secret otherwise.
pub(crate) fn looks_secret(text: &str) -> bool {
    let breaks =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '=' | ':' | ',' | ';' | '(' | ')' | '<' | '>');
    is_token(text) || text.split(breaks).any(is_token_word) || holds_secret(text)
}

fn is_token_word(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit()) && is_token(word)
}

/// Whether a text has a password in a URL, or a secret behind its name.
fn holds_secret(text: &str) -> bool {
    text.split("://").skip(1).any(has_password)
        || text.match_indices(['=', ':']).any(|(at, _)| is_assigned(&text[..at], &text[at..]))
}

/// Whether a URL behind its `://` has a password.
fn has_password(rest: &str) -> bool {
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"')).unwrap_or(rest.len());
    let user = rest[..end].rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
    user.is_some_and(|(_, password)| !password.is_empty() && !is_placeholder(password))
}

/// Whether a secret's name is given a value here: quoted, behind `=`, behind a scheme, or a word with a digit.
fn is_assigned(left: &str, right: &str) -> bool {
    const QUOTES: [char; 4] = ['"', '\'', '`', '\\'];
    let before = left.trim_end().trim_end_matches(QUOTES);
    let name =
        before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))).next().unwrap_or_default();
    // A long word is not read to its end again from each sign in it.
    let value = right[1..right.floor_char_boundary(MAX_LOOK)].trim_start();
    let quoted = value.starts_with(QUOTES);
    let mut words = value
        .trim_start_matches(QUOTES)
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '\\' | ',' | ';' | '&' | '}' | ')'));
    let first = words.next().unwrap_or_default();
    let scheme = SCHEMES.contains(&&*first.to_ascii_lowercase());
    let word = if scheme { words.next().unwrap_or_default() } else { first };
    let digit = word.len() >= 4 && word.bytes().any(|byte| byte.is_ascii_digit());
    let sign = right.starts_with('=');
    let in_url = sign && before[..before.len() - name.len()].ends_with(['?', '&']);
    let named = names_secret(name) && if scheme { word.len() >= 8 } else { quoted || sign || digit };
    let opens = in_url && digit && word.len() >= 8 && KEYS_OF_URLS.contains(&&*plain(name));
    let code = names_code(name) && word.len() >= 4 && is_code(word);
    // An operator, or a placeholder of several words.
    let other = word.starts_with(['<', '{', '[', '=']) || is_placeholder(word);
    !word.is_empty() && !other && (named || opens || code)
}

/// Whether a word is what a value is put in the place of, such as `$PASSWORD`, or says that there is none.
fn is_placeholder(word: &str) -> bool {
    let variable = word.strip_prefix('$').is_some_and(|name| {
        name.starts_with(['{', '('])
            || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    });
    let ends = [("<", ">"), ("[", "]"), ("{{", "}}"), ("%", "%")];
    variable
        || ends.iter().any(|(begin, end)| word.starts_with(begin) && word.ends_with(end))
        || word.bytes().all(|byte| matches!(byte, b'*' | b'.' | b'x' | b'X'))
        || PLACEHOLDERS.contains(&&*word.to_ascii_lowercase())
}

fn is_token(text: &str) -> bool {
    let long = text.len() >= 16;
    let begins = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) && !text.trim().is_empty();
    let web_token = text.starts_with("eyJ") && text.split('.').count() == 3;
    let aws = text.len() == 20 && text.starts_with("AKIA") && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    long && (begins || web_token || aws)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_told_by_its_name_its_shape_and_its_place_in_a_text() {
        for (place, value) in [
            ("/password", json!(998_877_665_544_u64)),
            ("/apiKey", json!(12_345_678_901_234_u64)),
            ("/pin", json!(483_920)),
            ("/otp", json!("483920")),
            ("/env/GITHUB_TOKEN", json!("plain")),
            ("/env/DB_PASSWORD", json!("plain")),
            ("/webhook_secret", json!("plain")),
            ("/url", json!("postgres://admin:hunter2@host")),
            ("/url", json!("https://u:hunter2@h?token=hunter2")),
            ("/url", json!("https://api.example/v1?q=1&api_key=hunter")),
            ("/url", json!("https://api.example/file?sig=a1b2c3d4e5")),
            ("/note", json!(r#"{"password":"hunter"}"#)),
            ("/note", json!("password=hunter")),
            ("/note", json!("the otp: 483920")),
            ("/note", json!("Authorization: Bearer abcdefghij")),
            ("/note", json!("curl -H 'Authorization: token abcdefghij'")),
        ] {
            assert!(is_secret(place, &value), "{place} {value}");
        }
        for (place, value) in [
            ("/url", json!("postgres://host/db")),
            ("/url", json!("https://host:8080/@scope:1")),
            ("/url", json!("https://x-access-token:${TOKEN}@github.com")),
            ("/url", json!("https://api.example/v1?page_token=a1b2c3d4e5&key=TRK-1")),
            ("/note", json!("the password was changed")),
            ("/note", json!("password: required")),
            ("/note", json!("password=$PASSWORD")),
            ("/note", json!("authorization: see page 12")),
            ("/note", json!("if (password == null || secret != x)")),
            ("/note", json!("token_count=12")),
            ("/env/GITHUB_TOKEN", json!("${{ secrets.GITHUB_TOKEN }}")),
            ("/token_count", json!(3)),
            ("/max_tokens", json!(4096)),
            ("/pin", json!(13)),
            ("/pin", json!("top")),
            ("/key", json!("TRK-1")),
            ("/page_token", json!("abc")),
            ("/password", json!(true)),
        ] {
            assert!(!is_secret(place, &value), "{place} {value}");
        }
    }

    #[test]
    fn a_secret_is_told_by_the_member_beside_it_and_may_be_a_name() {
        let secrets = |value: &Value| secrets_in(value, "", value).into_values().collect::<Vec<_>>();
        for naming in ["name", "key", "header", "Name"] {
            let pair = |name: &str, value: Value| json!({"env": [{naming: name, "value": value}]});
            assert_eq!(secrets(&pair("GITHUB_TOKEN", json!("plain"))), ["plain"]);
            assert_eq!(secrets(&pair("X-Api-Key", json!("plain"))), ["plain"]);
            assert_eq!(secrets(&pair("pin", json!(4839))), ["4839"]);
            assert!(secrets(&pair("token_count", json!(3))).is_empty());
            assert!(secrets(&pair("next_page_token", json!("abc"))).is_empty());
        }
        let token = "ghp_0123456789abcdefghij";
        assert_eq!(secrets(&json!({"may": {"read": 1, token: true}})), [token]);
        let recorded = json!({"note": "sign in with password=hunter2, it is for all"});
        for (part, is_it) in [("hunter2", true), ("for all", false)] {
            assert_eq!(is_secret_part(&recorded, "/note", part), is_it, "{part}");
        }
    }
}
