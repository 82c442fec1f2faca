//! What becomes of TypeScript's own syntax.

use expect_test::{Expect, expect};

use super::{body, bundled, report};

fn check(source: &str, expected: Expect) {
    expected.assert_eq(&body(source));
}

#[test]
fn types_vanish() {
    check(
        "interface A { a: string }
         type B = A | `x${string}`;
         declare const ambient: number;
         declare module 'x' { export const y: 1; }
         declare global { interface Window {} }
         const a = (<any>1 as number)! satisfies number;
         function f<T extends A>(this: A, x?: T): x is T { return true; }
         let g = f<A>;",
        expect![[r#"
            const a = 1;
            function f(x) {
            return true;
            }
            let g = f;
        "#]],
    );
}

#[test]
fn overloads_and_abstract_members_vanish() {
    check(
        "function over(a: string): string;
         function over(a: number): number;
         function over(a: any) { return a; }
         abstract class Base<T> { abstract go(): void; declare z: T; y?: T; private readonly q: number = 1; }",
        expect![[r#"
            function over(a) {
            return a;
            }
            class Base {
            y;
            q = 1;
            }
        "#]],
    );
}

#[test]
fn parameter_properties_become_fields() {
    check(
        "class Point { constructor(public x: number, private readonly y = 2) {} }",
        expect![[r#"
            class Point {
            x;
            y;
            constructor(x, y = 2) {
            this.x = x;
            this.y = y;
            }
            }
        "#]],
    );
}

#[test]
fn enums_become_objects() {
    check(
        "enum Color { Red = 'red', Blue = 'blue' }
         const enum Level { Low = 1, High = Low << 2 }",
        expect![[r#"
            var Color = function(Color) {
            Color["Red"] = "red";
            Color["Blue"] = "blue";
            return Color;
            }(Color || {});
            var Level = function(Level) {
            Level[Level["Low"] = 1] = "Low";
            Level[Level["High"] = 4] = "High";
            return Level;
            }(Level || {});
        "#]],
    );
}

#[test]
fn namespaces_become_objects() {
    check(
        "namespace N { export const x = 3; export function f() { return x; } }
         namespace OnlyTypes { export type T = string }
         import short = N.f;
         short();",
        expect![[r#"
            let N;
            (function(_N) {
            const x = _N.x = 3;
            function f() {
            return x;
            }
            _N.f = f;
            })(N || (N = {}));
            var short = N.f;
            short();
        "#]],
    );
}

#[test]
fn modern_syntax_is_left_as_it_is() {
    check(
        "class A { #p = 1; static { A.q ??= 2; } static q?: number; has(x: object) { return #p in x; } }
         const big = 1_000n ** 2n;",
        expect![[r#"
            class A {
            #p = 1;
            static {
            A.q ??= 2;
            }
            static q;
            has(x) {
            return #p in x;
            }
            }
            const big = 1000n ** 2n;
        "#]],
    );
}

#[test]
fn a_namespace_that_exports_a_variable_is_refused() {
    let text = report(&[("main.ts", "namespace N { export let x = 1; }\nexport function run() {}")]);
    assert!(text.starts_with("`main.ts:1:"), "{text}");
    assert!(text.contains("this use of TypeScript is not supported: namespaces exporting non-const"), "{text}");
}

#[test]
fn javascript_files_have_no_types() {
    let text = report(&[
        ("main.ts", "import { a } from './a.js';\nexport const run = () => a;"),
        ("a.js", "export const a: number = 1;"),
    ]);
    assert!(text.starts_with("syntax error in `a.js:1:14`"), "{text}");
}

#[test]
fn a_package_of_typescript_is_one() {
    let source = "declare global { interface X {} }\ndeclare module 'y' { export const z: number; }\n\
                  declare namespace Q { const a: number; }\nimport type fs = require('fs');\nenum E { A = 1 }\n\
                  namespace N { export const b = 2; }\nimport c = N.b;\nexport const a: number = E.A + c;\n\
                  export abstract class K { abstract m(): void; constructor(private p = 1) {} }";
    let code = bundled(&[
        ("main.ts", "import { a } from 'p'; export const run = () => a;"),
        ("node_modules/p/package.json", r#"{"exports": "./src/index.ts"}"#),
        ("node_modules/p/src/index.ts", source),
    ])
    .code;
    assert!(code.contains("const a = E.A + c;") && !code.contains("class K"), "{code}");
}
