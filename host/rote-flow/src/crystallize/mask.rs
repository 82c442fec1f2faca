//! What a person made a secret parameter is not kept: in the recording that the flow is replayed with, in what is said of
//! the flow and in its review, another text stands for it.

use rote_workspace::schema_of;
use serde_json::{Map, Number, Value};

use super::request::CrystallizeRequest;
use crate::question::{Dropped, Note, Question};
use crate::recording::{ExchangeOutcome, RecordedBody, RecordedExchange};

/// Shortest secret that is looked for anywhere inside longer text; a shorter one has to be a word of it.
const MIN_INSIDE: usize = 8;

/// The secrets and what stands for each, the longest first: one may be a part of another.
#[derive(Debug, Default)]
pub(crate) struct Masks(Vec<Mask>);

#[derive(Debug)]
struct Mask {
    secret: String,
    placeholder: String,
}

impl Masks {
    /// Makes them of secrets and what stands for each.
    pub(crate) fn of(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mask = |(secret, placeholder)| Mask { secret, placeholder };
        let mut masks: Vec<Mask> = secrets.into_iter().map(mask).filter(|mask| !mask.secret.is_empty()).collect();
        masks.sort_by_key(|mask| std::cmp::Reverse(mask.secret.len()));
        Self(masks)
    }

    /// Puts the placeholders into what the flow is replayed with.
    pub(crate) fn recording(&self, calls: &mut [RecordedExchange], recorded: &mut Value) {
        self.value(recorded);
        for call in calls {
            self.value(&mut call.arguments);
            match &mut call.outcome {
                ExchangeOutcome::Answered { body: RecordedBody::Json(text), .. } => *text = self.json(text),
                // JSON under another media type is text here.
                ExchangeOutcome::Answered { body: RecordedBody::Text(text), .. } => *text = self.text(&self.json(text)),
                _ => {}
            }
        }
    }

    /// Puts them into what is asked and said; ids and places stay.
    pub(crate) fn said(&self, questions: &mut [Question], notes: &mut [Note], left_out: &mut [Dropped]) {
        for question in questions {
            self.put(&mut question.ask);
            self.put(&mut question.taken);
            for evidence in &mut question.evidence {
                self.put(&mut evidence.what);
                evidence.jq.iter_mut().for_each(|jq| self.put(jq));
                self.value(&mut evidence.value);
            }
            for answer in &mut question.answers {
                [&mut answer.word, &mut answer.means, &mut answer.flag].into_iter().for_each(|text| self.put(text));
            }
        }
        for note in notes {
            self.put(&mut note.text);
            note.undo.iter_mut().for_each(|flag| self.put(flag));
        }
        left_out.iter_mut().for_each(|one| self.put(&mut one.reason));
    }

    /// Puts them into what was asked for.
    pub(crate) fn request(&self, request: &mut CrystallizeRequest) {
        let params = request.params.iter_mut().flat_map(|spec| [spec.value.as_mut(), spec.description.as_mut()]);
        let answers = request.answers.values_mut();
        params.flatten().chain(&mut request.description).chain(answers).for_each(|text| self.put(text));
    }

    /// Puts them into a value.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.put(text),
            Value::Array(items) => items.iter_mut().for_each(|inner| self.value(inner)),
            Value::Object(members) => {
                members.values_mut().for_each(|inner| self.value(inner));
                if members.keys().any(|key| self.key(key) != *key) {
                    let old = std::mem::take(members);
                    *members = old.into_iter().map(|(key, inner)| (self.key(&key), inner)).collect::<Map<_, _>>();
                }
            }
            Value::Number(number) => {
                if let Some(other) = self.number(&number.to_string()) {
                    *number = other;
                }
            }
            _ => {}
        }
    }

    /// What stands for a number that is a secret.
    fn number(&self, text: &str) -> Option<Number> {
        let mask = self.0.iter().find(|mask| mask.secret == text)?;
        serde_json::from_str(&number_for(&mask.secret)).ok()
    }

    /// Returns a text in which the placeholders stand.
    pub(crate) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, mask| mask.text(&text))
    }

    fn put(&self, text: &mut String) {
        *text = self.text(text);
    }

    /// The name of a member: a word such as `password` is one whatever the password is.
    fn key(&self, key: &str) -> String {
        let told = self
            .0
            .iter()
            .filter(|mask| mask.secret.len() >= MIN_INSIDE && mask.secret.contains(|c: char| c.is_ascii_digit()));
        told.fold(key.to_owned(), |key, mask| mask.text(&key))
    }

    /// A JSON text, as it came but for the strings that hold a secret, however they are spelled.
    fn json(&self, body: &str) -> String {
        let mut masked = String::with_capacity(body.len());
        let mut rest = body;
        while let Some(start) = rest.find('"') {
            let Some(length) = string_length(&rest[start..]) else { break };
            let (token, behind) = rest[start..].split_at(length);
            masked.push_str(&self.between(&rest[..start]));
            let is_key = behind.trim_start().starts_with(':');
            let read = serde_json::from_str::<String>(token).ok();
            let new = read.map(|text| (if is_key { self.key(&text) } else { self.text(&text) }, text));
            match new {
                Some((new, old)) if new != old => masked.push_str(&Value::from(new).to_string()),
                _ => masked.push_str(token),
            }
            rest = behind;
        }
        masked + &self.between(rest)
    }

    /// What stands between the strings of a JSON text.
    fn between(&self, text: &str) -> String {
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | '[' | ']' | '{' | '}');
        let piece = |piece: &str| {
            let word = piece.trim_end_matches(ends);
            let other = self.number(word).map(|other| format!("{other}{}", &piece[word.len()..]));
            other.unwrap_or_else(|| piece.to_owned())
        };
        text.split_inclusive(ends).map(piece).collect()
    }
}

/// The number that stands for a secret one, of as many digits: a schema says how many there are.
pub(crate) fn number_for(secret: &str) -> String {
    let all = |digit: char| secret.chars().map(|c| if c.is_ascii_digit() { digit } else { c }).collect::<String>();
    Some(all('1')).filter(|other| other != secret).unwrap_or_else(|| all('2'))
}

/// The length of the JSON string that a text begins with, quotes included.
fn string_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some(end + 2)
}

impl Mask {
    fn text(&self, text: &str) -> String {
        if self.secret.len() >= MIN_INSIDE {
            return text.replace(&self.secret, &self.placeholder);
        }
        let mut masked = String::with_capacity(text.len());
        let mut done = 0;
        for (at, secret) in text.match_indices(&self.secret) {
            let end = at + secret.len();
            let inside = text[..at].ends_with(char::is_alphanumeric) || text[end..].starts_with(char::is_alphanumeric);
            if !inside {
                masked.push_str(&text[done..at]);
                masked.push_str(&self.placeholder);
                done = end;
            }
        }
        masked + &text[done..]
    }
}

/// The schema of a recorded answer, without what stood in it.
pub(crate) fn shape_of(recorded: &Value) -> Value {
    let mut schema = schema_of(recorded);
    forget(&mut schema);
    schema
}

fn forget(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    members.shift_remove("examples");
    for (key, inner) in members {
        match inner {
            Value::Object(keys) if key == "keys" => keys.values_mut().for_each(forget),
            Value::Array(several) => several.iter_mut().for_each(forget),
            one => forget(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_spelling_and_the_rest_stays_as_it_came() {
        let masks = Masks::of([
            ("a/b-12345".to_owned(), "***".to_owned()),
            ("k7".to_owned(), "**".to_owned()),
            ("483920".to_owned(), "111111".to_owned()),
        ]);
        for (body, masked) in [
            (r#"{"x" : "a\/b-12345", "n": 1.50e2}"#, r#"{"x" : "***", "n": 1.50e2}"#),
            (r#"["\u0061/b-12345!", "a\"k7\"", "\"k7x"]"#, r#"["***!", "a\"**\"", "\"k7x"]"#),
            (r#"{"a/b-12345": "k7", "k7": 18446744073709551616}"#, r#"{"***": "**", "k7": 18446744073709551616}"#),
            (r#"{"open": "a"#, r#"{"open": "a"#),
            (r#"{"pin" : 483920, "all": [483920,1483920]}"#, r#"{"pin" : 111111, "all": [111111,1483920]}"#),
        ] {
            assert_eq!(masks.json(body), masked, "{body}");
        }
        assert_eq!(masks.text("key=k7\nxk7 a/b-12345"), "key=**\nxk7 ***");
    }
}
