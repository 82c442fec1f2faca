//! Tests of the whole way, from sources to a script.

mod calls;
mod frontmatter;
mod limits;
mod modules;
mod mutations;
mod packages;
mod refusals;
mod shaking;
mod source_map;
mod typescript;

use std::collections::BTreeMap;
use std::sync::Arc;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::{Bundle, BundleLimits, ScriptError, bundle};

fn sources(files: &[(&str, &str)]) -> Arc<BTreeMap<String, String>> {
    Arc::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

fn try_bundle(files: &[(&str, &str)]) -> Result<Bundle, ScriptError> {
    bundle("main.ts", sources(files), &BundleLimits::default())
}

/// Bundles, and parses the script as a script.
fn bundled(files: &[(&str, &str)]) -> Bundle {
    let bundle = try_bundle(files).map_err(|error| error.report()).unwrap();
    assert_script(&bundle.code);
    bundle
}

fn assert_script(code: &str) {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, SourceType::script()).parse();
    assert!(parsed.diagnostics.is_empty(), "{:?}\n{code}", parsed.diagnostics);
}

/// The body of the entry, when it is the only module.
fn body(source: &str) -> String {
    let code = bundled(&[("main.ts", &format!("{source}\nexport function run() {{}}\n"))]).code;
    let (_, body) = code.split_once("yield;\n").unwrap();
    body.split_once("function run() {}").unwrap().0.to_owned()
}

fn report(files: &[(&str, &str)]) -> String {
    try_bundle(files).unwrap_err().report()
}
