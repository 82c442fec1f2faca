//! Foreign text as a module of a TypeScript flow, as a package of one, and as a source map: the compiler does not panic,
//! a script's map fits it, and a frontmatter that is written can be read.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use rote_script::{BundleLimits, ScriptError, SourceMap, bundle, frontmatter};

fn compile(files: &[(&str, &str)]) {
    let limits = BundleLimits { file_bytes: 1 << 16, nesting: 100, ..BundleLimits::default() };
    let sources: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    match bundle("main.ts", Arc::new(sources), &limits) {
        Ok(bundle) => {
            let map = SourceMap::parse(&bundle.map).expect("a map can be read");
            let _ = map.translate_text("rote:flow:1:1 rote:flow:99999999999:0 rote:flow:2:");
        }
        Err(error) => assert!(!matches!(error, ScriptError::Internal { .. }), "{error}"),
    }
}

fuzz_target!(|text: &str| {
    compile(&[("main.ts", text)]);
    let main = "import * as all from 'p'; import one from 'p'; export default async () => [all, one];";
    compile(&[("main.ts", main), ("node_modules/p/package.json", "{}"), ("node_modules/p/index.js", text)]);
    compile(&[("main.ts", main), ("node_modules/p/package.json", text), ("node_modules/p/index.js", "")]);
    if let Ok(map) = SourceMap::parse(text) {
        let _ = map.translate_text("rote:flow:1:1");
    }
    if frontmatter::extract(text).is_ok() {
        let written = frontmatter::replace(text, "name: a\n");
        let block = frontmatter::extract(&written).expect("what was written has two fences");
        assert_eq!(block.map(|block| block.yaml).as_deref(), Some("name: a\n"));
    }
});
