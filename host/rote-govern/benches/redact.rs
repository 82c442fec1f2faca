//! The redactor over large bodies of ten values: time against one pass of an automaton over the same bytes, in the same
//! run. Base64 is decoded at four alignments and each reading searched; escapes are undone up to four times.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use criterion::{Criterion, criterion_group, criterion_main};
use rote_govern::{Redactor, Secret};

/// Bytes of each body.
const BODY: usize = 4 << 20;
const RUNS: u32 = 5;

const ROW: &str = r#"{"id":1296269,"node_id":"MDEwOlJlcG9zaXRvcnkxMjk2MjY5","url":"https://api.example/repos/x","text":"He said \"no\".\nThen he left & 100% sure \u00e9."},"#;

fn values() -> Vec<String> {
    (0..10).map(|index| format!("ghp_{index}A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6")).collect()
}

/// Base64 of bytes that are not text.
fn noise() -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(alphabet[usize::try_from(state >> 58).unwrap_or(0)])
    };
    (0..BODY).map(|_| next()).collect()
}

fn redact(criterion: &mut Criterion) {
    let redactor = Redactor::new(values().into_iter().map(|value| Secret::new("T", value)));
    let one_pass = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(values()).expect("ten short patterns");
    let bodies = [
        ("json", ROW.repeat(BODY / ROW.len())),
        ("base64 of noise", noise()),
        ("escapes of three kinds", "\\u0041%42&#67;".repeat(BODY / 14)),
    ];
    for (name, body) in &bodies {
        let base = each(|| one_pass.find_iter(black_box(body)).count());
        let ours = each(|| redactor.text(black_box(body)).len());
        println!(
            "redact {name}: {ours:?} for {} bytes, one pass {base:?}, ratio {:.0}",
            body.len(),
            ours.as_secs_f64() / base.as_secs_f64()
        );
        criterion.bench_function(&format!("redact/{name}"), |b| b.iter(|| redactor.text(black_box(body)).len()));
    }
}

/// Mean time of one call.
fn each(mut body: impl FnMut() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..RUNS {
        black_box(body());
    }
    start.elapsed() / RUNS
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = redact }
criterion_main!(benches);
