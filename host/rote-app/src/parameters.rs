//! Arguments from `name=value` words, typed by the tool's schema; files for the parameters of runs.
//!
//! A word becomes what the schema asks for ([`read_word`]), and so does the content of a file, except where the schema
//! takes files as such: there it goes with its name, in base64.
//! Validation against the schema comes later, in the adapter; here a value is only read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rote_types::{ErrorKind, Given, Tool, add_word, read_word, takes_file, types_of};
use serde_json::{Map, Value, json};

use crate::AppError;

/// What one `name=value` word gives.
#[derive(Debug, Clone)]
pub enum Content {
    /// A value that is written out.
    Given(Given),
    /// The content of a file.
    File { filename: String, bytes: Vec<u8> },
}

/// Adds `name=value` words to `arguments`. A repeated name makes an array where the schema has one; words that
/// are references stay as they are.
pub(crate) fn add(
    arguments: &mut Map<String, Value>,
    tool: &Tool,
    words: Vec<(String, Content)>,
    is_reference: &dyn Fn(&Value) -> bool,
) -> Result<(), AppError> {
    let schema = &tool.input_schema;
    for (name, word) in words {
        let property = &schema["properties"][&name];
        let refused = |problem: String| AppError::new(ErrorKind::Usage, format!("`{name}` {problem}"));
        let value = match word {
            Content::File { filename, bytes } => content(&name, &filename, bytes, schema, property)?,
            // What a reference stands for has a type of its own, which is known when it is filled in.
            Content::Given(Given::Typed(text)) if is_reference(&json!(text)) => json!(text),
            Content::Given(word) => {
                let value = word.read(schema, property).map_err(refused)?;
                match &word {
                    Given::Typed(text) if tool.spelled.contains(&name) => spelled(value, text),
                    _ => value,
                }
            }
        };
        add_word(arguments, schema, &name, value).map_err(refused)?;
    }
    Ok(())
}

/// A number as it was typed, where it would be written otherwise.
fn spelled(value: Value, text: &str) -> Value {
    match value {
        Value::Number(number) if number.to_string() != text => json!(text),
        Value::Array(items) if items.len() == 1 && items[0].is_number() && !text.starts_with('[') => {
            items.into_iter().map(|item| spelled(item, text)).collect()
        }
        other => other,
    }
}

/// Whether an argument takes a file, or several.
fn takes_files(root: &Value, schema: &Value) -> bool {
    takes_file(root, schema) || types_of(root, schema).contains(&"array") && takes_file(root, &schema["items"])
}

/// Refuses a text for an argument that takes a file when it is the name of one: the name would be sent as the content.
pub(crate) fn check_file_names(
    tool: &Tool,
    words: &[(String, Content)],
    is_file: &dyn Fn(&str) -> bool,
) -> Result<(), AppError> {
    let schema = &tool.input_schema;
    let forgotten = words.iter().find_map(|(name, word)| match word {
        Content::Given(Given::Typed(text)) => {
            (takes_files(schema, &schema["properties"][name]) && is_file(text)).then_some((name, text))
        }
        _ => None,
    });
    let Some((name, text)) = forgotten else {
        return Ok(());
    };
    let message = format!("`{name}` takes a file, and `{text}` is the name of one: its content is sent with `@`");
    let hint = format!("`{name}=@{text}` sends the file, `-f {name}={text}` the text itself");
    Err(AppError::new(ErrorKind::Usage, message).with_hint(hint))
}

/// Reads the content of a file as what the schema admits.
pub(crate) fn content(
    name: &str,
    filename: &str,
    bytes: Vec<u8>,
    root: &Value,
    schema: &Value,
) -> Result<Value, AppError> {
    if takes_file(root, schema) {
        return Ok(json!({ "base64": STANDARD.encode(bytes), "filename": filename }));
    }
    let types = types_of(root, schema);
    if types.contains(&"array") && takes_file(root, &schema["items"]) {
        return Ok(json!([{ "base64": STANDARD.encode(bytes), "filename": filename }]));
    }
    if schema["format"] == "byte" || schema["contentEncoding"] == "base64" {
        return Ok(json!(STANDARD.encode(bytes)));
    }
    let refused = |text: String| AppError::new(ErrorKind::Usage, text);
    let text =
        String::from_utf8(bytes).map_err(|_| refused(format!("`{name}` takes text, but `{filename}` is not UTF-8")))?;
    read_word(root, schema, &text)
        .map_err(|_| refused(format!("`{name}` must be {}, but `{filename}` holds something else", types.join(" or "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[(&str, &str)], expected: Value) {
        check_words(
            words.iter().map(|(name, text)| ((*name).to_owned(), Content::Given(Given::Typed((*text).to_owned())))),
            expected,
        );
    }

    fn check_file(name: &str, bytes: &[u8], expected: Value) {
        let word = Content::File { filename: "f.txt".to_owned(), bytes: bytes.to_owned() };
        check_words([(name.to_owned(), word)], expected);
    }

    fn check_words(words: impl IntoIterator<Item = (String, Content)>, expected: Value) {
        let words: Vec<_> = words.into_iter().collect();
        let schema = json!({
            "properties": {
                "ts": { "type": "number" }, "sizes": { "type": "array", "items": { "type": "number" } },
                "n": { "type": "integer" }, "f": { "type": "number" }, "b": { "type": "boolean" },
                "s": { "type": "string" }, "o": { "type": "object" },
                "list": { "type": "array", "items": { "type": "string" } },
                "ids": { "type": "array", "items": { "$ref": "#/$defs/id" } },
                "maybe": { "oneOf": [{ "type": "string" }, { "type": "null" }] },
                "any": {}, "byte": { "type": "string", "format": "byte" },
                "file": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/file" }] },
                "files": { "type": "array", "items": { "$ref": "#/$defs/file" } },
            },
            "$defs": {
                "id": { "type": "integer" },
                "file": { "type": "object", "properties": { "base64": {} }, "required": ["base64"] },
            },
        });
        let tool = json!({
            "name": "t", "method": "POST", "path": "/", "toolset": "t", "inputSchema": schema,
            "spelled": ["ts", "sizes"],
        });
        let tool: Tool = serde_json::from_value(tool).unwrap();
        let mut arguments = Map::new();
        let result = add(&mut arguments, &tool, words.clone(), &|value| value == "@1");
        let result = result.map_or_else(|error| json!(error.message), |()| Value::Object(arguments));
        assert_eq!(result, expected, "{words:?}");
    }

    #[test]
    fn words_become_what_the_schema_asks_for() {
        check(&[("n", "7"), ("f", "1.5"), ("b", "true")], json!({ "n": 7, "f": 1.5, "b": true }));
        check(&[("s", "7"), ("maybe", "null")], json!({ "s": "7", "maybe": null }));
        check(&[("o", r#"{"a":1}"#), ("any", "7"), ("new", "x")], json!({ "o": { "a": 1 }, "any": 7, "new": "x" }));
        check(&[("any", "1.10"), ("new", "true")], json!({ "any": "1.10", "new": true }));
        check(&[("list", "a"), ("list", "b")], json!({ "list": ["a", "b"] }));
        check(&[("n", "@1")], json!({ "n": "@1" }));
        check(&[("ids", "1"), ("ids", "[2,3]")], json!({ "ids": [1, 2, 3] }));
    }

    #[test]
    fn the_name_of_a_file_is_not_sent_as_its_content() {
        let content = json!({ "type": "object", "properties": { "base64": {} }, "required": ["base64"] });
        let file = json!({ "anyOf": [{ "type": "string" }, content] });
        let schema = json!({ "properties": {
            "file": file, "files": { "type": "array", "items": file }, "name": { "type": "string" },
        } });
        let tool = json!({ "name": "t", "method": "POST", "path": "/", "toolset": "t", "inputSchema": schema });
        let tool: Tool = serde_json::from_value(tool).unwrap();
        let checked = |name: &str, word: Given| {
            let words = [(name.to_owned(), Content::Given(word))];
            check_file_names(&tool, &words, &|text| text == "b.txt").map_err(|error| error.hint)
        };
        for name in ["file", "files"] {
            let hint = format!("`{name}=@b.txt` sends the file, `-f {name}=b.txt` the text itself");
            assert_eq!(checked(name, Given::Typed("b.txt".to_owned())), Err(Some(hint)));
            assert_eq!(checked(name, Given::Typed("hello".to_owned())), Ok(()));
            assert_eq!(checked(name, Given::Text("b.txt".to_owned())), Ok(()));
        }
        assert_eq!(checked("name", Given::Typed("b.txt".to_owned())), Ok(()));
    }

    #[test]
    fn a_number_that_goes_out_as_text_keeps_its_spelling() {
        check(&[("ts", "1503435956.000200")], json!({ "ts": "1503435956.000200" }));
        check(&[("ts", "1e3")], json!({ "ts": "1e3" }));
        check(&[("ts", "1.5")], json!({ "ts": 1.5 }));
        check(&[("ts", "soon")], json!("`ts` must be number, not `soon`"));
        check(&[("sizes", "1.50"), ("sizes", "2")], json!({ "sizes": ["1.50", 2] }));
        check(&[("f", "1.50")], json!({ "f": 1.5 }));
    }

    #[test]
    fn a_file_becomes_what_the_schema_asks_for() {
        check_file("s", b"a\nb\n", json!({ "s": "a\nb\n" }));
        check_file("s", b"{\"a\":1}\n", json!({ "s": "{\"a\":1}\n" }));
        check_file("o", b"{\"a\":1}\n", json!({ "o": { "a": 1 } }));
        check_file("ids", b"[1, 2]\n", json!({ "ids": [1, 2] }));
        check_file("any", b"[1]", json!({ "any": [1] }));
        check_file("byte", &[0, 255], json!({ "byte": "AP8=" }));
        check_file("file", b"x", json!({ "file": { "base64": "eA==", "filename": "f.txt" } }));
        check_file("files", b"x", json!({ "files": [{ "base64": "eA==", "filename": "f.txt" }] }));
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_by_name() {
        check_file("o", b"{\"a\":", json!("`o` must be object, but `f.txt` holds something else"));
        check_file("s", &[0, 255], json!("`s` takes text, but `f.txt` is not UTF-8"));
    }

    #[test]
    fn words_that_fit_nowhere_are_refused_by_name() {
        check(&[("n", "seven")], json!("`n` must be integer, not `seven`"));
        check(&[("n", "1.5")], json!("`n` must be integer, not `1.5`"));
        check(&[("s", "a"), ("s", "b")], json!("`s` is given twice, but is not a list"));
        check(&[("ids", "x")], json!("`ids` must be integer, not `x`"));
    }
}
