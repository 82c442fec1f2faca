//! The condition commands: questions about stored responses, true or false.
//!
//! An unknown response or a broken query is an error, never `false`. What was asked of an answer, of its contents or of its
//! outcome, is logged ([`Ask`]): crystallize makes a condition of what was asked before a write.

use std::cmp::Ordering;
use std::str::FromStr;

use jiff::Timestamp;
use rote_types::{QueryEngine, ResponseId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::NewCommand;
use crate::{CommandKind, ResponseState, Result, Workspace, WorkspaceError};

/// A condition that was asked of a response, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The command.
    pub condition: AskKind,
    pub response: ResponseId,
    /// The other responses, of a command that takes several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<ResponseId>,
    /// The jq programs as typed.
    pub programs: Vec<String>,
    /// How `compare` compares; none also where a newer rote compared in a way that this one does not know.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What it compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// Whether it held.
    pub held: bool,
}

fn known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Comparison>, D::Error> {
    Value::deserialize(deserializer).map(|word| serde_json::from_value(word).ok())
}

/// The commands whose questions are logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskKind {
    /// `exists`
    Exists,
    /// `is-empty`
    IsEmpty,
    /// `compare`
    Compare,
    /// `is-type`
    IsType,
    /// `expect`
    Expect,
    /// `is-error`
    IsError,
    /// `is-auth-error`
    IsAuthError,
    /// `any-error`
    AnyError,
    /// `any-auth-error`
    AnyAuthError,
    /// `all-success`
    AllSuccess,
    /// `changed`
    Changed,
    /// One that a newer rote has.
    #[serde(untagged)]
    Other(String),
}

impl Ask {
    /// Returns every response that it is about.
    pub fn responses(&self) -> impl Iterator<Item = ResponseId> + '_ {
        std::iter::once(self.response).chain(self.others.iter().copied())
    }

    /// Whether it asked how calls ended, and was told that they succeeded; none where it asked of what an answer has.
    ///
    /// That a credential was not refused says of a call that has its answer that it succeeded.
    #[must_use]
    pub fn told_success(&self) -> Option<bool> {
        match self.condition {
            AskKind::AllSuccess => Some(self.held),
            AskKind::IsError | AskKind::IsAuthError | AskKind::AnyError | AskKind::AnyAuthError => Some(!self.held),
            AskKind::Exists
            | AskKind::IsEmpty
            | AskKind::Compare
            | AskKind::IsType
            | AskKind::Expect
            | AskKind::Changed
            | AskKind::Other(_) => None,
        }
    }
}

impl AskKind {
    /// Returns its word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Exists => "exists",
            Self::IsEmpty => "is-empty",
            Self::Compare => "compare",
            Self::IsType => "is-type",
            Self::Expect => "expect",
            Self::IsError => "is-error",
            Self::IsAuthError => "is-auth-error",
            Self::AnyError => "any-error",
            Self::AnyAuthError => "any-auth-error",
            Self::AllSuccess => "all-success",
            Self::Changed => "changed",
            Self::Other(word) => word,
        }
    }
}

/// How `compare` compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// `-eq`: equal as JSON, or as text when the wanted value is not JSON.
    #[serde(rename = "eq")]
    Equal,
    /// `-ne`: not `-eq`.
    #[serde(rename = "ne")]
    NotEqual,
    /// `-gt`: greater number, or later text.
    #[serde(rename = "gt")]
    Greater,
    /// `-lt`: less number, or earlier text.
    #[serde(rename = "lt")]
    Less,
    /// `-ge`: not `-lt`.
    #[serde(rename = "ge")]
    AtLeast,
    /// `-le`: not `-gt`.
    #[serde(rename = "le")]
    AtMost,
    /// `-match`: the regular expression matches the text.
    #[serde(rename = "match")]
    Matches,
    /// `-contains`: substring of a text, or element of an array, or key of an object.
    #[serde(rename = "contains")]
    Contains,
}

impl Comparison {
    /// Returns its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::Greater => "gt",
            Self::Less => "lt",
            Self::AtLeast => "ge",
            Self::AtMost => "le",
            Self::Matches => "match",
            Self::Contains => "contains",
        }
    }
}

/// The types that `is-type` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `number`
    Number,
    /// `string`
    String,
    /// `array`
    Array,
    /// `object`
    Object,
}

impl JsonType {
    /// Returns the type of `value`.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Returns the name that jq's `type` gives.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl FromStr for JsonType {
    type Err = WorkspaceError;

    fn from_str(word: &str) -> Result<Self> {
        const ALL: [JsonType; 6] =
            [JsonType::Null, JsonType::Boolean, JsonType::Number, JsonType::String, JsonType::Array, JsonType::Object];
        let known = ALL.into_iter().find(|kind| kind.as_str() == word || (*kind == Self::Boolean && word == "bool"));
        known.ok_or_else(|| bad(format!("`{word}` is not a type; use null, boolean, number, string, array or object")))
    }
}

impl Workspace {
    /// Whether the response is an error: the caller was told of a failure, or there is no answer.
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn is_error(&self, id: ResponseId) -> Result<bool> {
        Ok(self.recorded(id)?.state == ResponseState::Error)
    }

    /// Whether the response says that a credential is missing or refused (401, 403, 407).
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn is_auth_error(&self, id: ResponseId) -> Result<bool> {
        Ok(matches!(self.recorded(id)?.status, Some(401 | 403 | 407)))
    }

    /// Whether any of the responses is an authentication error.
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn any_auth_error(&self, ids: &[ResponseId]) -> Result<bool> {
        self.any(ids, Self::is_auth_error)
    }

    /// Whether any of the responses is an error.
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn any_error(&self, ids: &[ResponseId]) -> Result<bool> {
        self.any(ids, Self::is_error)
    }

    /// Whether none of the responses is an error.
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn all_success(&self, ids: &[ResponseId]) -> Result<bool> {
        Ok(!self.any_error(ids)?)
    }

    /// Asks all of them, so that an unknown one is an error wherever it stands.
    fn any(&self, ids: &[ResponseId], ask: impl Fn(&Self, ResponseId) -> Result<bool>) -> Result<bool> {
        if ids.is_empty() {
            return Err(bad("name at least one response, such as `@1`".to_owned()));
        }
        ids.iter().try_fold(false, |known, id| Ok(ask(self, *id)? || known))
    }

    /// Whether the query gives at least one value that is not null.
    ///
    /// # Errors
    /// Unknown or unfinished response, or the query failed.
    pub fn exists(&self, engine: &dyn QueryEngine, id: ResponseId, program: &str) -> Result<bool> {
        Ok(self.values(engine, id, program)?.iter().any(|value| !value.is_null()))
    }

    /// Whether the query gives nothing, or only null, `""`, `[]` or `{}`.
    ///
    /// # Errors
    /// Unknown or unfinished response, or the query failed.
    pub fn is_empty(&self, engine: &dyn QueryEngine, id: ResponseId, program: &str) -> Result<bool> {
        Ok(self.values(engine, id, program)?.iter().all(|value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        }))
    }

    /// Whether the one value of the query compares to `wanted`.
    ///
    /// # Errors
    /// Unknown or unfinished response, the query failed or gave not one value, a bad pattern.
    pub fn compare(
        &self,
        engine: &dyn QueryEngine,
        id: ResponseId,
        program: &str,
        comparison: Comparison,
        wanted: &str,
    ) -> Result<bool> {
        compare(&self.one_value(engine, id, program)?, comparison, wanted)
    }

    /// Whether the one value of the query has the type.
    ///
    /// # Errors
    /// Unknown or unfinished response, or the query failed or gave not one value.
    pub fn is_type(&self, engine: &dyn QueryEngine, id: ResponseId, program: &str, wanted: JsonType) -> Result<bool> {
        Ok(JsonType::of(&self.one_value(engine, id, program)?) == wanted)
    }

    /// Whether the query gives different values on the two responses.
    ///
    /// # Errors
    /// Unknown or unfinished response, or the query failed.
    pub fn changed(&self, engine: &dyn QueryEngine, a: ResponseId, b: ResponseId, program: &str) -> Result<bool> {
        Ok(self.values(engine, a, program)? != self.values(engine, b, program)?)
    }

    /// Returns those of the programs that do not give only true-ish values (neither `false` nor `null`, at least one).
    ///
    /// # Errors
    /// Unknown or unfinished response, or a query failed.
    pub fn unmet(&self, engine: &dyn QueryEngine, id: ResponseId, programs: &[String]) -> Result<Vec<String>> {
        if programs.is_empty() {
            return Err(bad("name at least one expectation, such as `.id != null`".to_owned()));
        }
        let mut unmet = Vec::new();
        for program in programs {
            let values = self.values(engine, id, program)?;
            let fits =
                !values.is_empty() && values.iter().all(|value| !matches!(value, Value::Null | Value::Bool(false)));
            unmet.extend((!fits).then(|| program.clone()));
        }
        Ok(unmet)
    }

    /// Logs what was asked.
    ///
    /// # Errors
    /// The database refused.
    pub fn log_ask(&self, ask: &Ask, at: Timestamp) -> Result<()> {
        let params = serde_json::to_string(ask);
        let params = params.map_err(|source| WorkspaceError::Encode { what: "a condition", source })?;
        self.transact("log the condition", |transaction| {
            NewCommand::local(CommandKind::Ask, params, at, None).append(transaction).map(drop)
        })
    }

    /// Whether a session with `endpoint` exists.
    ///
    /// # Errors
    /// The database refused.
    pub fn has_session(&self, endpoint: &str) -> Result<bool> {
        Ok(self.sessions()?.iter().any(|session| session.endpoint == endpoint))
    }

    /// Whether variable `name` is set.
    ///
    /// # Errors
    /// The database refused.
    pub fn has_var(&self, name: &str) -> Result<bool> {
        Ok(self.var_text(name)?.is_some())
    }

    /// Runs a program, unlogged, and reads its outputs.
    pub(crate) fn values(&self, engine: &dyn QueryEngine, id: ResponseId, program: &str) -> Result<Vec<Value>> {
        self.ask(engine, id, program)?
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<serde_json::Result<_>>()
            .map_err(|source| WorkspaceError::Encode { what: "the result of a query", source })
    }

    fn one_value(&self, engine: &dyn QueryEngine, id: ResponseId, program: &str) -> Result<Value> {
        let mut values = self.values(engine, id, program)?;
        match (values.pop(), values.len()) {
            (Some(value), 0) => Ok(value),
            (last, rest) => {
                let count = rest + usize::from(last.is_some());
                Err(WorkspaceError::NotOneValue { program: program.to_owned(), count })
            }
        }
    }
}

/// Whether a value compares to `wanted`.
///
/// # Errors
/// The two cannot be ordered, or a bad pattern.
pub fn compare(value: &Value, comparison: Comparison, wanted: &str) -> Result<bool> {
    match comparison {
        Comparison::Equal => Ok(equal(value, wanted)),
        Comparison::Greater => Ok(order(value, wanted)? == Ordering::Greater),
        Comparison::Less => Ok(order(value, wanted)? == Ordering::Less),
        Comparison::NotEqual => Ok(!equal(value, wanted)),
        Comparison::AtLeast => Ok(order(value, wanted)? != Ordering::Less),
        Comparison::AtMost => Ok(order(value, wanted)? != Ordering::Greater),
        Comparison::Matches => {
            let pattern = regex::RegexBuilder::new(wanted).size_limit(1 << 20).build();
            let pattern = pattern.map_err(|error| bad(format!("`{wanted}` is not a regular expression: {error}")))?;
            Ok(pattern.is_match(&text_of(value)))
        }
        Comparison::Contains => Ok(match value {
            Value::Array(items) => items.iter().any(|item| equal(item, wanted)),
            Value::Object(fields) => fields.contains_key(wanted),
            _ => text_of(value).contains(wanted),
        }),
    }
}

fn equal(value: &Value, wanted: &str) -> bool {
    if value.as_str() == Some(wanted) {
        return true;
    }
    let Ok(wanted) = serde_json::from_str::<Value>(wanted) else {
        return false;
    };
    match (value.as_f64(), wanted.as_f64()) {
        // `1` and `1.0` are the same number; two integers beyond 2^53 must not be compared as floats.
        (Some(left), Some(right)) if value.is_f64() || wanted.is_f64() => left == right,
        _ => value == &wanted,
    }
}

fn order(value: &Value, wanted: &str) -> Result<Ordering> {
    let unordered = || bad(format!("cannot order {} against `{wanted}`", JsonType::of(value).as_str()));
    match value {
        Value::Number(_) => {
            let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
            // As doubles, whole numbers from 2^53 on would be others.
            if let Some((left, right)) = whole.zip(wanted.trim().parse::<i128>().ok()) {
                return Ok(left.cmp(&right));
            }
            let wanted_number: f64 = wanted.trim().parse().map_err(|_not_a_number| unordered())?;
            value.as_f64().and_then(|left| left.partial_cmp(&wanted_number)).ok_or_else(unordered)
        }
        Value::String(text) => Ok(text.as_str().cmp(wanted)),
        _ => Err(unordered()),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn bad(message: String) -> WorkspaceError {
    WorkspaceError::BadCondition { message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_ask_is_logged_in_the_words_that_were_typed() {
        use Comparison::{AtLeast, AtMost, Contains, Equal, Greater, Less, Matches, NotEqual};
        let ask = |condition: &str, comparison: Option<&str>| {
            let mut ask = json!({"condition": condition, "response": 1, "programs": [".a"]});
            if let Some(word) = comparison {
                ask["comparison"] = json!(word);
            }
            ask["held"] = json!(true);
            ask
        };
        let words = [Equal, NotEqual, Greater, AtLeast, Less, AtMost, Matches, Contains].map(Comparison::as_str);
        let compared = words.map(|word| ask("compare", Some(word)));
        let plain = ["exists", "is-empty", "is-type", "expect", "newer", "is-error", "is-auth-error", "any-error"];
        let plain = plain.iter().chain(&["any-auth-error", "all-success", "changed"]).map(|word| ask(word, None));
        let plain: Vec<Value> = plain.collect();
        for logged in compared.iter().chain(&plain) {
            let read: Ask = serde_json::from_value(logged.clone()).unwrap();
            assert_eq!(read.condition.as_str(), logged["condition"]);
            assert_eq!(read.condition == AskKind::Other("newer".to_owned()), logged["condition"] == "newer");
            assert_eq!(read.comparison.map(Comparison::as_str), logged["comparison"].as_str());
            assert_eq!(serde_json::to_value(&read).unwrap(), *logged);
        }
        let newer: Ask = serde_json::from_value(ask("compare", Some("newer"))).unwrap();
        assert_eq!((newer.condition, newer.comparison), (AskKind::Compare, None));
    }

    #[test]
    fn comparisons_follow_the_table() {
        use Comparison::{Contains, Equal, Greater, Less, Matches};
        let rows = [
            (json!("open"), Equal, "open", true),
            (json!("open"), Equal, "\"open\"", true),
            (json!(3), Equal, "3", true),
            (json!(3), Equal, "3.0", true),
            (json!("3"), Equal, "3", true),
            (json!(true), Equal, "true", true),
            (json!(null), Equal, "null", true),
            (json!({"a": 1}), Equal, "{\"a\": 1}", true),
            (json!(3), Equal, "4", false),
            (json!(9_007_199_254_740_993_u64), Equal, "9007199254740993", true),
            (json!(9_007_199_254_740_993_u64), Equal, "9007199254740992", false),
            (json!(3), Greater, "2.5", true),
            (json!(3), Greater, "3", false),
            (json!("2026-02-01"), Greater, "2026-01-31", true),
            (json!(3), Less, "10", true),
            (json!("abc"), Matches, "^a.c$", true),
            (json!(42), Matches, "^4", true),
            (json!("abc"), Matches, "^b", false),
            (json!("abc"), Contains, "bc", true),
            (json!(["a", "b"]), Contains, "b", true),
            (json!([1, 2]), Contains, "2", true),
            (json!(["ab"]), Contains, "b", false),
            (json!({"id": 1}), Contains, "id", true),
        ];
        for (value, comparison, wanted, expected) in rows {
            assert_eq!(compare(&value, comparison, wanted).unwrap(), expected, "{value} {comparison:?} {wanted}");
        }
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        for (value, comparison, wanted, holds) in [
            (json!(3), Comparison::NotEqual, "3.0", false),
            (json!("a"), Comparison::NotEqual, "b", true),
            (json!(3), Comparison::AtLeast, "3", true),
            (json!(3), Comparison::AtLeast, "4", false),
            (json!(3), Comparison::AtMost, "3", true),
            (json!(9_007_199_254_740_993_i64), Comparison::Greater, "9007199254740992", true),
            (json!(u64::MAX), Comparison::Less, "18446744073709551616", true),
            (json!(3), Comparison::Less, "3.5", true),
            (json!("b"), Comparison::AtMost, "a", false),
        ] {
            assert_eq!(compare(&value, comparison, wanted).unwrap(), holds, "{value} {comparison:?} {wanted}");
        }
        assert!(compare(&json!(null), Comparison::AtLeast, "1").is_err());
        assert!(compare(&json!(null), Comparison::Greater, "1").is_err());
        assert!(compare(&json!(3), Comparison::Less, "soon").is_err());
        assert!(compare(&json!("a"), Comparison::Matches, "(").is_err());
        assert!("integer".parse::<JsonType>().is_err());
    }
}
