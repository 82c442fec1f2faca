//! Positions of the script back to the sources.

use expect_test::expect;
use proptest::prelude::proptest;

use super::bundled;
use crate::{MapError, Position, SourceMap};

const MAIN: &str = "#!/usr/bin/env rote
/**
 * @rote-frontmatter
 * ---
 * name: report
 * ---
 */
import { call } from \"@rote/sdk\";
import { check, type Row } from \"./lib/check.ts\";
import limits from \"./limits.json\";

interface Input { rows: Row[] }

export default async function report(input: Input): Promise<number> {
  const rows: Row[] = input.rows;
  for (const row of rows) {
    check(row, limits.max);
  }
  return call(\"sum\", { rows }) as number;
}
";
const CHECK: &str = "export interface Row { value: number }

export function check(row: Row, max: number): void {
  if (row.value > max) {
    throw new RangeError(`too large: ${row.value}`);
  }
}
";

fn golden() -> crate::Bundle {
    bundled(&[("main.ts", MAIN), ("lib/check.ts", CHECK), ("limits.json", "{ \"max\": 3 }\n")])
}

/// The 1-based place of a text in the script.
fn find(code: &str, text: &str) -> (u32, u32) {
    let at = code.find(text).unwrap();
    let line = code[..at].matches('\n').count() + 1;
    let column = at - code[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
    (u32::try_from(line).unwrap(), u32::try_from(column).unwrap())
}

#[test]
fn a_flow_of_several_files_is_one_script() {
    let bundle = golden();
    assert_eq!(bundle.modules, ["main.ts", "lib/check.ts", "limits.json"]);
    expect![[r#"
        (() => {
        "use strict";
        const __rote_m0 = { __proto__: null }, __rote_m1 = { __proto__: null }, __rote_m2 = { __proto__: null };
        const __rote_link = (exports, names) => { for (const [name, get] of names) Object.defineProperty(exports, name, { enumerable: true, get }); Object.preventExtensions(exports); };
        const __rote_modules = [
    "#]]
    .assert_eq(&bundle.code.split_inclusive('\n').take(5).collect::<String>());
    expect![[r#"
        // lib/check.ts
        function* () {
        __rote_link(__rote_m1, [["check", () => check], ]); yield;
        function check(row, max) {
        if (row.value > max) {
        throw new RangeError(`too large: ${row.value}`);
        }
        }
        },
        // limits.json
        function* () {
        __rote_link(__rote_m2, [["default", () => __rote_default], ]); yield;
        const __rote_default = JSON.parse("{ \"max\": 3 }");
        },
        // main.ts
        function* () {
        const __rote_i0 = __rote_sdk; const __rote_i1 = __rote_m1; const __rote_i2 = __rote_m2; __rote_link(__rote_m0, [["default", () => report], ]); yield;
        async function report(input) {
        const rows = input.rows;
        for (const row of rows) {
        (0, __rote_i1.check)(row, __rote_i2.default.max);
        }
        return (0, __rote_i0.call)("sum", { rows });
        }
        },
        ].map((module) => module());
        for (const module of __rote_modules) module.next();
        for (const module of __rote_modules) module.next();
        return __rote_m0;
        })();
    "#]].assert_eq(bundle.code.split_once("= [\n").unwrap().1);
}

#[test]
fn the_map_names_sources_and_holds_none() {
    let map: serde_json::Value = serde_json::from_str(&golden().map).unwrap();
    assert_eq!(map["version"], 3);
    assert_eq!(map["sources"], serde_json::json!(["main.ts", "lib/check.ts", "limits.json"]));
    assert!(map.get("sourcesContent").is_none());
}

#[test]
fn a_throw_is_found_in_its_file() {
    let bundle = golden();
    let map = SourceMap::parse(&bundle.map).unwrap();
    let (line, column) = find(&bundle.code, "throw new RangeError");
    let expected = Position { file: "lib/check.ts".into(), line: 5, column: 5 };
    assert_eq!(map.translate(line, column), Some(expected));
    let (line, column) = find(&bundle.code, "new RangeError");
    assert_eq!(map.translate(line, column), Some(Position { file: "lib/check.ts".into(), line: 5, column: 11 }));
    let (line, column) = find(&bundle.code, "(0, __rote_i1.check)");
    assert_eq!(map.translate(line, column), Some(Position { file: "main.ts".into(), line: 17, column: 5 }));
}

#[test]
fn a_stack_is_rewritten() {
    let bundle = golden();
    let map = SourceMap::parse(&bundle.map).unwrap();
    let (line, column) = find(&bundle.code, "new RangeError");
    let (call_line, call_column) = find(&bundle.code, "(0, __rote_i1.check)");
    let stack = format!(
        "RangeError: too large: 9\n    at check (rote:flow:{line}:{column})\n    at report (rote:flow:{call_line}:{call_column})\n    \
         at <eval> (rote:flow:1:1)\n    at x (rote:flow:99999:1) rote:flow:a rote:flow:4294967296:1 rote:flow:0:0"
    );
    expect![[r#"
        RangeError: too large: 9
            at check (lib/check.ts:5:11)
            at report (main.ts:17:5)
            at <eval> (rote:flow:1:1)
            at x (rote:flow:99999:1) rote:flow:a rote:flow:4294967296:1 rote:flow:0:0"#]]
    .assert_eq(&map.translate_text(&stack));
}

#[test]
fn lines_between_modules_have_no_source() {
    let bundle = golden();
    let map = SourceMap::parse(&bundle.map).unwrap();
    for (line, text) in bundle.code.lines().enumerate() {
        let found = map.translate(u32::try_from(line).unwrap() + 1, 1);
        let ours =
            text.contains("__rote_m") || text == "})();" || text.starts_with("//") || text.contains("JSON.parse");
        assert!(!ours || found.is_none(), "{text}: {found:?}");
    }
}

#[test]
fn a_foreign_map_is_read() {
    // From the source map specification's examples: one segment a line, the second without a source.
    let map = SourceMap::parse(
        r#"{"version":3,"file":"x","sources":["a.ts",null],"names":["n"],"mappings":"AAAA,GAAIA;C;;ECAA"}"#,
    )
    .unwrap();
    assert_eq!(map.translate(1, 4), Some(Position { file: "a.ts".into(), line: 1, column: 5 }));
    assert_eq!(map.translate(2, 5), None);
    assert_eq!(map.translate(3, 1), None);
    assert_eq!(map.translate(4, 9), Some(Position { file: String::new(), line: 1, column: 5 }));
}

#[test]
fn what_is_no_map_is_an_error() {
    let parse = |mappings: &str| {
        SourceMap::parse(&serde_json::json!({"version": 3, "sources": ["a"], "mappings": mappings}).to_string())
    };
    assert!(matches!(SourceMap::parse("{}"), Err(MapError::Json(_))));
    assert!(matches!(SourceMap::parse(r#"{"version":2,"sources":[],"mappings":""}"#), Err(MapError::Version(2))));
    for bad in ["AA", "A!", "g", "D", "AAAAAA", "ggggggggB", "AAAA;AAAA,AADA"] {
        assert!(matches!(parse(bad), Err(MapError::Mappings { .. })), "{bad}");
    }
    // A segment that points to a source that is not there is read and means nothing.
    assert_eq!(parse("AEAA").unwrap().translate(1, 1), None);
}

proptest! {
    #[test]
    fn any_map_is_read_or_refused(mappings in r"[A-Za-z0-9+/,;]{0,60}", line in 0_u32..9, column: u32, text in r"(rote:flow|:|[0-9]{1,12}|é| ){0,20}") {
        let json = serde_json::json!({"version": 3, "sources": ["a", "b"], "mappings": mappings}).to_string();
        if let Ok(map) = SourceMap::parse(&json) {
            map.translate(line, column);
            map.translate_text(&text);
        }
    }

    #[test]
    fn any_text_is_a_map_or_not(text in r#"[{}\[\]",:a-z0-9]{0,60}"#) {
        let _ = SourceMap::parse(&text);
    }
}
