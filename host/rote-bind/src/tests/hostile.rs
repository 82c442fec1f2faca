//! Descriptions that want out of their strings and comments.

use proptest::prelude::*;
use rote_types::Tool;
use serde_json::{Value, json};

use super::{both, manifest, rust_items, tool, typescript_statements};
use crate::{BindOptions, rust, text, typescript};

/// Text that ends things in one of the two languages, or hides.
const SHARP: &[&str] = &[
    "*/",
    "/*",
    "//",
    "\n",
    "\r",
    "\r\n",
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\\",
    "\"",
    "'",
    "`",
    "${evil()}",
    "\0",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\\u002a/",
    "\\\"",
    "```",
    "~~~",
    "    code",
    "@ts-ignore",
    "@ts-nocheck",
    "#![allow(x)]",
    "#[cfg(no)]",
    "</script>",
    "<!--",
    "-->",
    "<img src=x>",
    "}",
    "{",
    "];",
    "r#\"",
    "\"#",
    "\u{1f600}",
    "é",
    "*",
    "/",
    "\u{e0001}",
    "evil()",
    "__proto__",
    " ",
];

fn sharp() -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => prop::sample::select(SHARP).prop_map(str::to_owned), 1 => "\\PC{0,4}"];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A tool in which every foreign text is one of the given ones.
fn filled(texts: &[String]) -> Tool {
    let mut texts = texts.iter().cloned().cycle().enumerate().map(|(at, text)| (format!("{text}{at}"), text));
    let mut next = || texts.next().unwrap();
    let mut properties = serde_json::Map::new();
    let mut defs = serde_json::Map::new();
    let (definition, prose) = next();
    defs.insert(definition.clone(), json!({"type": "object", "title": prose, "properties": {next().0: {}}}));
    let reference = format!("#/$defs/{}", definition.replace('~', "~0").replace('/', "~1").replace('%', "%25"));
    let schemas: [Value; 5] = [
        json!({"$ref": reference}),
        json!({"enum": [next().0, next().0], "default": next().1, "format": next().1}),
        json!({"type": "object", "properties": {next().0: {"description": next().1}}, "required": [next().0]}),
        json!({"enum": [next().0, 1], "deprecated": true}),
        json!({"type": "array", "items": {"const": next().0}}),
    ];
    for mut schema in schemas {
        let (name, prose) = next();
        schema["description"] = json!(prose);
        properties.insert(name, schema);
    }
    let mut tool = tool("GET", "t", json!({"type": "object", "properties": properties, "$defs": defs}));
    (tool.name, tool.description) = next();
    tool.path = next().1;
    tool.toolset = next().1;
    tool
}

fn check(texts: &[String]) {
    let benign = filled(&["text".to_owned()]);
    let tool = filled(texts);
    let options = |tool: &Tool| BindOptions {
        tools: vec![tool.name.clone()],
        toolsets: vec![tool.toolset.clone()],
        header: Some(texts.concat()),
        answers: [(tool.name.clone(), tool.input_schema.clone())].into_iter().collect(),
    };
    let write = |tool: &Tool| {
        let (options, tools) = (options(tool), std::slice::from_ref(tool));
        let mut manifest = manifest(tools);
        manifest.server.name = texts.concat();
        let script = typescript(&manifest, tools, &options).unwrap();
        (script, rust(&manifest, tools, &options).unwrap())
    };
    let ((script, rust), (benign_script, benign_rust)) = (write(&tool), write(&benign));
    assert_eq!(typescript_statements(&script), typescript_statements(&benign_script), "{script}");
    assert_eq!(rust_items(&rust), rust_items(&benign_rust), "{rust}");
    for source in [&script, &rust] {
        let hidden = |c: &char| (c.is_control() && *c != '\n') || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}');
        assert_eq!(source.chars().find(hidden), None, "{source}");
        let comments = || source.lines().filter(|line| line.trim_start().starts_with(['/', '*']));
        // The first line is JSON for a program; nothing reads Markdown there.
        assert!(!comments().skip(1).any(|line| line.contains("```") || line.contains("~~~")), "{source}");
        assert!(!comments().any(|line| line.trim_start_matches([' ', '*', '/']).starts_with("@ts-")), "{source}");
        assert!(!comments().any(|line| line.starts_with("///     ")), "{source}");
    }
    assert_eq!(script.lines().filter(|line| line.starts_with("// rote:bindings ")).count(), 1);
}

#[test]
fn each_sharp_text_alone_stays_inside() {
    for text in SHARP {
        check(&[(*text).to_owned()]);
        check(&[format!("a {text}"), format!("{text}{text}/")]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_leaves_its_string_or_comment(texts in prop::collection::vec(sharp(), 1..8)) {
        check(&texts);
    }

    #[test]
    fn a_literal_means_the_text(text in any::<String>()) {
        prop_assert_eq!(&serde_json::from_str::<String>(&text::json(&text)).unwrap(), &text);
        prop_assert_eq!(syn::parse_str::<syn::LitStr>(&text::rust(&text)).unwrap().value(), text);
    }

    #[test]
    fn any_json_can_be_an_input_schema(schema in schema()) {
        both(&[tool("GET", "a", json!({"properties": {"a": schema.clone()}, "$defs": {"A": schema}}))]);
    }
}

/// Something like a schema, with references that may be circular.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"$ref": "#/$defs/A"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/A/items"})),
        Just(json!({"type": ["string", "null", "array"]})),
        Just(json!({"enum": ["a", null, 1, "A", true]})),
        Just(json!({"enum": []})),
        Just(json!({"const": {"a": 1}})),
        Just(json!(false)),
        Just(json!("schema")),
        Just(json!({"required": ["a", 7]})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"items": items})),
            inner.clone().prop_map(|more| json!({"type": "object", "additionalProperties": more})),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| json!({"anyOf": all})),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| json!({"allOf": all, "oneOf": all})),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"properties": {"a": a, "A": b}, "required": ["a", "z"]})),
        ]
    })
}

#[test]
fn deep_and_long_schemas_do_not_exhaust_the_stack() {
    let mut deep = json!({"type": "string"});
    for _ in 0..400 {
        deep = json!({"type": "array", "items": deep});
    }
    both(&[tool("GET", "a", json!({"properties": {"deep": deep}}))]);
    let mut chain = serde_json::Map::new();
    for at in 0..5_000 {
        chain.insert(format!("D{at}"), json!({"anyOf": [{"$ref": format!("#/$defs/D{}", at + 1)}, {"type": "null"}]}));
    }
    let (script, _) =
        both(&[tool("GET", "a", json!({"properties": {"first": {"$ref": "#/$defs/D0"}}, "$defs": chain}))]);
    assert!(script.contains("export type D4999 = "));
}
