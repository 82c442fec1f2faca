//! Everything is bounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{bundled, sources, try_bundle};
use crate::{BundleLimits, bundle};

const RUN: &str = "\nexport function run() {}\n";

fn error(source: &str) -> String {
    try_bundle(&[("main.ts", &format!("{source}{RUN}"))]).unwrap_err().to_string()
}

fn limited(files: &[(&str, &str)], limits: BundleLimits) -> String {
    bundle("main.ts", sources(files), &limits).unwrap_err().to_string()
}

#[test]
fn a_hundred_thousand_brackets_are_an_error_and_no_overflow() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("`${", "}`"), ("()=>{", "}"), ("(a=", ")=>a")]
    {
        let source = format!("x = {}1{};", open.repeat(100_000), close.repeat(100_000));
        let text = error(&source);
        assert!(text.contains("nested too deeply: more than 500 open brackets"), "{text}");
        // Unfinished, too.
        assert!(error(&source[..source.len() / 2]).contains("nested too deeply"));
    }
}

#[test]
fn a_hundred_thousand_links_are_an_error_and_no_overflow() {
    for link in [
        "!",
        "-",
        "+y",
        "**y",
        "a=>",
        "async a=>",
        "a=",
        "a?b:",
        ".a",
        "?.a",
        "as a ",
        "typeof ",
        "await ",
        "new ",
        "a<b,",
        "<a>",
        "class extends ",
        "``",
        "/a/.",
        "// \u{2028}!",
        "\"\\\n\"+",
        "/* */!",
        "!\u{a0}",
    ] {
        let text = error(&format!("x = {}y;", link.repeat(100_000 / link.len().min(8))));
        assert!(text.contains("nested too deeply: more than 5000 words"), "{link}: {text}");
    }
    for link in ["if(a)", "if(a)b;else ", "if(a)b,c;else ", "while(a)", "for(;;)", "do ", "a:", "if(a)b\nelse "] {
        let text = error(&format!("{}y;", link.repeat(20_000)));
        assert!(text.contains("nested too deeply"), "{link}: {text}");
    }
    for link in ["keyof ", "()=>", "A<", "A<a,", "a extends b?c:", "a|", "infer a extends "] {
        let text = error(&format!("type X = {}y;", link.repeat(20_000)));
        assert!(text.contains("nested too deeply"), "{link}: {text}");
    }
}

#[test]
fn the_deepest_that_is_let_through_fits_the_stack() {
    let chains = [
        ("!", 1),
        ("+y", 2),
        ("**y", 3),
        ("a=>", 3),
        ("a=", 2),
        ("a?b:", 4),
        ("a<", 2),
        ("class extends ", 2),
        ("await ", 1),
        ("new ", 1),
        ("typeof ", 1),
        ("<a>", 3),
        (".a", 2),
    ];
    for (link, pieces) in chains {
        let _ = try_bundle(&[("main.ts", &format!("async () => {}y;{RUN}", link.repeat(4_900 / pieces)))]);
    }
    for (link, pieces) in [("if(a)", 3), ("do ", 1), ("while(a)", 3), ("A<", 2), ("if(a)b;else ", 5)] {
        let _ = try_bundle(&[("main.ts", &format!("{}y;{RUN}", link.repeat(4_900 / pieces)))]);
    }
    for (link, pieces) in [("A<", 2), ("keyof ", 1), ("()=>", 4), ("infer a extends ", 3)] {
        let _ = try_bundle(&[("main.ts", &format!("type X = {}y;{RUN}", link.repeat(4_900 / pieces)))]);
    }
    for (open, close, brackets) in
        [("(", ")", 1), ("a<(", ")", 1), ("f(()=>{", "})", 2), ("(a=", ")=>a", 1), ("{a:[", "]}", 2)]
    {
        let depth = 490 / brackets;
        bundled(&[("main.ts", &format!("x = {}y{};{RUN}", open.repeat(depth), close.repeat(depth)))]);
    }
}

#[test]
fn long_is_not_deep() {
    let table: String = (0..20_000).map(|n| format!("  key{n}: [{n}, \"a\", -1],\n")).collect();
    let statements: String = (0..5_000).map(|n| format!("const a{n} = f(b.c, {n})\n")).collect();
    let methods: String = (0..2_000).map(|n| format!("  m{n}(a: number): void;\n")).collect();
    bundled(&[("main.ts", &format!("const table = {{\n{table}}};\n{statements}interface I {{\n{methods}}}{RUN}"))]);
}

#[test]
fn slashes_are_told_apart() {
    bundled(&[(
        "main.ts",
        "const a = b / c / d, e = (1) / 2, f = [1][0] / 2, g = x! / 2, h = i++ / 2;\n\
         const r = [/[/(\"]/g, /\\/(/.source, x => /`(/u, typeof /'(/]; if (a) /\"(/.test(b); return2(/(\"/);\n\
         function return2(x) { return /[\"'`({]/.test(x) ? `${x / 2}/${{}}` : a /\n b; }\nexport const run = () => 1;"
            .replace("/\\/(/", "/\\/[(]/")
            .replace("/`(/u", "/`[(]/u")
            .replace("/'(/", "/'[(]/")
            .replace("/\"(/", "/\"[(]/")
            .replace("/(\"/", "/[(]\"/")
            .as_str(),
    )]);
    // What cannot be told is refused: guessing wrong could hide the rest of the file.
    let text = error(&format!("{{}}/\"/;{}", "(".repeat(100_000)));
    assert!(text.contains("this `/` is not supported: it may divide or start a regular expression"), "{text}");
}

#[test]
fn files_and_bundles_have_sizes() {
    let small =
        BundleLimits { file_bytes: 60, source_bytes: 80, modules: 2, output_bytes: 2_000, ..BundleLimits::default() };
    let run = "import './a.ts'; import './b.ts'; export const run = 1;";
    let text = limited(&[("main.ts", &" ".repeat(61))], small);
    assert_eq!(text, "`main.ts` is too large, in bytes: 61 of at most 60");
    let text = limited(&[("main.ts", run), ("a.ts", &" ".repeat(26)), ("b.ts", "")], small);
    assert_eq!(text, "the sources are too large, in bytes: 81 of at most 80");
    let text = limited(&[("main.ts", run), ("a.ts", ""), ("b.ts", "")], small);
    assert_eq!(text, "too many modules: 3 of at most 2");
    let text = limited(&[("main.ts", "export const run = () => 1;")], BundleLimits { output_bytes: 100, ..small });
    assert!(text.starts_with("the bundled script is too large, in bytes: "), "{text}");
    let text = limited(&[("main.ts", "x = ((1)); export const run = () => 1;")], BundleLimits { nesting: 1, ..small });
    assert!(text.contains("more than 1 open brackets"), "{text}");
}

#[test]
fn a_long_chain_of_modules_is_linked() {
    let mut files: BTreeMap<String, String> = (0..500)
        .map(|n| (format!("m{n}.ts"), format!("import './m{}.ts'; export * from './m0.ts';", (n + 1) % 500)))
        .collect();
    files.insert("m499.ts".into(), "export const run = () => 1;".into());
    files.insert("m0.ts".into(), "import './m1.ts'; export * from './m499.ts';".into());
    let bundle = bundle("m0.ts", Arc::new(files), &BundleLimits::default()).unwrap();
    assert_eq!(bundle.modules.len(), 500);
    assert!(bundle.code.contains(r#"["run", () => __rote_m2["run"]]"#), "{}", &bundle.code[..1000]);
}

#[test]
fn star_exports_of_many_modules_are_bounded() {
    let circle = |count: usize| -> Arc<BTreeMap<String, String>> {
        let names = |n: usize| (0..count).map(|name| format!("export const a{n}_{name} = 1;")).collect::<String>();
        let file = |n: usize| format!("export * from './m{}.ts'; {}", (n + 1) % count, names(n));
        let mut files: BTreeMap<_, _> = (0..count).map(|n| (format!("m{n}.ts"), file(n))).collect();
        files.entry("m0.ts".into()).or_default().push_str("export const run = () => 1;");
        Arc::new(files)
    };
    assert!(bundle("m0.ts", circle(20), &BundleLimits::default()).is_ok());
    let error = bundle("m0.ts", circle(80), &BundleLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "the names that `export *` gives are too many: 200001 of at most 200000");
}

#[test]
fn a_long_chain_of_names_is_followed_without_recursion() {
    let names: String = (1..20_000).map(|n| format!("x{n} as x{},", n - 1)).collect();
    let source = format!("export {{ {names} }} from './main.ts'; export const x19999 = 1; export const run = () => 1;");
    let code = bundled(&[("main.ts", &source)]).code;
    assert!(code.contains(r#"["x0", () => x19999]"#));
}
