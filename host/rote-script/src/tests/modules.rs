//! Imports, exports, and how modules are put together.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect;

use super::{bundled, report};

#[test]
fn one_module_is_a_script_whose_value_is_its_exports() {
    let bundle = bundled(&[("main.ts", "export default function (): number { return 1; }\nexport const a = 1;\n")]);
    assert_eq!(bundle.modules, ["main.ts"]);
    expect![[r#"
        (() => {
        "use strict";
        const __rote_m0 = { __proto__: null };
        const __rote_link = (exports, names) => { for (const [name, get] of names) Object.defineProperty(exports, name, { enumerable: true, get }); Object.preventExtensions(exports); };
        const __rote_modules = [
        // main.ts
        function* () {
        __rote_link(__rote_m0, [["a", () => a], ["default", () => __rote_default], ]); yield;
        function __rote_default() {
        return 1;
        }
        const a = 1;
        },
        ].map((module) => module());
        for (const module of __rote_modules) module.next();
        for (const module of __rote_modules) module.next();
        return __rote_m0;
        })();
    "#]]
    .assert_eq(&bundle.code);
}

#[test]
fn imported_names_are_read_at_each_use() {
    let code = bundled(&[
        ("main.ts", "import d, { a as b, type T } from './lib/a';\nimport * as all from './lib/a.ts';\nexport const run = (t: T) => [b, { b }, b(t), b`x`, b?.(1), d.b, all.a, all, new b(), class extends b {}];"),
        ("lib/a.ts", "export let a = 1; export type T = string; export default { b: 1 };"),
    ])
    .code;
    assert!(code.contains("const __rote_i0 = __rote_m1; const __rote_i1 = __rote_m1;"), "{code}");
    let body = code.split_once("const run = ").unwrap().1.split_once(";\n},").unwrap().0.replace('\n', " ");
    expect!["(t) => [ __rote_i0.a, { b: __rote_i0.a }, (0, __rote_i0.a)(t), (0, __rote_i0.a)`x`, (0, __rote_i0.a)?.(1), __rote_i0.default.b, __rote_i1.a, __rote_i1, new __rote_i0.a(), class extends __rote_i0.a {} ]"].assert_eq(&body);
}

#[test]
fn a_local_name_hides_an_import() {
    let code = bundled(&[
        ("main.ts", "import { a } from './a.ts';\nexport const run = (a) => { { let a = 1; a; } return a; };\nexport const b = a;"),
        ("a.ts", "export const a = 1;"),
    ])
    .code;
    assert_eq!(code.matches("__rote_i0.a").count(), 1, "{code}");
}

#[test]
fn the_sdk_is_a_global() {
    let code = bundled(&[(
        "main.ts",
        "import sdk, { call, type Options } from '@rote/sdk';\nimport * as all from '@rote/sdk';\n\
         export { query, default as whole } from '@rote/sdk';\nexport const run = (o: Options) => [call(o), sdk, all.x];",
    )])
    .code;
    assert!(code.contains("const __rote_i0 = __rote_sdk;"), "{code}");
    assert!(code.contains("(0, __rote_i0.call)(o)"), "{code}");
    assert!(code.contains(r#"["query", () => __rote_sdk["query"]]"#), "{code}");
    assert!(code.contains(r#"["whole", () => __rote_sdk]"#), "{code}");
    assert!(!code.contains("import"), "{code}");
}

#[test]
fn specifiers_find_files() {
    let main = "import './a'; import './b.ts'; import './c.js'; import './d/index.ts'; import './e'; import './f/'; \
                import './g.mjs'; import './h.js'; import './i.x'; export const run = () => 1;";
    let empty = ["a.ts", "b.ts", "c.ts", "d/index.ts", "e/index.ts", "f/index.js", "g.mts", "h.js", "i.x.ts"];
    let mut files: Vec<(&str, &str)> = empty.iter().map(|path| (*path, "")).collect();
    files.push(("main.ts", main));
    let mut modules = bundled(&files).modules;
    assert_eq!(modules.remove(0), "main.ts");
    assert_eq!(modules, empty);
}

#[test]
fn a_file_is_one_module_however_it_is_named() {
    let bundle = bundled(&[
        ("main.ts", "import './lib/a.ts'; import './lib/../lib/a'; export const run = () => 1;"),
        ("lib/a.ts", "import '../main.ts';"),
    ]);
    assert_eq!(bundle.modules, ["main.ts", "lib/a.ts"]);
}

#[test]
fn json_is_a_default_export_and_never_code() {
    let code = bundled(&[
        ("main.ts", "import data from './data.json' with { type: 'json' };\nexport const run = () => data.a;"),
        ("data.json", "{\"a\": 5, \"__proto__\": \"\u{2028}\"}\n"),
    ])
    .code;
    assert!(code.contains("JSON.parse(\"{\\\"a\\\": 5, "), "{code}");
    assert!(code.contains("__rote_i0.default.a"), "{code}");
}

#[test]
fn type_only_imports_vanish_whatever_they_name() {
    let bundle = bundled(&[(
        "main.ts",
        "import type { A } from 'npm-package';\nimport { type B } from './missing';\nimport { C } from 'https://x.y/z.ts';\n\
         export type { D } from 'node:fs';\nexport type * from 'other';\ntype E = import('typescript').Node;\n\
         export const run = (c: C) => c;",
    )]);
    assert_eq!(bundle.modules, ["main.ts"]);
}

#[test]
fn a_reexported_type_is_left_out() {
    let code = bundled(&[
        ("main.ts", "import { T } from './t.ts';\nexport { T };\nexport { T as U, v } from './t.ts';\nexport const run = () => 1;"),
        ("t.ts", "export interface T {}\nexport const v = 1;"),
    ])
    .code;
    assert!(code.contains(r#"__rote_link(__rote_m0, [["run", () => run], ["v", () => __rote_m1["v"]], ]);"#), "{code}");
}

#[test]
fn star_exports_are_resolved_by_name() {
    let code = bundled(&[
        ("main.ts", "export * from './a.ts';\nexport * from './b.ts';\nexport * as ns from './a.ts';\nexport const mine = 1;\nexport const run = () => 1;"),
        ("a.ts", "export const one = 1, both = 1, mine = 2;\nexport default 1;\nexport * from './b.ts';"),
        ("b.ts", "export const two = 1;\nexport const both = 2;\nexport * from './a.ts';"),
    ])
    .code;
    let names = r#"[["mine", () => mine], ["ns", () => __rote_m1], ["one", () => __rote_m1["one"]], ["run", () => run], ["two", () => __rote_m2["two"]], ]"#;
    assert!(code.contains(names), "{code}");
}

#[test]
fn modules_run_after_what_they_import() {
    let code = bundled(&[
        ("main.ts", "import './a.ts'; import './b.ts'; export const run = () => 1;"),
        ("a.ts", "import './c.ts'; import './main.ts';"),
        ("b.ts", "import './a.ts';"),
        ("c.ts", "import './b.ts';"),
    ])
    .code;
    let order: Vec<&str> = code.lines().filter_map(|line| line.strip_prefix("// ")).collect();
    assert_eq!(order, ["b.ts", "c.ts", "a.ts", "main.ts"]);
}

#[test]
fn every_form_of_export_is_one() {
    let code = bundled(&[(
        "main.ts",
        "export const { a, b: [c, ...d], ...e } = x; export class F {} export async function* g() {} \
         export enum H { A } const i = 1; export { i as 'a name', i as j }; export default i; export const run = () => 1;",
    )]);
    let head = code.code.lines().find(|line| line.starts_with("__rote_link(__rote_m0")).unwrap();
    for name in ["F", "H", "a", "a name", "c", "d", "default", "e", "g", "j"] {
        assert!(head.contains(&format!("[\"{name}\", ")), "{name}: {head}");
    }
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    let files = [
        ("main.ts", "import { z } from './z.ts'; import { y } from './y.ts'; export const run = () => [y, z];"),
        ("z.ts", "export const z = 1;"),
        ("y.ts", "import './z.ts'; export const y = 1;"),
    ];
    assert_eq!(bundled(&files), bundled(&files));
}

#[test]
fn names_that_are_not_exported_are_found() {
    let lib = ("lib.ts", "export const real = 1;\nexport type T = 1;");
    let main = |text: &'static str| report(&[("main.ts", text), lib]);
    expect![[r#"
        `main.ts:1:10`: `lib.ts` exports no `unreal`
        import { unreal } from './lib.ts'; export const run = () => unreal;
                 ^"#]]
    .assert_eq(&main("import { unreal } from './lib.ts'; export const run = () => unreal;"));
    expect![[r#"
        `main.ts:1:8`: `lib.ts` has no default export
        import lib from './lib.ts'; export const run = () => lib;
               ^"#]]
    .assert_eq(&main("import lib from './lib.ts'; export const run = () => lib;"));
    expect![[r#"
        `main.ts:1:10`: `lib.ts` exports no `unreal`
        export { unreal } from './lib.ts'; export const run = 1;
                 ^"#]]
    .assert_eq(&main("export { unreal } from './lib.ts'; export const run = 1;"));
    expect![[r#"
        `main.ts:1:10`: `lib.ts` exports `T` as a type only; write `import type { T }`
        import { T } from './lib.ts'; export const run = () => T;
                 ^"#]]
    .assert_eq(&main("import { T } from './lib.ts'; export const run = () => T;"));
}

#[test]
fn exports_that_go_round_in_a_circle_are_found() {
    let text = report(&[
        ("main.ts", "export { a } from './b.ts'; export const run = () => 1;"),
        ("b.ts", "export { a } from './main.ts';"),
    ]);
    assert!(text.contains("in a circle of modules"), "{text}");
}

#[test]
fn an_entry_needs_something_to_run() {
    for (source, reason) in [
        ("export const a = 1;", "exports neither a default function nor a function `run`"),
        ("export default { run() {} };", "exports a default that is not a function"),
        ("export default class {}", "exports a default that is not a function"),
        ("const a = 'x'; export default a;", "exports a default that is not a function"),
        ("export class run {}", "exports a `run` that is not a function"),
        ("export * as run from './main.ts';", "exports a `run` that is not a function"),
    ] {
        let text = report(&[("main.ts", source)]);
        assert!(text.starts_with(&format!("`main.ts` {reason}; write `export default async function")), "{text}");
    }
    for source in [
        "export default () => 1;",
        "export default function () {}",
        "const f = function () {}; export { f as default };",
        "export default make(); function make() { return () => 1; }",
        "export async function run() {}",
        "export default 1; export const run = async () => 1;",
        "export { run } from '@rote/sdk';",
    ] {
        bundled(&[("main.ts", source)]);
    }
}

#[test]
fn a_shebang_and_a_byte_order_mark_are_dropped() {
    let code = bundled(&[("main.ts", "\u{feff}#!/usr/bin/env rote\nexport const run = () => 1;")]);
    assert!(!code.code.contains("#!"));
}

/// Sources beside an SDK whose names are known.
struct WithSdk(BTreeMap<String, String>);

impl crate::Sources for WithSdk {
    fn read(&self, path: &str) -> Result<String, crate::SourceError> {
        self.0.read(path)
    }

    fn find(&self, path: &str) -> Result<crate::Entry, crate::SourceError> {
        self.0.find(path)
    }

    fn sdk(&self) -> Option<Vec<String>> {
        Some(["Rote", "Task"].map(str::to_owned).to_vec())
    }
}

#[test]
fn what_the_sdk_does_not_export_is_not_imported() {
    let build = |head: &str, body: &str| {
        let main = format!("{head}\nexport default () => {body};\n");
        let sources = Arc::new(WithSdk(BTreeMap::from([("main.ts".to_owned(), main)])));
        crate::bundle("main.ts", sources, &crate::BundleLimits::default()).map_err(|error| error.to_string())
    };
    for (head, body) in [
        ("import { Rote as R, Task } from '@rote/sdk';", "[R, Task]"),
        (
            "import { Rote, type Json } from '@rote/sdk'; import { Response } from '@rote/sdk';",
            "Rote as unknown as Response",
        ),
        ("import sdk, * as all from '@rote/sdk'; export { Task, default as whole } from '@rote/sdk';", "[sdk, all]"),
    ] {
        assert!(build(head, body).is_ok(), "{head}");
    }
    let none = "`@rote/sdk` exports no `rote`; it exports Rote, Task";
    for (head, body, column) in [
        ("import { rote } from '@rote/sdk';", "rote", 10),
        ("import { Rote, rote as Task } from '@rote/sdk';", "[Rote, Task]", 16),
        ("export { rote } from '@rote/sdk';", "1", 10),
        ("import { rote } from '@rote/sdk'; export { rote };", "1", 44),
    ] {
        assert_eq!(build(head, body).unwrap_err(), format!("`main.ts:1:{column}`: {none}"), "{head}");
    }
}
