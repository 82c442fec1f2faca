//! What the sandbox costs: an instance against bare wasmtime, a prepared component from the cache, one query.
//!
//! Each figure has its baseline in the same run. `cargo bench -p rote-runtime`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints, and reads committed guests")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rote_home::Home;
use rote_runtime::{Prepared, Sandbox, SandboxedJq, World};
use rote_types::{Entropy, QueryEngine, QueryLimits};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, Store};

#[derive(Debug)]
struct FixedEntropy;

impl Entropy for FixedEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

/// Runs `work` a few thousand times and returns the median.
fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..2_000)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// The plan template, which is as large as an adapter's shell and imports as much.
fn template() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../flows/_plan/plan.wasm")).expect("it is committed")
}

/// The same component in wasmtime as it comes, with pooling: no limits, no epochs, imports that trap.
fn bare(bytes: &[u8]) -> (Engine, InstancePre<()>) {
    let mut config = Config::new();
    config.allocation_strategy(wasmtime::InstanceAllocationStrategy::pooling());
    let engine = Engine::new(&config).expect("the default engine starts");
    let component = Component::from_binary(&engine, bytes).expect("the template compiles");
    let mut linker = Linker::new(&engine);
    linker.define_unknown_imports_as_traps(&component).expect("its imports are functions");
    let pre = linker.instantiate_pre(&component).expect("it links");
    (engine, pre)
}

fn instantiate(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let home = Home::open(directory.path().join("home")).expect("a home");
    let sandbox = Sandbox::new(&home, &FixedEntropy);
    let bytes = template();
    let prepared: Arc<Prepared> = sandbox.prepare(World::Flow, &bytes).expect("it is a flow");
    let (engine, pre) = bare(&bytes);

    let ours = || prepared.instantiate_and_drop().expect("it instantiates");
    let theirs = || {
        let mut store = Store::new(&engine, ());
        black_box(pre.instantiate(&mut store).expect("it instantiates"));
    };
    let (our_median, their_median) = (median(ours), median(theirs));
    println!(
        "instantiate: p50 {our_median:?}, bare wasmtime {their_median:?}, ratio {:.2} (goal 1.2 and 15µs)",
        our_median.as_secs_f64() / their_median.as_secs_f64()
    );
    criterion.bench_function("instantiate/rote", |bencher| bencher.iter(ours));
    criterion.bench_function("instantiate/bare wasmtime", |bencher| bencher.iter(theirs));
}

fn prepare(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let home = Home::open(directory.path().join("home")).expect("a home");
    let bytes = template();
    let cold = Instant::now();
    Sandbox::new(&home, &FixedEntropy).prepare(World::Flow, &bytes).expect("it is a flow");
    let cold = cold.elapsed();
    let warm = || {
        // A sandbox of its own each time: a new process would find only the disk.
        black_box(Sandbox::new(&home, &FixedEntropy).prepare(World::Flow, &bytes).expect("it is a flow"));
    };
    println!("prepare: compiled {cold:?}, from the cache p50 {:?} (goal 1ms)", median(warm));
    criterion.bench_function("prepare/cached", |bencher| bencher.iter(warm));
}

fn query(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let home = Home::open(directory.path().join("home")).expect("a home");
    let engine = SandboxedJq::new(Arc::new(Sandbox::new(&home, &FixedEntropy)));
    let limits = QueryLimits::default();
    let tiny = || black_box(engine.run(".a", br#"{"a": 1}"#, &limits).expect("it is jq"));
    tiny();
    criterion.bench_function("query/tiny", |bencher| bencher.iter(tiny));

    let row =
        r#"{"id": 123456, "name": "Ada Lovelace", "tags": ["one", "two", "three"], "score": 12.5, "open": true},"#;
    let rows = row.repeat((10 << 20) / row.len());
    let input = format!("[{}]", rows.trim_end_matches(','));
    for program in [".", "length", "map(.id) | add"] {
        let limits = QueryLimits { time: Duration::from_secs(60), ..limits };
        let started = Instant::now();
        black_box(engine.run(program, input.as_bytes(), &limits).expect("it is jq"));
        println!("query `{program}` over {} bytes: {:?}", input.len(), started.elapsed());
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50).measurement_time(Duration::from_secs(3));
    targets = instantiate, prepare, query
}
criterion_main!(benches);
