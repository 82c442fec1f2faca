//! Sources that are built.

use rote_types::{Classify, ErrorKind};

use super::support::Fixture;
use crate::error::AuthorError;
use crate::{BuildRequest, BuildSource, Built, FlowError};

/// A script that lists orders and reads one, with the text of each call.
async fn build(fixture: &Fixture, calls: &str) -> Result<Built, FlowError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.ts");
    let head = "/**\n * @rote-frontmatter\n * ---\n * name: read\n * description: Reads.\n * adapters:\n *   shop:\n\
                \x20*     tools: [orders_list, orders_get]\n * ---\n */\n";
    let text = format!(
        "{head}import {{ Rote }} from \"@rote/sdk\";\nexport default async function main(): Promise<void> {{\n\
         const shop = (await Rote.workspace(\"w\")).adapter(\"shop\");\n{calls}\n}}\n"
    );
    rote_home::write_durable(&path, text.as_bytes(), rote_home::FileMode::Private).unwrap();
    fixture.author().build(&BuildRequest { source: BuildSource::Script(path), output: None }).await
}

#[tokio::test]
async fn a_call_that_its_adapter_does_not_have_does_not_build() {
    let fixture = Fixture::new();
    let calls = "await shop.call(\"orders_gte\", { id: 3 });\nawait shop.call(\"orders_get\", { idd: 3 });\n\
                 await shop.call(\"orders_list\", { owner: \"me\", limit: 2 });";
    let error = build(&fixture, calls).await.unwrap_err();
    assert!(matches!(error, FlowError::Author(AuthorError::Calls { .. })), "{error}");
    let expected = "main.ts:14:17: adapter `shop` has no tool `orders_gte` (did you mean `orders_get` or `orders_list` or \
                    `orders_create`?)\n\
                    main.ts:15:33: `shop/orders_get`: `idd` is unknown (did you mean `id`?)\n\
                    main.ts:15:17: `shop/orders_get`: `id` is missing (integer)";
    assert_eq!((error.to_string().as_str(), error.kind()), (expected, ErrorKind::Conflict));
    assert!(build(&fixture, "await shop.call(\"orders_list\", { owner: \"me\", limit: 2 });").await.is_ok());
}

#[tokio::test]
async fn a_value_that_its_tool_does_not_take_does_not_build() {
    let fixture = Fixture::new();
    let calls = "const some = \"four\";\nawait shop.call(\"orders_list\", { owner: \"me\", limit: \"four\" });\n\
                 await shop.call(\"orders_get\", {\n id: [7] });\nawait shop.call(\"orders_list\", { owner: \"me\", limit: some });";
    let error = build(&fixture, calls).await.unwrap_err().to_string();
    let expected = "main.ts:15:47: `shop/orders_list`: `limit` is a string, expected `integer`\n\
                    main.ts:17:2: `shop/orders_get`: `id` is an array, expected `integer`\n\
                    main.ts:18:47: `shop/orders_list`: `limit` is a string, expected `integer`";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_call_without_what_its_tool_needs_does_not_build() {
    let fixture = Fixture::new();
    let calls = "const none = {};\nawait shop.call(\"orders_get\");\nawait shop.call(\"orders_get\", none);\n\
                 const more = { id: 1 };\nawait shop.call(\"orders_get\", more);\nawait shop.call(\"orders_get\", { ...more });";
    let error = build(&fixture, calls).await.unwrap_err().to_string();
    let expected = "main.ts:15:17: `shop/orders_get`: `id` is missing (integer)\n\
                    main.ts:16:17: `shop/orders_get`: `id` is missing (integer)";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_misspelt_adapter_does_not_build() {
    let fixture = Fixture::new();
    let calls = "const shpo = (await Rote.workspace(\"w\")).adapter(\"shpo\");\n\
                 await shpo.call(\"orders_get\", { id: 3 });\nawait shpo.call(\"orders_list\", {});";
    let error = build(&fixture, calls).await.unwrap_err().to_string();
    assert_eq!(error, "main.ts:14:50: the frontmatter does not name adapter `shpo` (did you mean `shop`?)");
}
