//! Which tools get a function over pages.

use rote_types::Tool;
use serde_json::{Value, json};

use super::{both, tool};

fn listing(method: &str, fields: Value) -> Tool {
    let integers = ["page_n", "per_page", "limit", "offset", "PageSize", "Page"];
    let properties: serde_json::Map<String, Value> = fields
        .as_array()
        .unwrap()
        .iter()
        .map(|name| {
            let name = name.as_str().unwrap();
            let kind = if integers.contains(&name) { "integer" } else { "string" };
            (name.trim_end_matches("_n").to_owned(), json!({"type": kind}))
        })
        .collect();
    tool(method, "list", json!({"type": "object", "properties": properties}))
}

/// Returns the step of the page functions, in both languages.
fn step(tool: Tool) -> Option<(String, String)> {
    let (script, rust) = both(&[tool]);
    let line = |source: &str, mark: &str| {
        let line = source.lines().find(|line| line.contains(mark))?;
        line.split_once("args").map(|(_, rest)| rest.to_owned())
    };
    Some((line(&script, "yield* pagesBy")?, line(&rust, "Pages::new(")?))
}

#[test]
fn common_arguments_are_recognised() {
    for (fields, script) in [
        (json!(["page_n", "per_page"]), r#"options, "page", { by: "page", first: 1 }"#),
        (json!(["offset", "limit"]), r#"options, "offset", { by: "items", first: 0 }"#),
        (json!(["starting_after", "ending_before", "limit"]), r#"options, "starting_after", { by: "lastId" }"#),
        (json!(["pageToken"]), r#"options, "pageToken", { by: "cursor", at: ["next_page_token", "nextPageToken"] }"#),
        (json!(["continue", "limit"]), r#"options, "continue", { by: "cursor", at: ["metadata.continue"] }"#),
        (json!(["page"]), r#"options, "page", { by: "cursor", at: ["next_page", "nextPage"] }"#),
        (json!(["marker", "offset", "limit"]), r#"options, "offset", { by: "items", first: 0 }"#),
    ] {
        let (found, _) = step(listing("GET", fields.clone())).unwrap_or_else(|| panic!("{fields}"));
        assert!(found.contains(script), "{found}");
    }
    let (script, rust) = step(listing("GET", json!(["cursor", "page_n", "limit"]))).unwrap();
    assert!(script.contains("response_metadata.next_cursor") && rust.contains("Step::Cursor(&["), "{script} {rust}");
}

#[test]
fn what_is_not_clear_is_left_out() {
    for (method, fields) in [
        ("POST", json!(["page_n", "per_page"])),
        ("GET", json!(["page_n"])),
        ("GET", json!(["offset"])),
        ("GET", json!(["after", "before", "per_page"])),
        ("GET", json!(["Page", "PageSize", "PageToken"])),
        ("GET", json!(["continue"])),
        ("GET", json!(["limit"])),
    ] {
        assert_eq!(step(listing(method, fields.clone())), None, "{method} {fields}");
    }
    let mut required = listing("GET", json!(["cursor"]));
    required.input_schema["required"] = json!(["cursor"]);
    assert_eq!(step(required), None);
}

#[test]
fn the_first_page_is_the_default_of_the_description() {
    let mut zero_based = listing("GET", json!(["page_n", "per_page"]));
    zero_based.input_schema["properties"]["page"]["default"] = json!(0);
    let (script, rust) = step(zero_based).unwrap();
    assert!(script.contains("first: 0") && rust.contains("Step::Page(0)"));
}
