//! Bindings of small adapters, each parsed again by the parser of its language.

mod drift;
mod hostile;
mod paging;
mod shapes;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use rote_types::{Language, Manifest, Tool};
use serde_json::{Value, json};

use crate::{BindError, BindOptions, header_of, rust, typescript};

const FINGERPRINT: &str = "mcp_37Mm3hutvsZPz2Urk8RTEtadfZGN";
const DIGEST: &str = "2J6Tj8NLySEYVrWRHpoBi5iPEf3g";

/// An adapter with these tools.
fn manifest(tools: &[Tool]) -> Manifest {
    let digests: serde_json::Map<String, Value> = tools.iter().map(|tool| (tool.name.clone(), json!(DIGEST))).collect();
    serde_json::from_value(json!({
        "schema": 1, "id": "pets", "name": "Pets", "version": "0.1.0", "spec_type": "openapi31",
        "spec_version": "3.1.0", "spec_source": "pets.yaml", "server": {"name": "Pet store", "version": "1"},
        "fingerprint": FINGERPRINT, "tool_digests": digests, "auth": {}, "sensitivity_tier": "low",
        "component": {"bytes": 1, "sha256": format!("sha256:{}", "0".repeat(64))},
        "created_at": "2026-01-01T00:00:00Z",
    }))
    .unwrap()
}

fn tool(method: &str, name: &str, input_schema: Value) -> Tool {
    serde_json::from_value(json!({
        "name": name, "description": format!("Does {name}."), "method": method, "path": format!("/{name}"),
        "toolset": name.split('/').next(), "inputSchema": input_schema,
    }))
    .unwrap()
}

/// An object schema whose required fields end in `!`.
fn object(fields: Value) -> Value {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for (name, schema) in fields.as_object().unwrap() {
        let plain = name.trim_end_matches('!');
        if plain != name {
            required.push(plain);
        }
        properties.insert(plain.to_owned(), schema.clone());
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Binds every tool in both languages and parses what comes out.
fn both(tools: &[Tool]) -> (String, String) {
    let (manifest, options) = (manifest(tools), BindOptions::default());
    let typescript = typescript(&manifest, tools, &options).unwrap();
    let rust = rust(&manifest, tools, &options).unwrap();
    typescript_statements(&typescript);
    rust_items(&rust);
    (typescript, rust)
}

/// Parses and analyses TypeScript; returns the number of statements at the top.
fn typescript_statements(source: &str) -> usize {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::ts()).parse();
    assert!(!parsed.panicked && parsed.diagnostics.is_empty(), "{:?}\n{source}", parsed.diagnostics);
    let analysed = SemanticBuilder::new_compiler().build(&parsed.program);
    assert!(analysed.diagnostics.is_empty(), "{:?}\n{source}", analysed.diagnostics);
    parsed.program.body.len()
}

/// Parses Rust; checks that no name is declared twice; returns the number of items.
fn rust_items(source: &str) -> usize {
    let file = syn::parse_file(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let mut names = std::collections::HashSet::new();
    for item in &file.items {
        let (space, name) = match item {
            syn::Item::Struct(item) => ("type", &item.ident),
            syn::Item::Enum(item) => ("type", &item.ident),
            syn::Item::Type(item) => ("type", &item.ident),
            syn::Item::Fn(item) => ("value", &item.sig.ident),
            _ => continue,
        };
        assert!(names.insert((space, name.to_string())), "{name} twice\n{source}");
    }
    file.items.len()
}

/// The declaration that begins with `start`, up to its closing line.
fn excerpt(source: &str, start: &str) -> String {
    let at = source.find(start).unwrap_or_else(|| panic!("no `{start}` in\n{source}"));
    let end = source[at..].find("\n\n").map_or(source.len(), |end| at + end);
    source[at..end].trim_end().to_owned()
}

#[test]
fn the_same_input_gives_the_same_bytes_in_any_order_of_tools() {
    let schema = object(json!({"id!": {"type": "integer"}}));
    let mut tools = vec![tool("GET", "pets/get", schema.clone()), tool("DELETE", "pets/delete", schema)];
    let one = both(&tools);
    assert_eq!(one, both(&tools));
    tools.reverse();
    assert_eq!(one, both(&tools));
}

#[test]
fn the_header_says_how_to_write_the_file_again() {
    let tools = [tool("GET", "pets/get", json!({})), tool("GET", "shop/list", json!({}))];
    let options = BindOptions {
        tools: vec!["pets/get".to_owned()],
        toolsets: vec!["shop".to_owned()],
        header: Some("Licence: CC0\n// rote:bindings {\"fingerprint\":\"mcp_no\"}\r\u{2028}*/ evil()".to_owned()),
        ..BindOptions::default()
    };
    for (source, language) in [
        (typescript(&manifest(&tools), &tools, &options).unwrap(), Language::TypeScript),
        (rust(&manifest(&tools), &tools, &options).unwrap(), Language::Rust),
    ] {
        let header = header_of(&source).unwrap();
        assert_eq!((header.adapter.as_str(), header.lang), ("pets", language));
        assert_eq!((header.tools, header.toolsets), (options.tools.clone(), options.toolsets.clone()));
        assert_eq!(header_of(&format!("\u{feff}// A licence.\r\n{source}")).unwrap().fingerprint.as_str(), FINGERPRINT);
        assert!(source.contains("// Licence: CC0\n"));
    }
    typescript_statements(&typescript(&manifest(&tools), &tools, &options).unwrap());
    rust_items(&rust(&manifest(&tools), &tools, &options).unwrap());
}

#[test]
fn a_file_without_a_well_formed_header_has_no_fingerprint() {
    let bad = |fingerprint: &str| {
        format!(
            "// rote:bindings {{\"version\":1,\"adapter\":\"a\",\"fingerprint\":\"{fingerprint}\",\"lang\":\"ts\"}}"
        )
    };
    for source in ["", "export const fingerprint = \"mcp_x\";", "// rote:bindings {", &bad("mcp_"), &bad("mcp_0OIl")] {
        assert!(header_of(source).is_none(), "{source}");
    }
    assert!(header_of(&bad(FINGERPRINT)).is_some());
    assert!(header_of(&bad(FINGERPRINT).replace("\"version\":1", "\"version\":2")).is_none());
}

#[test]
fn a_choice_is_bound_alone_and_a_wrong_one_refused() {
    let tools = [tool("GET", "pets/get", json!({})), tool("GET", "shop/list", json!({}))];
    let chosen = |names: &[&str], sets: &[&str]| {
        let owned = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        let options = BindOptions { tools: owned(names), toolsets: owned(sets), ..BindOptions::default() };
        typescript(&manifest(&tools), &tools, &options)
    };
    let one = chosen(&[], &["shop"]).unwrap();
    assert!(one.contains("function shopList") && !one.contains("function petsGet"));
    assert!(matches!(chosen(&["gone"], &[]), Err(BindError::UnknownTool { tool, .. }) if tool == "gone"));
    assert!(matches!(chosen(&[], &["gone"]), Err(BindError::UnknownToolset { .. })));
}

#[test]
fn a_damaged_package_is_refused() {
    let tools = [tool("GET", "get", json!({}))];
    let options = BindOptions::default();
    let mut damaged = manifest(&tools);
    damaged.fingerprint.0 = "mcp_\"; evil(); \"".to_owned();
    assert!(matches!(typescript(&damaged, &tools, &options), Err(BindError::Fingerprint { .. })));
    let mut damaged = manifest(&tools);
    damaged.tool_digests.values_mut().for_each(|digest| digest.0 = "*/".to_owned());
    assert!(matches!(rust(&damaged, &tools, &options), Err(BindError::Digest { .. })));
    let twice = [tools[0].clone(), tools[0].clone()];
    assert!(matches!(typescript(&manifest(&twice), &twice, &options), Err(BindError::DuplicateTool { .. })));
}

#[test]
fn names_do_not_depend_on_what_else_was_chosen() {
    let tools: Vec<Tool> =
        ["a-b", "a_b", "delete", "Delete", "9lives", "adapter"].map(|name| tool("GET", name, json!({}))).into();
    let (script, _) = both(&tools);
    for name in ["aB<", "aB2<", "delete_<", "delete_2<", "_9lives<", "adapter_<"] {
        assert!(script.contains(&format!("function {name}")), "{name}\n{script}");
    }
    let options = BindOptions { tools: vec!["a_b".to_owned()], ..BindOptions::default() };
    let alone = typescript(&manifest(&tools), &tools, &options).unwrap();
    assert_eq!(excerpt(&alone, "export function aB2"), excerpt(&script, "export function aB2"));
}

#[test]
fn every_reserved_word_can_name_a_tool_and_a_field() {
    let words = crate::rust::RESERVED_VALUES.iter().chain(crate::typescript::RESERVED_VALUES);
    let words: std::collections::BTreeSet<&str> = words.copied().chain(["Self", "Option", "constructor"]).collect();
    let fields: serde_json::Map<String, Value> = words.iter().map(|word| ((*word).to_owned(), json!({}))).collect();
    let schema = json!({"type": "object", "properties": fields, "required": ["type", "fn", "new"]});
    let tools: Vec<Tool> = words.iter().map(|word| tool("GET", word, schema.clone())).collect();
    both(&tools);
}
