//! How long a large body takes, printed: `c test -p rote-govern -- --ignored --nocapture speed`.

use std::time::Instant;

use super::super::*;

#[test]
#[ignore = "prints times, decides nothing"]
fn speed_of_a_large_body() {
    let secrets =
        (0..10).map(|index| Secret::new(format!("T{index}"), format!("ghp_{index}A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6")));
    let redactor = Redactor::new(secrets);
    let row = r#"{"id":1296269,"node_id":"MDEwOlJlcG9zaXRvcnkxMjk2MjY5","url":"https://api.github.com/repos/octocat/Hello-World","text":"He said \"no\".\nThen he left & 100% sure \u00e9."},"#;
    let base64 = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2";
    let plain = aho_corasick::AhoCorasick::builder()
        .kind(Some(aho_corasick::AhoCorasickKind::ContiguousNFA))
        .build((0..150).map(|index| format!("{index}czNjcjN0L1RvaytCZmdoamtsc2RmZ2hqa2xz{index}")))
        .unwrap();
    for (name, part) in [("json", row), ("base64", base64), ("escapes", "\\u0041%42&#67;")] {
        let text = part.repeat((10 << 20) / part.len());
        let started = Instant::now();
        assert!(!plain.is_match(&text));
        println!("{name}: one pass over {} bytes in {:?}", text.len(), started.elapsed());
        let started = Instant::now();
        assert!(matches!(redactor.text(&text), Cow::Borrowed(_)));
        println!("{name}: {} bytes in {:?}", text.len(), started.elapsed());
    }
}
