//! The calls that a build can compare with what is installed.

use super::bundled;

/// Each call as `line adapter/tool(arguments with their lines)`.
fn calls(files: &[(&str, &str)]) -> Vec<String> {
    let show = |call: &crate::LiteralCall| {
        let named = call.arguments.named.iter().map(|one| format!("{}:{}", one.name, one.at.line)).collect::<Vec<_>>();
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
        let named = call.arguments.named.iter().map(|one| format!("{}={:?}", one.name, one.value)).collect::<Vec<_>>();
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
    let values = files.calls[0].arguments.named.iter().filter_map(|one| Some((one.name.as_str(), one.value.clone()?)));
    let values: serde_json::Map<String, serde_json::Value> =
        values.map(|(name, value)| (name.to_owned(), value)).collect();
    let expected = serde_json::json!({
        "text": "x", "template": "y", "whole": 4, "less": -0.5, "large": 1e30, "no": null, "yes": true,
        "list": [1, "b", {"c": []}],
    });
    assert_eq!(serde_json::Value::Object(values), expected);
}

#[test]
fn arguments_that_a_const_holds_are_those_of_the_call_unless_something_else_has_them() {
    let main = r#"import { connect } from "./lib/shop";
import * as shop from "./lib/shop.ts";
const limit = 4, kind: string = "all", list = [1];
export default async function run(rote: any, p: object) {
  const args = { limit, kind, list, none: null };
  const changed = { limit }, shown = { limit };
  changed.limit = 5; console.log(shown);
  let other = { limit };
  const t = connect(rote), pinned = rote.adapter("crm").withFingerprint("x");
  t.call("a", args); pinned.call("b", args);
  pinned.call("c", changed); pinned.call("d", shown); pinned.call("e", other);
  shop.connect(rote).callBg("f"); pinned.call("g", { limit, ...p }); pinned.call("h", ...[p]);
  pinned.batchCall([{ tool: "i", arguments: args }, { tool: "j" }, { tool: "k", ...p }]);
}
"#;
    let lib = "export const connect = (rote: any) => rote.adapter('shop');\n";
    let bundle = bundled(&[("main.ts", main), ("lib/shop.ts", lib)]);
    let given = |arguments: &crate::LiteralArguments| {
        let one = |one: &crate::LiteralArgument| match &one.value {
            Some(value) => format!("{}={value}", one.name),
            None => format!("{}=?", one.name),
        };
        let more = (!arguments.whole).then(|| "…".to_owned());
        arguments.named.iter().map(one).chain(more).collect::<Vec<_>>().join(" ")
    };
    let tools = bundle.calls.iter().map(|call| format!("{}/{}({})", call.adapter, call.tool, given(&call.arguments)));
    let expected = [
        "crm/b(limit=4 kind=\"all\" list=? none=null)",
        "crm/c(…)",
        "crm/d(…)",
        "crm/e(…)",
        "crm/g(limit=4 …)",
        "crm/h(…)",
        "crm/i(limit=4 kind=\"all\" list=? none=null)",
        "crm/j()",
        "crm/k(…)",
    ];
    assert_eq!(tools.collect::<Vec<_>>(), expected);
    let imported = bundle.imported_calls.iter().filter_map(|call| {
        Some(format!("{} {}/{}({})", call.specifier, call.function, call.tool.as_ref()?, given(&call.arguments)))
    });
    let expected = ["./lib/shop connect/a(limit=4 kind=\"all\" list=? none=null)", "./lib/shop.ts connect/f()"];
    assert_eq!(imported.collect::<Vec<_>>(), expected);
}
