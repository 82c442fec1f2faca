//! Sources that nobody would write: never a panic, always an answer.

use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::{assert_script, try_bundle};
use crate::ScriptError;
use crate::scan::{Kind, Scanner};

const SEED: &str = r#"#!/usr/bin/env rote
/** @rote-frontmatter
 * ---
 * a: 1
 * --- */
import d, { a as b, type T } from "./lib.ts";
import * as all from "@rote/sdk";
export * from "./lib.ts";
export { b as c, d as "x y" };
enum E { A = 1, B = `x${1}`.length }
namespace N { export const q = /[/"]\/(a)/g; }
abstract class K<U> extends (class {}) { constructor(private p = 1) { super(); } static #s = 2; get v(): U { return this.p as any; } }
export default async function* run<V>({ x = [b], ...rest }: V, ...more: T[]): AsyncGenerator {
  label: for (const k of [1, 2]) { if (k > 1) continue label; else await all.call`${b(k)}`; }
  try { yield x?.[0]! ?? rest; } catch { throw new Error("é" + d); } finally { ({ b }); }
  return <number>(1 as unknown) satisfies number;
}
"#;
const COMMENTED: &str = r#"
let s = "/* a */" + '// b' /* c */ + `/* ${ /* d */ `// ${1 /* e */}` } // f`; // g
if (s) /[/*]\/*"/.test(s) /* h */; const q = s.length /* i */ / 2 /* j */ / 3; // k
const f = <T,>(x: T) => /'/u /* l */; type M = Array<Array<string>> /* m */; s! / 2 /* n */;
do /* o */ x++ /* p */; while (x / 1 > 2 /* q */ / 3) /* r */
class P { static /* s */ if(x = /* t */ /\//g) { return x } get [/* u */ 'a']() { return 1 / 2 /* v */ } }
"#;
const LIB: &str = "export const a = (x: number) => x / 2 / 1;\nexport type T = string;\nexport default a;\n";

const PACKAGE: &str = r#"
import d, { a as b } from "./lib.js"; import * as all from "./lib.js"; export * from "./lib.js"; export { all, d as "x y" };
const made = /* @__PURE__ */ make(1), { p, ...q } = all; var v = typeof fetch === "function" ? fetch : global;
function make(x) { return class extends Object { static #s = x; static { made; } get [v]() { return p?.[q] ?? `${b}`; } }; }
export default class A extends make(2) {} export let n = 0; n += b; if (process.env.NODE_ENV !== "production") all.a;
"#;
const COMMON_JS: &str = r#"'use strict';
var q = require('./lib.js'), j = require("./d.json"); if (!q) return;
try { exports.t = require('gone'); } catch (error) { exports.t = require; }
Object.defineProperty(exports, '__esModule', { value: true }); exports.default = module.exports.a = function () { return this === q; };
(function (root, make) { typeof define === 'function' && define.amd ? define(make) : make(exports); })(this, (e) => { e.b = global.x; });
"#;

type Spans = Vec<(u32, u32)>;

/// Where a source that parses has comments: to the parser and to the scanner, or `None` when the scanner gave up.
///
/// Comments stand for everything that the scanner must see as the parser does: a string, a template or a regular
/// expression that ends elsewhere would swallow one or make one.
fn comments(source: &str) -> Option<(Spans, Spans)> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::ts()).parse();
    let pieces = Scanner::new(source).collect::<Result<Vec<_>, _>>().ok()?;
    let to_scanner = pieces
        .iter()
        .filter(|piece| piece.kind == Kind::Comment && !source[piece.start..].starts_with("#!"))
        .map(|piece| (u32::try_from(piece.start).unwrap(), u32::try_from(piece.end).unwrap()));
    let to_parser = parsed.program.comments.iter().map(|comment| (comment.span.start, comment.span.end));
    parsed.diagnostics.is_empty().then(|| (to_parser.collect(), to_scanner.collect()))
}

/// One change: where, how much goes, what comes.
fn edit() -> impl Strategy<Value = (usize, usize, String)> {
    let pieces = [
        "",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "`",
        "${",
        "/",
        "*/",
        "/*",
        "//",
        "\"",
        "'",
        "\\",
        "<",
        ">",
        "=>",
        ";",
        ",",
        ".",
        "?",
        "!",
        ":",
        "@",
        "#",
        "import ",
        "export ",
        "default ",
        "await ",
        "async ",
        "class ",
        "enum ",
        "type ",
        "declare ",
        "namespace ",
        "__rote_i0",
        "\u{2028}",
        "\u{feff}",
        "é",
        "\0",
        "\n",
        "from",
        "as ",
        "b = 1",
        "...",
        "0x",
        "1e",
        "/a/",
        "-->",
        "<!--",
    ];
    let text = proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned);
    (any::<usize>(), 0_usize..12, text)
}

fn mutated(source: &str, edits: &[(usize, usize, String)]) -> String {
    let mut text = source.to_owned();
    for (at, length, new) in edits {
        let start = text.floor_char_boundary(at % (text.len() + 1));
        let end = text.ceil_char_boundary((start + length).min(text.len()));
        text.replace_range(start..end, new);
    }
    text
}

/// A flow that takes all of a package whose entry is this file.
fn package<'t>(name: &'t str, text: &'t str) -> Vec<(&'static str, &'t str)> {
    let path = if name == "index.ts" { "node_modules/p/index.ts" } else { "node_modules/p/index.js" };
    vec![
        ("main.ts", "import * as p from 'p';\nimport { a } from 'p';\nexport const run = () => [p, a];"),
        (path, text),
        ("node_modules/p/lib.js", "export const a = 1; export default a; export const unused = 2;"),
        ("node_modules/p/lib.ts", LIB),
        ("node_modules/p/d.json", "{}"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn mutated_sources_are_bundled_or_refused(edits in proptest::collection::vec(edit(), 1..5), in_lib: bool) {
        let (main, lib) = if in_lib { (SEED.to_owned(), mutated(LIB, &edits)) } else { (mutated(SEED, &edits), LIB.to_owned()) };
        match try_bundle(&[("main.ts", &main), ("lib.ts", &lib)]) {
            Ok(bundle) => {
                assert_script(&bundle.code);
                prop_assert!(bundle.code.len() < 8 * (main.len() + lib.len()) + 2_000);
            }
            Err(error) => {
                prop_assert!(!matches!(error, ScriptError::Internal { .. }), "{error}\n{main}\n{lib}");
                prop_assert!(error.report().len() < 10_000);
            }
        }
    }

    #[test]
    fn mutated_packages_are_bundled_or_refused(edits in proptest::collection::vec(edit(), 1..5), seed in 0_usize..3) {
        let (name, text) = [("index.js", PACKAGE), ("index.js", COMMON_JS), ("index.ts", SEED)][seed];
        let text = mutated(text, &edits);
        match try_bundle(&package(name, &text)) {
            Ok(bundle) => {
                assert_script(&bundle.code);
                prop_assert!(bundle.code.len() < 8 * text.len() + 8_000);
            }
            Err(error) => {
                prop_assert!(!matches!(error, ScriptError::Internal { .. }), "{error}\n{text}");
                prop_assert!(error.report().len() < 10_000);
            }
        }
    }

    #[test]
    fn the_scanner_sees_the_comments_that_the_parser_sees(edits in proptest::collection::vec(edit(), 0..8)) {
        let source = mutated(&format!("{SEED}{COMMENTED}"), &edits);
        if let Some((to_parser, to_scanner)) = comments(&source) {
            prop_assert_eq!(to_parser, to_scanner, "{}", source);
        }
    }

    #[test]
    fn pieces_of_source_are_bundled_or_refused(pieces in proptest::collection::vec(edit(), 0..60)) {
        let main: String = pieces.into_iter().map(|(_, _, text)| text).collect();
        let error = try_bundle(&[("main.ts", &main), ("lib.ts", LIB)]).err();
        prop_assert!(!matches!(error, Some(ScriptError::Internal { .. })), "{error:?}\n{main}");
    }
}

#[test]
fn the_seeds_are_good() {
    let (to_parser, to_scanner) = comments(&format!("{SEED}{COMMENTED}")).unwrap();
    assert_eq!(to_parser.len(), 20);
    assert_eq!(to_parser, to_scanner);
    for (name, text) in [("index.js", PACKAGE), ("index.js", COMMON_JS)] {
        assert_script(&try_bundle(&package(name, text)).map_err(|error| error.report()).unwrap().code);
    }
    assert_script(&try_bundle(&[("main.ts", SEED), ("lib.ts", LIB)]).map_err(|error| error.report()).unwrap().code);
}
