//! What is left out of packages, and what is not.

use super::bundled;

/// The script with a package `p` of these files, whose entry is used by `main`.
fn code(main: &str, files: &[(&str, &str)]) -> String {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("node_modules/p/{path}")).collect();
    let mut all = vec![("main.ts", main)];
    all.extend(paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)));
    bundled(&all).code
}

const USES_A: &str = "import { a } from 'p'; export const run = () => a;";
const PURE: (&str, &str) = ("package.json", r#"{"sideEffects": false}"#);

#[test]
fn statements_that_nobody_uses_are_left_out() {
    let source = "
        import { d } from './d.js';
        export const a = b(); function b() { return KEPT1 + c; } const c = 'KEPT2';
        export const x = 'GONE1'; export function y() { 'GONE2'; } export class Z { m() { 'GONE3'; } }
        const made = /* @__PURE__ */ make('GONE4'); function make() { 'GONE5'; }
        export { d }; export default () => 'GONE6';
        var KEPT1 = 1;
        export let counted = 0; counted += 1; console.log('KEPT3');";
    let code = code(USES_A, &[("index.js", source), ("d.js", "export const d = 'GONE7';"), PURE]);
    for n in 1..=3 {
        assert!(code.contains(&format!("KEPT{n}")), "KEPT{n}\n{code}");
    }
    assert!(code.contains("counted += 1"), "{code}");
    assert!(!code.contains("GONE"), "{code}");
}

#[test]
fn a_module_with_effects_runs_when_it_is_imported() {
    let index = "import './effect.js'; import { b } from './b.js'; export const a = 1; export const c = b;";
    let files = [
        ("index.js", index),
        ("effect.js", "globalThis.KEPT1 = 1;"),
        ("b.js", "globalThis.KEPT2 = 1; export const b = 'GONE';"),
    ];
    let text = code(USES_A, &files);
    assert!(text.contains("KEPT1") && text.contains("KEPT2") && !text.contains("GONE"), "{text}");
    // The package says that they only give names: nobody takes one.
    let text = code(USES_A, &[files[0], files[1], files[2], PURE]);
    assert!(!text.contains("KEPT"), "{text}");
    let some = ("package.json", r#"{"sideEffects": ["./effect.js", "*.css"]}"#);
    let text = code(USES_A, &[files[0], files[1], files[2], some]);
    assert!(text.contains("KEPT1") && !text.contains("KEPT2"), "{text}");
}

#[test]
fn a_package_that_is_imported_for_its_effects_runs() {
    let text = code(
        "import 'p'; export const run = () => 1;",
        &[("index.js", "export {}; globalThis.x = 'KEPT'; const y = 'GONE';")],
    );
    assert!(text.contains("KEPT") && !text.contains("GONE"), "{text}");
}

#[test]
fn a_module_between_runs_when_a_name_comes_through_it() {
    // As zod has it: the entry sets up what the classes use.
    let files = [
        ("index.js", "import * as z from './all.js'; export * from './all.js'; export { z }; export default z;"),
        (
            "all.js",
            "import { config } from './config.js'; export * from './a.js'; export * as rest from './rest.js'; config('KEPT1');",
        ),
        ("config.js", "export function config(x) { globalThis.y = x; }"),
        ("a.js", "export const a = 'KEPT2', unused = 1; export const b = 'GONE1';"),
        ("rest.js", "export const c = 'GONE2';"),
        PURE,
    ];
    for main in [
        USES_A,
        "import { z } from 'p'; export const run = () => z.a;",
        "import * as p from 'p'; export const run = () => p.a;",
        "import * as p from 'p'; export const run = () => p.z.a;",
    ] {
        let text = code(main, &files);
        assert!(text.contains("KEPT1") && text.contains("KEPT2"), "{main}\n{text}");
        // One step of a chain of namespaces is followed.
        assert_eq!(text.contains("GONE"), main.contains("p.z.a"), "{main}\n{text}");
    }
    // What is passed around whole is kept whole.
    for main in
        ["import { z } from 'p'; export const run = () => z;", "import z from 'p'; export const run = () => z.a;"]
    {
        let text = code(main, &files);
        assert!(text.contains("GONE1") && text.contains("GONE2"), "{main}\n{text}");
    }
}

#[test]
fn common_js_is_kept_whole_and_only_where_it_is_used() {
    let files = [
        ("index.js", "export const a = 1; export { b } from './b.cjs'; export { c } from './c.cjs';"),
        ("b.cjs", "exports.b = 'B'; exports.d = 'D';"),
        ("c.cjs", "exports.c = 'C';"),
        PURE,
    ];
    let text = code("import { b } from 'p'; export const run = () => b;", &files);
    assert!(text.contains("'B'") || text.contains("\"B\""), "{text}");
    assert!(text.contains("\"D\"") && !text.contains("\"C\""), "{text}");
}

#[test]
fn what_is_left_out_is_not_refused() {
    let files = [(
        "index.js",
        "import fs from 'fs'; import 'x'; export const a = 1; export const read = () => fs.y(process.cwd(), fetch('z'));",
    )];
    let text = super::report(&[("main.ts", USES_A), ("node_modules/p/index.js", files[0].1)]);
    assert!(text.contains("cannot import `x`"), "{text}");
    let text = code(USES_A, &[("index.js", &files[0].1.replace("import 'x';", "import { x } from 'x';"))]);
    assert!(!text.contains("fetch"), "{text}");
}

#[test]
fn the_authors_own_files_stay_whole() {
    let text = bundled(&[
        ("main.ts", "import { a } from './lib.ts'; export const run = () => a;"),
        ("lib.ts", "export const a = 1; const b = 'KEPT';"),
    ])
    .code;
    assert!(text.contains("KEPT"), "{text}");
}

#[test]
fn names_of_common_js_that_are_passed_on_are_found_when_it_runs() {
    let files = [
        ("index.js", "export * from './b.cjs'; export * from './more.js'; export const own = 1;"),
        ("more.js", "export * from './c.cjs';"),
        ("b.cjs", "exports.a = 1;"),
        ("c.cjs", "exports.c = 1;"),
        PURE,
    ];
    let text = code("import { a, c, own } from 'p'; export const run = () => [a, c, own];", &files);
    assert!(text.contains("__rote_pass(__rote_m1, __rote_i0); __rote_pass(__rote_m1, __rote_i1);"), "{text}");
}
