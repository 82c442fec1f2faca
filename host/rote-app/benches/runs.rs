//! What a whole governed run costs beside its component: journal, workspace, tape, report. A plan, a script and a Rust
//! flow that call nothing, against bare wasmtime making an instance of the same component and calling its `describe`.
//! `cargo bench -p rote-app --bench runs`; `rote bench` has whole commands, against node.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and makes its own files")]

mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rote_app::Session;
use rote_types::RunLimits;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

/// Runs whose median is printed.
const RUNS: usize = 200;

const HEADER: &str = "name: plan\ndescription: Calls nothing.\nversion: 0.1.0\n";
const PLAN: &str = r#"{"version":1,"steps":[],"result":1}"#;
const SCRIPT: &str = "/**\n * @rote-frontmatter\n * ---\n * name: script\n * description: Calls nothing.\n * ---\n */\n\
                      export default async function main() { return 1; }\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An application with the three flows.
async fn app(folder: &Path) -> Session {
    let app = support::app(folder, None);
    support::write(folder, "flow.yaml", HEADER);
    let plan = support::write(folder, "plan.json", PLAN);
    let script = support::write(folder, "main.ts", SCRIPT);
    for path in [plan, script, repository().join("tests/fixtures/wasi/wasi.wasm")] {
        support::build(&app, &path).await;
    }
    app
}

/// A component in wasmtime as it comes, with pooling: no limits, no epochs, imports that trap.
fn bare(component: &Path) -> (Engine, InstancePre<()>) {
    let mut config = Config::new();
    config.allocation_strategy(InstanceAllocationStrategy::pooling());
    let engine = Engine::new(&config).expect("the default engine starts");
    let bytes = std::fs::read(component).expect("it is committed");
    let component = Component::from_binary(&engine, &bytes).expect("it compiles");
    let mut linker = Linker::new(&engine);
    linker.define_unknown_imports_as_traps(&component).expect("its imports are functions");
    let pre = linker.instantiate_pre(&component).expect("it links");
    (engine, pre)
}

fn describe((engine, pre): &(Engine, InstancePre<()>)) {
    let mut store = Store::new(engine, ());
    let instance = pre.instantiate(&mut store).expect("an instance");
    let describe = instance.get_typed_func::<(), (String,)>(&mut store, "describe").expect("it describes itself");
    describe.call(&mut store, ()).expect("its description");
}

fn median(mut work: impl FnMut()) -> Duration {
    work();
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
}

fn main() {
    // `cargo test --benches` builds this and must not wait for it.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let executor = tokio::runtime::Runtime::new().expect("an executor");
    let folder = tempfile::tempdir().expect("a folder");
    let app = executor.block_on(app(folder.path()));
    // The Rust flow sleeps, which is not what is measured.
    let flows = [
        ("plan", "flows/_plan/plan.wasm", Duration::ZERO),
        ("script", "flows/_js/js.wasm", Duration::ZERO),
        ("wasi", "tests/fixtures/wasi/wasi.wasm", Duration::from_millis(20)),
    ];
    for (flow, component, sleep) in flows {
        let run = || assert_eq!(executor.block_on(support::run(&app, flow, RunLimits::default())), 0);
        let governed = median(run).saturating_sub(sleep);
        let bare = bare(&repository().join(component));
        let baseline = median(|| describe(&bare));
        let ratio = governed.as_secs_f64() / baseline.as_secs_f64();
        println!("run of {flow}: {governed:?}; bare wasmtime, instance and `describe`: {baseline:?}; ratio {ratio:.0}");
    }
}
