//! Tests of the generated component's shape. That it runs is tested where a runtime is at hand.

use rote_request::Operation;
use wasmparser::{ComponentExternalKind, ComponentTypeRef, Parser, Payload, Validator, WasmFeatures};

use super::generate;

fn operation(name: &str, path_bytes: usize) -> Operation {
    Operation {
        name: name.to_owned(),
        method: "GET".to_owned(),
        base: None,
        path: format!("/{}", "p".repeat(path_bytes)),
        fixed_query: String::new(),
        parameters: Vec::new(),
        body: None,
        accept: "application/json".to_owned(),
        credentials: Vec::new(),
    }
}

/// The component's own imports, without the types that its world uses, and exports; nested modules and components
/// are skipped.
fn surface(component: &[u8]) -> (Vec<String>, Vec<(String, ComponentExternalKind)>) {
    let (mut imports, mut exports, mut depth) = (Vec::new(), Vec::new(), 0u32);
    for payload in Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                let imported = section.into_iter().map(Result::unwrap);
                let effective = imported.filter(|import| !matches!(import.ty, ComponentTypeRef::Type(_)));
                imports.extend(effective.map(|import| import.name.name.to_owned()));
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                exports.extend(section.into_iter().map(|export| {
                    let export = export.unwrap();
                    (export.name.name.to_owned(), export.kind)
                }));
            }
            _ => {}
        }
    }
    (imports, exports)
}

fn validate(component: &[u8]) {
    Validator::new_with_features(WasmFeatures::default()).validate_all(component).unwrap();
}

#[test]
fn a_component_validates_and_has_exactly_the_adapter_surface() {
    let component = generate(&[operation("list_pets", 4)]).unwrap();
    validate(&component);
    let (imports, exports) = surface(&component);
    assert_eq!(imports, ["rote:base/types@0.2.0", "rote:host/http@0.2.0", "rote:host/operations@0.2.0"]);
    let functions: Vec<_> = exports
        .iter()
        .filter(|(_, kind)| *kind == ComponentExternalKind::Func)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(functions, ["describe", "call"]);
    assert_eq!(exports.len(), functions.len(), "{exports:?}");
}

#[test]
fn an_adapter_without_operations_is_a_component() {
    validate(&generate(&[]).unwrap());
}

#[test]
fn a_table_of_five_megabytes_fits() {
    let operations: Vec<_> = (0..50).map(|number| operation(&format!("tool_{number}"), 100_000)).collect();
    let component = generate(&operations).unwrap();
    assert!(component.len() > 5_000_000);
    validate(&component);
}

#[test]
fn the_same_operations_give_the_same_bytes_in_any_order() {
    let (first, second) = (operation("a", 3), operation("b", 70_000));
    let expected = generate(&[first.clone(), second.clone()]).unwrap();
    assert_eq!(generate(&[first.clone(), second.clone()]).unwrap(), expected);
    assert_eq!(generate(&[second, first]).unwrap(), expected);
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let error = generate(&[operation("a", 1), operation("a", 2)]).unwrap_err();
    assert_eq!(error.to_string(), "cannot write the operation table");
}
