//! The calls that a build can compare with what is installed.

use super::bundled;

/// Each call as `line adapter/tool(arguments with their lines)`.
fn calls(files: &[(&str, &str)]) -> Vec<String> {
    let show = |call: &crate::LiteralCall| {
        let named = call.arguments.iter().map(|one| format!("{}:{}", one.name, one.at.line)).collect::<Vec<_>>();
        format!("{}:{} {}/{}({})", call.at.file, call.at.line, call.adapter, call.tool, named.join(" "))
    };
    bundled(files).calls.iter().map(show).collect()
}

#[test]
fn literal_calls_of_adapters_are_found_by_scope() {
    let main = r#"import { Rote } from "@rote/sdk";
import { other } from "./other.js";
function early() { return shop.call("orders_get", { id: 3 }); }
const shop = (await0().adapter("adapter/shop") as any);
export default async function run(p: { id: number }) {
  const rote = await Rote.workspace("run");
  const crm = rote.adapter(`crm`);
  crm.callBg("notes_list", {
    "contact id": 1, ...p, [other]: 2, limit: 3 } as object);
  rote.adapter("shop").call("orders_list", p);
  await shop.batchCall([{ tool: "a", arguments: { b: 1 } }, { tool_name: "c" }, { tool: other }]);
  const shadowed = (shop: any, crm: any) => [shop.call("x"), crm.call(other)];
  let changed = rote.adapter("shop"); changed = crm; changed.call("y");
  early.call("z"); shop.call(other, { q: 1 });
  return early() ?? shadowed;
}
function await0(): any { return undefined; }
"#;
    let other =
        "export const other = \"o\";\nexport const far = (a: any) => a.adapter(\"far\").call(\"go\", { at: 1 });\n";
    let found = calls(&[("main.ts", main), ("other.ts", other)]);
    let expected = [
        "main.ts:3 shop/orders_get(id:3)",
        "main.ts:8 crm/notes_list(contact id:9 limit:9)",
        "main.ts:10 shop/orders_list()",
        "main.ts:11 shop/a(b:11)",
        "main.ts:11 shop/c()",
        "other.ts:2 far/go(at:2)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn calls_of_functions_of_another_file_are_found_by_scope() {
    let main = r#"import { list as all, make } from "./lib/shop";
import * as shop from "./lib/shop.js";
import { Rote } from "@rote/sdk";
export default async function run(a: any) {
  await all(a, { limit: 3 } as any);
  shop.make<number>(a, { id: a.id });
  const inner = (make: any) => make(a, { hidden: 1 });
  make(a);
  return [inner, Rote.workspace("x")];
}
"#;
    let lib = "export const list = (a: any, b: object) => a; export const make = <T>(a: any, b?: object) => a;\n";
    let found = bundled(&[("main.ts", main), ("lib/shop.ts", lib)]).imported_calls;
    let show = |call: &crate::ImportedCall| {
        let named = call.arguments.iter().map(|one| format!("{}={:?}", one.name, one.value)).collect::<Vec<_>>();
        format!("{}:{} {} {}({})", call.at.file, call.at.line, call.specifier, call.function, named.join(" "))
    };
    assert_eq!(
        found.iter().map(show).collect::<Vec<_>>(),
        [
            "main.ts:5 ./lib/shop list(limit=Some(Number(3)))",
            "main.ts:6 ./lib/shop.js make(id=None)",
            "main.ts:8 ./lib/shop make()",
        ]
    );
}

#[test]
fn the_values_of_arguments_are_known_where_they_stand_there() {
    let main = r#"export default async function run(rote: any, p: { id: number }) {
  await rote.adapter("shop").call("a", {
    text: "x", template: `y`, whole: 4, less: -0.5, large: 1e30, no: null, yes: true as boolean,
    list: [1, "b", { c: [] }], made: `y${p.id}`, id: p.id, ...p, part: [1, p.id], open: { a: 1, ...p }, short: { p },
    missing: undefined, gap: [1, , 2], spread: [...[1]],
  });
}
"#;
    let files = bundled(&[("main.ts", main)]);
    let values = files.calls[0].arguments.iter().filter_map(|one| Some((one.name.as_str(), one.value.clone()?)));
    let values: serde_json::Map<String, serde_json::Value> =
        values.map(|(name, value)| (name.to_owned(), value)).collect();
    let expected = serde_json::json!({
        "text": "x", "template": "y", "whole": 4, "less": -0.5, "large": 1e30, "no": null, "yes": true,
        "list": [1, "b", {"c": []}],
    });
    assert_eq!(serde_json::Value::Object(values), expected);
}
