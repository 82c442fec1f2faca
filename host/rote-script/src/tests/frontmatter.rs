//! The YAML block.

use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};

use crate::frontmatter::{Block, extract, replace};

fn block(yaml: &str, line: u32) -> Option<Block> {
    Some(Block { yaml: yaml.into(), line })
}

#[test]
fn a_starred_block_is_read_with_its_line() {
    let source = "#!/usr/bin/env rote\n/* no */ const s = \"/** @rote-frontmatter */\";\n/**\n * About.\n * @rote-frontmatter\n * ---\n * name: x\n * list:\n *   - *anchor\n *\n * ---\n * More.\n */\n";
    assert_eq!(extract(source).unwrap(), block("name: x\nlist:\n  - *anchor\n\n", 7));
}

#[test]
fn a_plain_block_and_the_older_tag_are_read() {
    let source = "/**\r\n@dex-frontmatter\r\n  ---\r\n  name: x\r\n    *b: 1\r\n\r\n  ---\r\n*/";
    assert_eq!(extract(source).unwrap(), block("name: x\n  *b: 1\n\n", 4));
}

#[test]
fn a_source_without_a_block_has_none() {
    for source in [
        "",
        "const a = 1;",
        "/* @rote-frontmatter\n---\n--- */",
        "// @rote-frontmatter\n",
        "/** @rote-frontmatters */",
        "/**",
    ] {
        assert_eq!(extract(source).unwrap(), None, "{source}");
    }
}

#[test]
fn a_block_without_its_fences_is_an_error_with_a_line() {
    let error = extract("\n/**\n * @rote-frontmatter\n * ---\n * name: x\n */").unwrap_err();
    assert_eq!(error.to_string(), "frontmatter, line 4: the block has no closing `---` line");
    let error = extract("\n/**\n * @rote-frontmatter\n */").unwrap_err();
    assert_eq!(error.to_string(), "frontmatter, line 2: no `---` line follows the tag");
}

#[test]
fn a_new_block_goes_to_the_top() {
    let expected = "#!/usr/bin/env rote\n/**\n * @rote-frontmatter\n * ---\n * name: x\n *\n * glob: a*\\/b\n * ---\n */\nrun();\n";
    let written = replace("#!/usr/bin/env rote\nrun();\n", "---\nname: x\n\nglob: a*/b\n---\n");
    assert_eq!(written, expected);
    assert_eq!(extract(&written).unwrap(), block("name: x\n\nglob: a*/b\n", 5));
}

#[test]
fn replacing_keeps_the_rest_of_the_comment() {
    let source = "/**\n\t * Text.\n\t * @dex-frontmatter\n\t * ---\n\t * a: 1\n\t * ---\n\t * End.\n\t */\nrun();";
    let expected = "/**\n\t * Text.\n\t * @dex-frontmatter\n\t * ---\n\t * b: 2\n\t * ---\n\t * End.\n\t */\nrun();";
    assert_eq!(replace(source, "b: 2"), expected);
}

#[test]
fn replacing_mends_a_broken_block() {
    let written = replace("/** @rote-frontmatter */\nrun();", "a: 1");
    assert_eq!(extract(&written).unwrap(), block("a: 1\n", 4));
    assert!(written.ends_with("*/\nrun();"));
}

fn yaml() -> impl Strategy<Value = String> {
    let line =
        r"[ a-z:*/\\#'{}-]{0,12}|[^\n\r]{0,8}".prop_filter("a fence ends the block", |line| line.trim_end() != "---");
    proptest::collection::vec(line, 0..8).prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        source in r"(#!/bin/x\n)?(/\*\*\n( \* )?@rote-frontmatter\n(  | \* )?---\n(a: 1\n)?(  | \* )?---\n\*/)?[a-z;\n]{0,20}",
        yaml in yaml(),
    ) {
        let written = replace(&source, &yaml);
        let read = extract(&written).unwrap().unwrap();
        prop_assert_eq!(&read.yaml, &yaml, "{}", written);
        prop_assert_eq!(replace(&written, &yaml), written.clone());
        let at = written.lines().nth(read.line as usize - 1).unwrap_or_default();
        prop_assert!(yaml.is_empty() || at.ends_with(&yaml.lines().next().unwrap().replace("*/", "*\\/")) || yaml.contains("*\\"));
    }

    #[test]
    fn any_text_is_read_or_refused(source in r"([ -~\n]|/\*\*|\*/|@rote-frontmatter\n|---\n| \* ){0,40}", yaml in r"[ -~\n]{0,40}") {
        let _ = extract(&source);
        let _ = extract(&replace(&source, &yaml));
    }
}
