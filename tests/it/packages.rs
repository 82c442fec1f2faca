//! Packages of npm in TypeScript flows: the real ones build and run, CommonJS behaves as it does in Node, and what a
//! flow cannot have is refused by name.

#![expect(clippy::disallowed_methods, reason = "a person unpacks and links packages")]

use std::path::Path;
use std::process::Command;

use rote_testkit::TestHome;
use serde_json::{Value, json};

/// The source of a flow of this name.
fn script(name: &str, header: &str, body: &str) -> String {
    format!(
        "/**\n * @rote-frontmatter\n * ---\n * name: {name}\n * description: Is a flow of a test.\n{header} * ---\n */\n{body}"
    )
}

fn build(home: &TestHome, name: &str, body: &str) -> Value {
    home.file("main.ts", script(name, "", body));
    home.data(&["flow", "build", "main.ts"])
}

/// Unpacks a package of the fixtures as npm installs it.
fn install(home: &TestHome, package: &str) {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/npm/{package}.tgz"));
    let folder = home.work().join("node_modules");
    std::fs::create_dir_all(&folder).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder).status().unwrap();
    assert!(tar.success());
}

/// Where the flow of the real packages fails on purpose.
const FAILING: &str = "  if (params.project === \"beacon\") z.string().parse(issues);\n";

#[test]
fn zod_lodash_and_date_fns_work_in_a_flow_that_calls() {
    let (home, server) = crate::tracker();
    for package in ["zod", "lodash-es", "date-fns"] {
        install(&home, package);
    }
    let header =
        " * parameters: {properties: {project: {type: string}}}\n * adapters: {tracker: {tools: [listIssues]}}\n";
    let body = format!(
        "import {{ Rote }} from \"@rote/sdk\";\nimport {{ addDays, format }} from \"date-fns\";\n\
         import {{ chunk, countBy, debounce, sortBy }} from \"lodash-es\";\nimport {{ z }} from \"zod\";\n\n\
         const Issue = z.object({{ number: z.number().int(), title: z.string().min(1), \
         priority: z.enum([\"low\", \"normal\", \"high\", \"urgent\"]) }});\n\n\
         export default async function main(params: {{ project: string }}): Promise<unknown> {{\n  \
         const rote = await Rote.workspace(\"real\");\n  \
         const answer = await rote.adapter(\"tracker\").call(\"listIssues\", {{ project: params.project }});\n  \
         const issues = z.array(Issue).parse(answer.json());\n{FAILING}  \
         const bad = Issue.safeParse({{ number: 1.5, title: \"\", priority: \"none\" }});\n  \
         return {{\n    \
         first: sortBy(issues, \"number\").map((issue) => issue.number).slice(0, 3),\n    \
         counted: Object.values(countBy(issues, \"priority\")).reduce((sum, count) => sum + count, 0) === issues.length,\n    \
         chunks: chunk([1, 2, 3], 2), waits: typeof debounce,\n    \
         day: format(addDays(new Date(2026, 0, 31), 1), \"EEEE, d MMMM yyyy\"),\n    \
         said: bad.success ? [] : bad.error.issues.map((issue) => issue.message),\n  }};\n}}\n"
    );
    home.file("main.ts", script("real", header, &body));
    let built = home.rote(&["flow", "build", "main.ts"]);
    assert_eq!(built.code, 0, "{built}");
    let data = home.data(&["run", "real", "project=atlas"]);
    let expected = json!({
        "first": [1, 2, 3],
        "counted": true,
        "chunks": [[1, 2], [3]],
        "waits": "function",
        "day": "Sunday, 1 February 2026",
        "said": [
            "Invalid input: expected int, received number",
            "Too small: expected string to have >=1 characters",
            "Invalid option: expected one of \"low\"|\"normal\"|\"high\"|\"urgent\"",
        ],
    });
    assert_eq!(data["result"], expected);
    // An error within a package has the author's line on its way.
    let line = 1 + script("real", header, &body).split(FAILING).next().unwrap().matches('\n').count();
    let failed = home.rote(&["run", "real", "project=beacon"]);
    assert_ne!(failed.code, 0, "{failed}");
    assert!(failed.stderr.contains(&format!("main.ts:{line}:")), "line {line}: {failed}");
    drop(server);
}

#[test]
fn what_is_not_used_of_a_package_is_not_in_the_flow() {
    let home = crate::home();
    install(&home, "lodash-es");
    let one = build(&home, "one", "import { chunk } from \"lodash-es\";\nexport default () => chunk([1, 2, 3], 2);\n");
    let all =
        build(&home, "all", "import * as all from \"lodash-es\";\nexport default () => Object.keys(all).length;\n");
    let bytes = |built: &Value| built["bytes"].as_u64().unwrap();
    assert!(bytes(&one) + 300_000 < bytes(&all), "{} {}", bytes(&one), bytes(&all));
    let modules = |built: &Value| built["modules"].as_array().unwrap().len();
    assert!(modules(&one) < 30 && modules(&all) > 600, "{} {}", modules(&one), modules(&all));
    assert_eq!(home.data(&["run", "one"])["result"], json!([[1, 2], [3]]));
    assert!(home.data(&["run", "all"])["result"].as_u64().unwrap() > 300);
}

/// Packages of all kinds, each a few lines.
const KINDS: [(&str, &str); 36] = [
    ("plain/index.js", "let n = 0; module.exports = function plain() { return ++n; }; module.exports.extra = 'x';"),
    (
        "babel/index.js",
        "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'the default'; exports.named = 'named';",
    ),
    (
        "node/index.mjs",
        "import all, { named } from 'babel'; import plain from 'plain'; export const seen = [typeof all, all.default, named, plain.extra];",
    ),
    ("node/package.json", "{\"main\": \"index.mjs\"}"),
    ("cycle/index.js", "exports.a = 1; const b = require('./b'); exports.c = b.sum; exports.late = b.late;"),
    ("cycle/b.js", "const index = require('./index'); exports.sum = index.a + 1; exports.late = () => index.c;"),
    ("circle/package.json", "{\"type\": \"module\", \"exports\": \"./a.js\"}"),
    ("circle/a.js", "import { b, both } from './b.js'; export function a() { return 'a' + b; } export { both };"),
    ("circle/b.js", "import { a } from './a.js'; export const b = 'b'; export const both = () => a() + b;"),
    (
        "order/index.js",
        "import './one.js'; import './two.cjs'; import './three.js'; import lazy from './lazy.cjs'; globalThis.order.push('index'); export { lazy };",
    ),
    ("order/one.js", "export {}; globalThis.order = ['one'];"),
    ("order/two.cjs", "globalThis.order.push('two'); require('./one.js');"),
    ("order/three.js", "export {}; globalThis.order.push('three');"),
    (
        "order/lazy.cjs",
        "exports.get = () => { const late = require('./late.mjs'); return [late.default, late.x, late.__esModule, Object.keys(late), require('./late.mjs') === late]; };",
    ),
    ("order/late.mjs", "import './before.mjs'; globalThis.order.push('late'); export default 5; export const x = 6;"),
    ("order/before.mjs", "globalThis.order.push('before');"),
    ("data/data.json", "{\"a\": [1, {\"b\": null}]}"),
    (
        "data/index.js",
        "exports.same = require('./data.json') === require('./data.json'); exports.a = require('./data').a;",
    ),
    (
        "strict/index.js",
        "exports.self = (function () { return this; })() === undefined; exports.own = this === exports;",
    ),
    (
        "umd/index.js",
        "(function (root, make) { if (typeof define === 'function' && define.amd) define(make); else if (typeof exports === 'object') module.exports = make(); else root.umd = make(); })(this, () => ({ kind: 'umd' }));",
    ),
    ("star/index.mjs", "export * from 'babel'; export * from './more.mjs'; export const own = 'own';"),
    ("star/more.mjs", "export * from 'cycle'; export const own = 'hidden';"),
    ("star/package.json", "{\"main\": \"index.mjs\", \"sideEffects\": false}"),
    (
        "dual/package.json",
        "{\"exports\": {\".\": {\"import\": \"./i.mjs\", \"require\": \"./r.cjs\"}, \"./r\": \"./asks.cjs\"}}",
    ),
    ("dual/i.mjs", "export const kind = 'import';"),
    ("dual/r.cjs", "exports.kind = 'require';"),
    ("dual/asks.cjs", "exports.kind = require('dual').kind;"),
    ("@scope/package/sub/index.js", "export default class Scoped { static kind = 'scoped'; }"),
    (
        "tries/index.js",
        "let fs; try { fs = require('fs'); } catch (error) { fs = error.message; } exports.fs = fs; exports.env = process.env.NODE_ENV; exports.dynamic = (name) => require(name);",
    ),
    (
        "broken/index.js",
        "exports.tries = 0; exports.both = () => ['1', '2'].map(() => { try { require('./bad.js'); } catch (error) { return error.message; } });",
    ),
    ("broken/bad.js", "globalThis.bad = (globalThis.bad ?? 0) + 1; throw new Error('bad ' + globalThis.bad);"),
    (".pnpm/linked@1.0.0/node_modules/linked/package.json", "{\"main\": \"lib/index.js\"}"),
    (".pnpm/linked@1.0.0/node_modules/linked/lib/index.js", "exports.linked = require('inner').inner;"),
    (".pnpm/inner@2.0.0/node_modules/inner/index.js", "exports.inner = 'inner 2';"),
    ("inner/index.js", "exports.inner = 'another';"),
    ("effect/index.js", "globalThis.effect = 'done'; export const unused = 1;"),
];

const KINDS_MAIN: &str = r#"
import plain, { extra } from "plain";
import babel, { named } from "babel";
import { seen } from "node";
import { c, late } from "cycle";
import { a, both } from "circle";
import { lazy } from "order";
import data from "data/data.json";
import { a as required, same } from "data";
import * as strict from "strict";
import umd from "umd";
import * as star from "star";
import { kind } from "dual";
import { kind as asked } from "dual/r";
import Scoped from "@scope/package/sub";
import { dynamic, env, fs } from "tries";
import { both as broken } from "broken";
import { linked } from "linked";
import "effect";

function failure(make: () => unknown): string {
  try { return `made ${make()}`; } catch (error) { return (error as Error).message; }
}

export default function main(): unknown {
  const before = [...(globalThis as any).order];
  return {
    plain: [plain(), plain(), extra],
    babel: [babel, named], node: seen,
    cycle: [c, late()], circle: [a(), both()],
    order: [before, lazy.get(), (globalThis as any).order],
    data: [data.a, required, same],
    strict: [strict.self, strict.own],
    umd: umd.kind,
    star: [star.own, star.named, star.c, "default" in star],
    dual: [kind, asked], scoped: Scoped.kind,
    tries: [fs, env, failure(() => dynamic("x"))],
    broken: broken(), linked, effect: (globalThis as any).effect,
  };
}
"#;

fn kinds(home: &TestHome) {
    for (path, text) in KINDS {
        home.file(&format!("node_modules/{path}"), text);
    }
    let link = |to: &str, at: &str| {
        let at = home.work().join("node_modules").join(at);
        std::os::unix::fs::symlink(to, at).unwrap();
    };
    link(".pnpm/linked@1.0.0/node_modules/linked", "linked");
    link("../../inner@2.0.0/node_modules/inner", ".pnpm/linked@1.0.0/node_modules/inner");
}

#[test]
#[cfg(unix)]
fn packages_of_all_kinds_behave_as_in_node() {
    let home = crate::home();
    kinds(&home);
    build(&home, "kinds", KINDS_MAIN);
    let expected = json!({
        "plain": [1, 2, "x"],
        "babel": ["the default", "named"],
        "node": ["object", "the default", "named", "x"],
        "cycle": [2, 2],
        "circle": ["ab", "abb"],
        "order": [
            ["one", "two", "three", "index"],
            [5, 6, true, ["default", "x"], true],
            ["one", "two", "three", "index", "before", "late"],
        ],
        "data": [[1, {"b": null}], [1, {"b": null}], true],
        "strict": [true, true],
        "umd": "umd",
        "star": ["own", "named", 2, false],
        "dual": ["import", "require"],
        "scoped": "scoped",
        "tries": ["cannot find module fs: what a flow requires is bundled before it runs", "production",
            "cannot find module x: what a flow requires is bundled before it runs"],
        "broken": ["bad 1", "bad 2"],
        "linked": "inner 2",
        "effect": "done",
    });
    assert_eq!(home.data(&["run", "kinds"])["result"], expected);
}

#[test]
#[cfg(unix)]
fn what_a_flow_cannot_have_is_refused_by_name() {
    let home = crate::home();
    kinds(&home);
    home.file("node_modules/reads/index.js", "import { read } from './lib/read.js';\nexport const a = read;\n");
    home.file("node_modules/reads/lib/read.js", "import fs from 'node:fs';\nexport const read = () => fs.x();\n");
    home.file("node_modules/asks/index.js", "exports.a = () => fetch('https://example.org');\n");
    home.file("node_modules/native/index.js", "exports.a = require('./build/native.node');\n");
    home.file("node_modules/native/build/native.node", [0x7f, b'E', b'L', b'F']);
    let outside = home.home();
    std::fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, home.work().join("node_modules/outside")).unwrap();
    // Nobody writes into the pipe, so that who reads it waits.
    std::fs::create_dir_all(home.work().join("node_modules/waits")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(home.work().join("node_modules/waits/package.json")).status();
    assert!(made.unwrap().success());
    for (package, expected) in [
        (
            "reads",
            "the package `reads` cannot be used in a flow: `node_modules/reads/lib/read.js:1:16`: cannot import `node:fs`: \
                   it is a module of Node, and a flow runs without Node; call an adapter with `@rote/sdk`, or use a package of plain \
                   ECMAScript; imported by `node_modules/reads/index.js:1:10` ← `main.ts:8:19`",
        ),
        (
            "asks",
            "`node_modules/asks/index.js:1:19`: `fetch` is not supported: a flow reaches the network only through adapters",
        ),
        ("native", "cannot import `./build/native.node`: it is a native module"),
        ("outside", "it leads out of the folder of the flow"),
        ("waits", "it is neither a file nor a folder"),
        (
            "left-pad",
            "there is no `node_modules/left-pad` in the flow's folder; install it there (`npm install left-pad`)",
        ),
    ] {
        let body = format!("import {{ a }} from '{package}';\nexport default () => a;\n");
        home.file("main.ts", script("refused", "", &body));
        let run = home.rote(&["flow", "build", "main.ts"]);
        assert!(run.code == 10 && run.stderr.contains(expected), "{package}: {run}");
    }
}
