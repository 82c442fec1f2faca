//! What an author's code refers to changes its name or its shape when the contract does.

use serde_json::json;

use super::{both, excerpt, object, tool};

fn struct_of(fields: serde_json::Value) -> String {
    let (_, rust) = both(&[tool("POST", "pay", object(fields))]);
    excerpt(&rust, "pub struct PayArgs {")
}

#[test]
fn a_required_field_can_never_be_filled_by_default() {
    let derive = |fields| {
        let (_, rust) = both(&[tool("POST", "pay", object(fields))]);
        let at = rust.find("pub struct PayArgs {").unwrap();
        rust[..at].lines().last().unwrap().to_owned()
    };
    assert!(derive(json!({"amount": {"type": "integer"}})).contains("Default"));
    assert!(!derive(json!({"amount!": {"type": "integer"}})).contains("Default"));
    assert!(!derive(json!({"amount!": {"type": "integer"}, "note": {"type": "string"}})).contains("Default"));
}

#[test]
fn a_renamed_or_newly_required_argument_moves() {
    let before = struct_of(json!({"amount!": {"type": "integer"}, "note": {"type": "string"}}));
    assert!(before.contains("pub amount: i64") && !before.contains("pub note"));
    let renamed = struct_of(json!({"cents!": {"type": "integer"}, "note": {"type": "string"}}));
    assert!(!renamed.contains("pub amount") && renamed.contains("pub cents: i64"));
    let stricter = struct_of(json!({"amount!": {"type": "integer"}, "note!": {"type": "string"}}));
    assert!(stricter.contains("pub note: String"));
}

#[test]
fn a_schema_that_does_not_mention_further_fields_takes_none() {
    let open = json!({"type": "object", "properties": {"a": {}}});
    let (script, _) = both(&[tool("POST", "pay", open)]);
    assert!(!excerpt(&script, "export interface PayArgs").contains("[key: string]"));
}
