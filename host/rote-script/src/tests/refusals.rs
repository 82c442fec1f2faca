//! What flows cannot use, and how that is said.

use std::sync::Arc;

use expect_test::{Expect, expect};

use super::{bundled, report, try_bundle};
use crate::{BundleLimits, Entry, ScriptError, SourceError, Sources, bundle};

fn check(source: &str, expected: Expect) {
    expected.assert_eq(&report(&[("main.ts", &format!("{source}\nexport function run() {{}}\n"))]));
}

#[test]
fn imports_from_elsewhere_say_what_can_be_imported() {
    check(
        "// a flow\nimport chalk from 'chalk';\nchalk.red();",
        expect![[r#"
            `main.ts:2:19`: cannot import `chalk`: there is no `node_modules/chalk` in the flow's folder; install it there (`npm install chalk`), or import a relative file or `@rote/sdk`
            import chalk from 'chalk';
                              ^"#]],
    );
    for (specifier, reason) in [
        ("node:fs", "a flow runs without Node"),
        ("fs", "a flow runs without Node"),
        ("node:crypto", "a flow runs without Node"),
        ("fs/promises", "a flow runs without Node"),
        ("npm:zod", "a package is imported by its name alone"),
        ("@rote/other", "`npm install @rote/other`"),
        ("lodash/fp", "`npm install lodash`"),
        ("#inside", "has no such entry in its `imports`"),
        ("https://deno.land/x/y.ts", "flows load no code from the network"),
        ("data:text/javascript,1", "flows load no code from the network"),
        ("/etc/passwd", "absolute paths are not portable"),
        ("file:///etc/passwd", "absolute paths are not portable"),
        ("../outside.ts", "it leaves the flow's folder"),
        ("./a/../../outside.ts", "it leaves the flow's folder"),
        ("./a\\\\b.ts", "a path has `/` between its parts"),
        ("./a\\0b.ts", "a path has `/` between its parts"),
        ("./types.d.ts", "a declaration file has no code; use `import type`"),
        ("./view.tsx", "JSX is not supported"),
        ("", "a module has a name"),
    ] {
        for form in ["import 'X';", "export * from 'X';", "export { a } from 'X';"] {
            let text = report(&[("main.ts", &form.replace('X', specifier))]);
            assert!(text.contains(": cannot import `") && text.contains(reason), "{specifier}: {text}");
        }
    }
}

#[test]
fn globals_that_a_flow_does_not_have_are_refused_in_the_authors_own_files() {
    for (source, reason) in [
        ("Buffer.from('x');", "a flow runs without Node"),
        ("export const at = () => __dirname;", "a flow runs without Node"),
        ("export const wait = () => new Promise((done) => setTimeout(done, 1));", "a flow has no timers"),
        ("export const u = () => new URL('https://x.example');", "it belongs to a browser or to Node"),
        ("window.alert('x');", "it belongs to a browser or to Node"),
    ] {
        let text = report(&[("main.ts", &format!("{source}\nexport function run() {{}}\n"))]);
        assert!(text.contains("is not supported: ") && text.contains(reason), "{source}: {text}");
    }
    // What is asked for, bound, a type or a property is not the global.
    let main = "import { URL } from './url';\nlet t: Window | Buffer | undefined = undefined;\n\
                if (typeof setTimeout === 'function') setTimeout(() => 1, 1);\n\
                export const run = (o: any) => [t, new URL(), o.Buffer, o.setTimeout, (window: number) => window];\n";
    bundled(&[("main.ts", main), ("url.ts", "export class URL {}\n")]);
}

#[test]
fn a_missing_file_says_what_was_tried() {
    check(
        "import './lib/x';",
        expect![[r#"
            `main.ts:1:8`: cannot find module `./lib/x`: tried `lib/x.ts`, `lib/x.mts`, `lib/x.js`, `lib/x.mjs`, `lib/x/index.ts`, `lib/x/index.mts`, `lib/x/index.js`, `lib/x/index.mjs`
            import './lib/x';
                   ^"#]],
    );
}

#[test]
fn code_that_is_loaded_or_made_while_running_is_refused() {
    check(
        "const a = 1;\nconst lib = () => import('./x.ts');",
        expect![[r#"
            `main.ts:2:19`: `import()` is not supported: the modules of a flow are bundled before it runs; use `import … from` at the top of the file
            const lib = () => import('./x.ts');
                              ^"#]],
    );
    for (source, what) in [
        ("eval('1')", "`eval`"),
        ("(0, eval)('1')", "`eval`"),
        ("globalThis.eval('1')", "`globalThis.eval`"),
        ("globalThis['Function']('1')", "`globalThis.Function`"),
        ("new Function('1')", "`new Function(…)`"),
        ("Function('1')()", "`Function(…)`"),
        ("const a = require('fs')", "`require`"),
        ("import fs = require('fs'); fs.x", "`import … = require(…)`"),
        ("export = 1", "`export =`"),
        ("import.meta.url", "`import.meta`"),
        ("await 1", "`await` outside of a function"),
        ("for await (const a of b) {}", "`await` outside of a function"),
        ("with (a) {}", "`with`"),
        ("fetch('https://x.y')", "`fetch`"),
        ("new WebSocket('wss://x.y')", "`WebSocket`"),
        ("globalThis.fetch('https://x.y')", "`globalThis.fetch`"),
        ("new XMLHttpRequest()", "`XMLHttpRequest`"),
        ("Deno.exit()", "`Deno`"),
        ("declare const Bun: any; Bun.file()", "`Bun`"),
        ("process.env.A", "`process`"),
        ("@sealed class A {}", "a decorator"),
        ("class A { accessor x = 1 }", "`accessor`"),
        ("{ using x = f(); }", "`using`"),
        ("import defer * as x from './x.ts'", "`import defer` or `import source`"),
        ("export * from '@rote/sdk'", "`export *` of the SDK"),
        ("const __rote_x = 1", "`__rote_x`"),
        ("__rote_sdk.call()", "`__rote_sdk`"),
        ("import { a } from '@rote/sdk'; a = 1", "assigning to the import `a`"),
        ("import { a } from '@rote/sdk'; [a] = [1]", "assigning to the import `a`"),
        ("import { a } from '@rote/sdk'; ({ a } = {})", "assigning to the import `a`"),
        ("import { a } from '@rote/sdk'; a++", "assigning to the import `a`"),
        ("import * as a from '@rote/sdk'; for (a of []) {}", "assigning to the import `a`"),
    ] {
        let error = try_bundle(&[("main.ts", &format!("{source};\nexport function run() {{}}\n"))]).unwrap_err();
        match error {
            ScriptError::Refused { what: found, .. } => assert_eq!(found, what, "{source}"),
            ScriptError::Syntax { .. } if source.contains("from '@rote/sdk'; ") => {}
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn what_only_looks_like_a_refusal_is_fine() {
    bundled(&[(
        "main.ts",
        "const o = { eval: 1, Function: 2, require: 3 }; o.eval; o.Function; (() => 1) instanceof Function;
         typeof process === 'undefined'; typeof Deno; typeof process === 'object' && process.env;
         typeof fetch === 'function' ? fetch : 1; if (typeof Bun !== 'undefined') { Bun.x; } function f2(fetch) { fetch(); } type D = typeof Deno; interface P extends Deno.P {}
         function require(eval2: string) { return eval2; } require('x');
         async function f() { await 1; for await (const a of []) {} }
         class A { async m() { await 1; } static Function() {} } A.Function();
         export const run = async () => { await f(); };",
    )]);
}

#[test]
fn syntax_errors_show_the_line() {
    check(
        "const ok = 1;\n\tconst x = \"ä\" + ;",
        expect![[r#"
            syntax error in `main.ts:2:18`: unexpected token
            	const x = "ä" + ;
            	                ^"#]],
    );
}

#[test]
fn several_syntax_errors_are_listed() {
    let source: String = (0..20).map(|n| format!("let a{n} = 1; let a{n} = 2;\n")).collect();
    let error = try_bundle(&[("main.ts", &source)]).unwrap_err();
    let ScriptError::Syntax { line, more, .. } = &error else { panic!("{error:?}") };
    assert_eq!((*line, more.len()), (1, 9));
    assert_eq!(more[8].line, 10);
    assert_eq!(error.report().lines().count(), 30);
}

#[test]
fn jsx_is_a_syntax_error() {
    let text = report(&[("main.ts", "export const run = () => <div>x</div>;")]);
    assert!(text.starts_with("syntax error in `main.ts:1:"), "{text}");
}

#[test]
fn json_that_is_not_json_names_its_line() {
    let text =
        report(&[("main.ts", "import a from './a.json'; export const run = () => a;"), ("a.json", "{\n\"a\": x}")]);
    assert_eq!(text, "`a.json:2:6`: not JSON: expected value");
}

#[test]
fn entries_are_relative_code_files_that_exist() {
    let sources = super::sources(&[("main.ts", "export const run = () => 1;")]);
    for entry in ["", "/main.ts", "./main.ts", "../main.ts", "a//main.ts", "main.json", "main", "main.d.ts"] {
        let error = bundle(entry, sources.clone(), &BundleLimits::default()).unwrap_err();
        assert!(matches!(error, ScriptError::Entry { .. }), "{entry}: {error}");
    }
    let error = bundle("other.ts", sources, &BundleLimits::default()).unwrap_err();
    assert_eq!(error, ScriptError::Source { file: "other.ts".into(), source: SourceError::NotFound });
}

#[test]
fn a_source_that_cannot_be_read_is_not_missing() {
    struct Broken;
    impl Sources for Broken {
        fn read(&self, path: &str) -> Result<String, SourceError> {
            match path {
                "main.ts" => Ok("import './a'; export const run = () => 1;".into()),
                _ => Err(SourceError::Unreadable("not UTF-8".into())),
            }
        }

        fn find(&self, path: &str) -> Result<Entry, SourceError> {
            match path {
                "main.ts" | "a.ts" => Ok(Entry::File(path.into())),
                _ => Err(SourceError::NotFound),
            }
        }
    }
    let error = bundle("main.ts", Arc::new(Broken), &BundleLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read `a.ts`");
}
