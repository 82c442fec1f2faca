//! `NAME=VALUE` words: one rule for all commands that take them.

use rote_testkit::{FakeApi, Script};
use serde_json::{Value, json};

use crate::home;

/// A flow of a test, whose parameters have the schema of the tool that it calls with them.
const SENDER: &str = r##"/**
 * @rote-frontmatter
 * ---
 * name: sender
 * description: Sends what it is given.
 * parameters: SCHEMA
 * adapters: {shop: {tools: [createNote]}}
 * write_permissions: [shop/createNote]
 * ---
 */
import { type Json, Rote } from "@rote/sdk";
export default async function main(params: { [name: string]: Json }): Promise<Json> {
  const rote = await Rote.workspace("sender");
  await rote.adapter("shop").call("createNote", params);
  return null;
}
"##;

#[test]
fn words_of_a_call_and_of_a_run_are_read_alike() {
    let home = home();
    let api = FakeApi::start(|_| Script::Json(200, json!({})));
    let id = json!({ "type": "integer" });
    let schema = |to: &str| {
        json!({ "type": "object", "properties": {
            "id": { "$ref": to }, "ids": { "type": "array", "items": { "$ref": to } },
            "either": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] }, "any": {}, "more": {},
        } })
    };
    let body = json!({ "content": { "application/json": { "schema": schema("#/components/schemas/id") } } });
    let create =
        json!({ "operationId": "createNote", "requestBody": body, "responses": { "200": { "description": "ok" } } });
    let document = json!({ "openapi": "3.1.0", "info": { "title": "Shop", "version": "1" },
        "components": { "schemas": { "id": &id } }, "paths": { "/notes": { "post": create } } });
    home.file("shop.json", document.to_string());
    let mut parameters = schema("#/$defs/id");
    parameters["$defs"] = json!({ "id": id });
    home.file("main.ts", SENDER.replace("SCHEMA", &parameters.to_string()));
    for words in [&["adapter", "new", "shop", "shop.json", "--base-url", &api.url()][..], &["flow", "build", "main.ts"]]
    {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    let call = |words: &[&str]| {
        let words = words.iter().flat_map(|word| ["-p", word]);
        home.rote(&["call", "shop", "createNote"].into_iter().chain(words).collect::<Vec<_>>())
    };
    let run = |words: &[&str]| home.rote(&[&["run", "sender"], words].concat());
    let words = ["id=7", "ids=1", "ids=[2,3]", "either=null", "any=5", "more=1.10"];
    for done in [call(&words), run(&words)] {
        assert_eq!(done.code, 0, "{done}");
    }
    let expected = json!({ "id": 7, "ids": [1, 2, 3], "either": null, "any": 5, "more": "1.10" });
    let sent: Vec<Value> = api.received().iter().map(|one| serde_json::from_slice(&one.body).unwrap()).collect();
    assert_eq!(sent, [expected.clone(), expected]);
    for (word, problem) in [
        ("id=3.0", "`id` must be integer, not `3.0`"),
        ("ids=x", "`ids` must be integer, not `x`"),
        ("either=7", "`either` must be boolean or null, not `7`"),
    ] {
        for refused in [call(&[word]), run(&[word])] {
            assert!(refused.code == 2 && refused.stderr.contains(problem), "{refused}");
        }
    }
    assert_eq!(api.received().len(), 2);
}
