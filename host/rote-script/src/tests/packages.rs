//! Packages of `node_modules`: where specifiers lead, CommonJS, and what a flow refuses.

use expect_test::{Expect, expect};
use serde_json::json;

use super::{bundled, report, sources, try_bundle};
use crate::{BundleLimits, Position, SourceMap, bundle};

const RUN: &str = "\nexport const run = () => [a];\n";

/// The files of a bundle whose entry has this import, without the entry.
fn reached(import: &str, files: &[(&str, &str)]) -> Vec<String> {
    let main = format!("{import}{RUN}");
    let mut all = vec![("main.ts", main.as_str())];
    all.extend(files);
    let mut modules = bundled(&all).modules;
    assert_eq!(modules.remove(0), "main.ts");
    modules
}

fn refused(files: &[(&str, &str)], expected: Expect) {
    let main = format!("// a flow\nimport {{ a }} from 'p';{RUN}");
    let mut all = vec![("main.ts", main.as_str())];
    all.extend(files);
    expected.assert_eq(&report(&all));
}

#[test]
fn a_package_is_found_by_main_module_browser_or_index() {
    let text = "export const a = 1;";
    for (manifest, file) in [
        ("{}", "index.js"),
        (r#"{"main": "lib/x.js"}"#, "lib/x.js"),
        (r#"{"main": "lib/x"}"#, "lib/x.js"),
        (r#"{"main": "lib"}"#, "lib/index.js"),
        (r#"{"main": "x.cjs", "module": "y.mjs"}"#, "y.mjs"),
        (r#"{"main": "x.js", "browser": "y.js"}"#, "y.js"),
        (r#"{"main": "x.js", "browser": {"./x.js": "./y.js"}}"#, "y.js"),
        (r#"{"main": "x.js", "exports": "./y.js"}"#, "y.js"),
    ] {
        let path = format!("node_modules/p/{file}");
        let files = [("node_modules/p/package.json", manifest), (path.as_str(), text), ("node_modules/p/x.js", "0")];
        let files = if file == "lib/x.js" { &files[..2] } else { &files[..] };
        assert_eq!(reached("import { a } from 'p';", files), [path.as_str()], "{manifest}");
    }
}

#[test]
fn exports_are_chosen_by_condition_and_pattern() {
    let manifest = r##"{
        "name": "@s/p",
        "exports": {
            ".": { "types": "./t.d.ts", "node": "./node.js", "import": "./esm.js", "require": "./cjs.js" },
            "./d": { "worker": "./no.js", "default": "./d.js" },
            "./f/*": "./lib/*.js",
            "./f/no": null
        },
        "imports": { "#in": { "browser": "./in.js", "default": "./out.js" } }
    }"##;
    let files = [
        ("node_modules/@s/p/package.json", manifest),
        ("node_modules/@s/p/esm.js", "export { a } from '#in';"),
        ("node_modules/@s/p/cjs.js", "exports.a = 1;"),
        ("node_modules/@s/p/in.js", "export const a = 1;"),
        ("node_modules/@s/p/d.js", "export const a = 1;"),
        ("node_modules/@s/p/lib/g.js", "export const a = 1;"),
        ("node_modules/q/index.js", "exports.a = require('@s/p').a;"),
    ];
    let reach = |import| reached(import, &files);
    assert_eq!(reach("import { a } from '@s/p';"), ["node_modules/@s/p/esm.js", "node_modules/@s/p/in.js"]);
    assert_eq!(reach("import { a } from '@s/p/d';"), ["node_modules/@s/p/d.js"]);
    assert_eq!(reach("import { a } from '@s/p/f/g';"), ["node_modules/@s/p/lib/g.js"]);
    // A dual package gives each asker its own form.
    assert_eq!(reach("import { a } from 'q';"), ["node_modules/q/index.js", "node_modules/@s/p/cjs.js"]);
    for specifier in ["@s/p/lib/g.js", "@s/p/f/no"] {
        let main = format!("import {{ a }} from '{specifier}';{RUN}");
        let mut all = vec![("main.ts", main.as_str())];
        all.extend(files);
        let text = report(&all);
        assert!(text.contains("the package `@s/p` does not export"), "{text}");
    }
}

#[test]
fn the_nearest_package_is_taken() {
    let files = [
        ("node_modules/p/index.js", "export { a } from 'q';"),
        ("node_modules/p/node_modules/q/index.js", "export const a = 1;"),
        ("node_modules/q/index.js", "export const a = 2;"),
        ("lib/own.ts", "export { a } from 'q';"),
    ];
    let inner = ["node_modules/p/index.js", "node_modules/p/node_modules/q/index.js"];
    assert_eq!(reached("import { a } from 'p';", &files), inner);
    assert_eq!(reached("import { a } from './lib/own';", &files), ["lib/own.ts", "node_modules/q/index.js"]);
}

#[test]
fn an_installed_package_stands_for_a_module_of_node() {
    let files = [("node_modules/events/index.js", "exports.a = 1;")];
    assert_eq!(reached("import { a } from 'events';", &files), ["node_modules/events/index.js"]);
}

#[test]
fn a_label_behind_a_pure_comment_is_fine() {
    let code = bundled(&[
        ("main.ts", "import 'p';\nexport const run = () => 1;"),
        ("node_modules/p/index.js", "/* @__PURE__ */ a: for (const b of globalThis.c) { if (b) break a; b(); }"),
    ])
    .code;
    assert!(code.contains("a: for (const b of globalThis.c)"), "{code}");
}

#[test]
fn common_js_is_a_function_that_runs_once() {
    let code = bundled(&[
        ("main.ts", "import p, { a } from 'p';\nimport * as all from 'p';\nexport { b } from 'p';\nexport const run = () => [p, a(), all];"),
        ("node_modules/p/index.js", "'use strict';\nconst q = require('./q');\nexports.a = () => q.x + require('./d.json').y;\nmodule.exports.b = global.z;\nif (process.env.NODE_ENV !== 'production') exports.c = 1;"),
        ("node_modules/p/q.js", "exports.x = this === exports;\nrequire('./index.js');"),
        ("node_modules/p/d.json", "{\"y\": 1}"),
    ])
    .code;
    let code = code.split_once("const __rote_modules = [\n").unwrap().1;
    expect![[r#"
        // node_modules/p/index.js
        function* () {
        __rote_functions[1] = [function (module, exports, require, __rote_require) {
        "use strict";
        const q = __rote_require(0);
        exports.a = () => q.x + __rote_require(1).y;
        module.exports.b = globalThis.z;
        if ("production" !== "production") exports.c = 1;
        }, [() => __rote_load(2), () => __rote_load(3).default, ]]; yield; __rote_load(1);
        },
        // main.ts
        function* () {
        let __rote_i0; __rote_link(__rote_m0, [["b", () => __rote_i0["b"]], ["run", () => run], ]); yield; __rote_i0 = __rote_names(__rote_load(1), false);
        const run = () => [
        __rote_i0.default,
        (0, __rote_i0.a)(),
        __rote_i0
        ];
        },
        // node_modules/p/q.js
        function* () {
        __rote_functions[2] = [function (module, exports, require, __rote_require) {
        exports.x = this === exports;
        __rote_require(0);
        }, [() => __rote_load(1), ]]; yield; __rote_load(2);
        },
        // node_modules/p/d.json
        function* () {
        Object.defineProperty(__rote_m3, "__esModule", { value: true }); __rote_link(__rote_m3, [["default", () => __rote_default], ]); yield;
        const __rote_default = JSON.parse("{\"y\": 1}");
        },
        ].map((module) => module());
        for (const module of __rote_modules) module.next();
        for (let at = 0; at < 2; at++) __rote_run(at);
        return __rote_m0;
        })();
    "#]].assert_eq(code);
}

#[test]
fn a_module_says_what_it_is_by_its_package_its_name_or_its_words() {
    let esm = |files: &[(&str, &str)]| {
        let mut all = vec![("main.ts", "import { a } from 'p'; export const run = () => a;")];
        all.extend(files);
        !bundled(&all).code.contains("__rote_functions[1] =")
    };
    assert!(esm(&[("node_modules/p/index.js", "export const a = 1;")]));
    assert!(!esm(&[("node_modules/p/index.js", "exports.a = 1;")]));
    assert!(!esm(&[("node_modules/p/index.js", "return 1;")]));
    let module = ("node_modules/p/package.json", r#"{"type": "module", "main": "x.cjs"}"#);
    assert!(!esm(&[module, ("node_modules/p/x.cjs", "exports.a = 1;")]));
    let module = ("node_modules/p/package.json", r#"{"main": "x.mjs"}"#);
    assert!(esm(&[module, ("node_modules/p/x.mjs", "export const a = 1;")]));
}

#[test]
fn what_node_has_is_refused_by_name_with_the_way_to_it() {
    refused(
        &[
            ("node_modules/p/index.js", "export { a } from './lib/b.js';"),
            ("node_modules/p/lib/b.js", "import { c } from 'q';\nexport const a = c;"),
            ("node_modules/q/index.js", "const fs = require('fs');\nexports.c = fs.x;"),
        ],
        expect![[r#"
            the package `q` cannot be used in a flow: `node_modules/q/index.js:1:20`: cannot import `fs`: it is a module of Node, and a flow runs without Node; call an adapter with `@rote/sdk`, or use a package of plain ECMAScript; imported by `node_modules/p/lib/b.js:1:10` ← `node_modules/p/index.js:1:10` ← `main.ts:2:19`
            const fs = require('fs');
                               ^"#]],
    );
    for (source, what) in [
        ("import { x } from 'node:crypto'; export const a = x;", "cannot import `node:crypto`: it is a module of Node"),
        ("import 'fs/promises'; export const a = 1;", "cannot import `fs/promises`: it is a module of Node"),
        ("module.exports = { a: require('./build/x.node') };", "cannot import `./build/x.node`: it is a native module"),
        ("module.exports = { a: require('./build/x') };", "cannot import `./build/x`: it is a native module"),
        ("exports.a = require('gone');", "cannot import `gone`: there is no `node_modules/gone`"),
        ("export const a = () => fetch('https://x.y');", "`fetch` is not supported: a flow reaches the network only"),
        ("const has = typeof fetch === 'function'; exports.a = () => has && fetch('x');", "`fetch` is not supported"),
        ("exports.a = new XMLHttpRequest();", "`XMLHttpRequest` is not supported"),
        ("export const a = () => new WebSocket('wss://x');", "`WebSocket` is not supported"),
        ("exports.a = globalThis.fetch('x');", "`globalThis.fetch` is not supported"),
        ("exports.a = process.cwd();", "`process` is not supported"),
        ("exports.a = Buffer.from('x');", "`Buffer` is not supported"),
        ("exports.a = () => import('./x.js');", "`import()` is not supported"),
        ("export const a = import.meta.url;", "`import.meta` is not supported"),
        ("import { b } from './lib.js'; export const a = b;", "`node_modules/p/lib.js` exports no `b`"),
        ("export const a = await 1;", "`await` outside of a function"),
        ("with (Math) { exports.a = floor(1); }", "'with' statements are not allowed"),
        ("exports.a = 010;", "syntax error in `node_modules/p/index.js:1:13`"),
        ("export const a = ;", "syntax error in `node_modules/p/index.js:1:18`"),
        ("exports.a = ((1);", "syntax error in `node_modules/p/index.js:1:17`"),
    ] {
        let main = format!("import {{ a }} from 'p';{RUN}");
        let files = [
            ("main.ts", main.as_str()),
            ("node_modules/p/index.js", source),
            ("node_modules/p/build/x.node", ""),
            ("node_modules/p/lib.js", "export {};"),
        ];
        let text = report(&files);
        assert!(text.starts_with("the package `p` cannot be used in a flow: "), "{source}: {text}");
        assert!(text.contains(what) && text.contains("; imported by `main.ts:1:"), "{source}: {text}");
    }
}

#[test]
fn what_a_package_only_asks_about_is_fine() {
    for source in [
        "exports.a = typeof process === 'object' && process.env && process.env.DEBUG;",
        "exports.a = typeof fetch === 'function' ? fetch : undefined;",
        "if (typeof Buffer !== 'undefined') { exports.a = Buffer.from('x'); }",
        "const has = typeof Buffer === 'function'; exports.a = () => has ? Buffer.from('x') : 1;",
        "try { exports.a = require('crypto').randomBytes; } catch { exports.a = 1; }",
        "try { exports.a = require('gone'); } catch { exports.a = 1; }",
        "(function (root, make) { if (typeof define === 'function' && define.amd) define(make); \
         else if (typeof exports === 'object') module.exports = make(); else root.p = make(); })(this, () => ({ a: 1 }));",
        "var f = Function; try { new f(''); exports.a = 1; } catch { exports.a = 2; }",
        "exports.a = Function('return this')();",
        "exports.a = process.env.NODE_ENV;",
        "exports.a = eval;",
        "exports.a = (name) => require(name);",
    ] {
        let main = format!("import {{ a }} from 'p';{RUN}");
        bundled(&[("main.ts", &main), ("node_modules/p/index.js", source)]);
    }
}

#[test]
fn a_package_that_says_what_it_is_without_has_it_empty() {
    let manifest = r#"{"main": "x.js", "browser": {"fs": false, "./y.js": false}}"#;
    let source = "const fs = require('fs'), y = require('./y.js'); exports.a = [fs, y];";
    let files =
        [("node_modules/p/package.json", manifest), ("node_modules/p/x.js", source), ("node_modules/p/y.js", "boom()")];
    assert_eq!(reached("import { a } from 'p';", &files), ["node_modules/p/x.js"]);
}

#[test]
fn a_package_json_is_bounded_and_has_to_be_json() {
    let deep = format!("{{\"x\": {}{}}}", "[".repeat(500_000), "]".repeat(500_000));
    for (manifest, expected) in [
        (deep.as_str(), "more than 100 open brackets"),
        ("{\"main\": ", "`node_modules/p/package.json` is not JSON: "),
        ("{\"main\": 5}", "node_modules/p"),
    ] {
        let main = format!("import {{ a }} from 'p';{RUN}");
        let error = try_bundle(&[("main.ts", &main), ("node_modules/p/package.json", manifest)]).unwrap_err();
        let text = format!("{error:?}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn names_and_paths_of_modules_are_bounded() {
    let deep = "a/".repeat(50);
    let long = "a/".repeat(20_000);
    let name = |specifier: &str| format!("import {{ a }} from '{specifier}';{RUN}");
    for (main, manifest, expected) in [
        // Each star would become all that the specifier has.
        (
            name(&format!("p/{deep}x")),
            json!({"exports": {"./*": format!("./{}", "*".repeat(300))}}),
            "more than 2 stars",
        ),
        (
            name("p"),
            json!({"exports": {".": [{"x": [format!("./{long}x.js")]}]}}),
            "`exports` has more than 1024 bytes",
        ),
        (name("p"), json!({"browser": {long.as_str(): false}}), "`browser` has more than 1024 bytes"),
        (name("p"), json!({"main": long}), "`main` has more than 1024 bytes"),
        (name(&format!("p/{long}x")), json!({}), "the name of a module has at most 1024 bytes"),
        (name(&format!("./{long}x")), json!({}), "the name of a module has at most 1024 bytes"),
    ] {
        // An `index.js` that would be taken without the manifest.
        let (path, manifest) = ("node_modules/p/package.json", manifest.to_string());
        let files =
            [("main.ts", main.as_str()), (path, manifest.as_str()), ("node_modules/p/index.js", "export const a = 1;")];
        let text = whole(&try_bundle(&files).unwrap_err());
        assert!(text.contains(expected) && text.len() < 1_000, "{text}");
    }
    // As Node has it, a star of the target stands for the same words as often as it is there.
    let manifest = r#"{"exports": {"./*": "./*/*.js"}}"#;
    let files = [("node_modules/p/package.json", manifest), ("node_modules/p/x/x.js", "export const a = 1;")];
    assert_eq!(reached("import { a } from 'p/x';", &files), ["node_modules/p/x/x.js"]);
}

/// An error with its causes.
fn whole(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}: ")).collect()
}

#[test]
fn the_search_for_packages_is_bounded() {
    let limits = BundleLimits { probes: 100, ..BundleLimits::default() };
    let files: Vec<(String, String)> = (0..200).map(|n| (format!("x{n}.ts"), "export default 1;".to_owned())).collect();
    let main: String = (0..200).map(|n| format!("import './x{n}';")).collect();
    let mut all: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    all.push(("main.ts", &main));
    let error = bundle("main.ts", sources(&all), &limits).unwrap_err();
    assert!(error.to_string().starts_with("too many places were looked at for imports: 10"), "{error}");
}

#[test]
fn the_authors_own_common_js_file_is_one() {
    let files =
        [("main.ts", "import { a } from './old.cjs'; export const run = () => a;"), ("old.cjs", "exports.a = 1;")];
    assert_eq!(try_bundle(&files).unwrap().modules, ["main.ts", "old.cjs"]);
}

#[test]
fn positions_in_packages_are_found() {
    let bundle = bundled(&[
        ("main.ts", "import { a } from 'p';\nimport { b } from 'q';\nexport const run = () => [a, b];"),
        ("node_modules/p/index.js", "// one\nexports.a = 1;\n  throw new Error('p');"),
        ("node_modules/q/index.js", "export const unused = 1;\nexport const b = () => {\n  throw new Error('q');\n};"),
    ]);
    let map = SourceMap::parse(&bundle.map).unwrap();
    for (text, file, column) in [("new Error(\"p\")", "p", 9), ("new Error(\"q\")", "q", 9)] {
        let before = bundle.code.split(text).next().unwrap();
        let line = u32::try_from(before.matches('\n').count()).unwrap() + 1;
        let at = u32::try_from(before.rsplit('\n').next().unwrap().len()).unwrap() + 1;
        let expected = Position { file: format!("node_modules/{file}/index.js"), line: 3, column };
        assert_eq!(map.translate(line, at), Some(expected));
    }
}

#[test]
fn a_file_of_a_package_that_does_not_compile_counts_where_it_is_used() {
    let files = [
        ("node_modules/p/package.json", r#"{"sideEffects": false}"#),
        ("node_modules/p/index.js", "export { a } from './a.js'; export { b } from './b.js';"),
        ("node_modules/p/a.js", "export const a = 1;"),
        ("node_modules/p/b.js", "export const b = <div/>;"),
    ];
    assert_eq!(reached("import { a } from 'p';", &files), ["node_modules/p/index.js", "node_modules/p/a.js"]);
    let mut all = vec![("main.ts", "import { b } from 'p'; export const run = () => b;")];
    all.extend(files);
    let text = report(&all);
    assert!(text.contains("syntax error in `node_modules/p/b.js:1:18`") && text.contains("`main.ts:1:10`"), "{text}");
}
