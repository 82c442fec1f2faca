//! The calls that a build can compare with what is installed.

use super::bundled;

/// Each call as `line adapter/tool(arguments with their lines)`.
fn calls(files: &[(&str, &str)]) -> Vec<String> {
    let show = |call: &crate::LiteralCall| {
        let named = call.arguments.iter().map(|(name, at)| format!("{name}:{}", at.line)).collect::<Vec<_>>();
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
