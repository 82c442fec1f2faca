//! What governing costs: a recorded GET of 1 KB on loopback, through guest, gate, journal and workspace, against
//! bare reqwest to the same server in the same run. `cargo bench -p rote-app`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and its baseline is a client of its own"
)]

mod support;

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rote_app::{CallRequest, Session};
use tokio::runtime::Runtime;

/// Calls whose median is printed.
const CALLS: usize = 500;

/// Answers every request with 1 KB of JSON and keeps connections open.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    url
}

fn answer(mut stream: TcpStream) {
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(1024 - 11));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let reply = format!("{head}{body}");
    let mut request = Vec::new();
    let mut chunk = [0_u8; 4096];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        request.extend_from_slice(&chunk[..count]);
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn app(home: &std::path::Path, url: &str, runtime: &Runtime) -> Session {
    let app = support::app(home, None);
    runtime.block_on(support::adapter(&app, home, url));
    app.init("bench").expect("a workspace");
    app
}

fn request() -> CallRequest {
    CallRequest {
        adapter: "bench".to_owned(),
        tool: "item".to_owned(),
        arguments: serde_json::Map::new(),
        parameters: Vec::new(),
        confirm: None,
        dry_run: false,
        save_as: None,
        references: rote_app::References::Ask,
        timeout: None,
    }
}

fn median(mut each: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..CALLS)
        .map(|_| {
            let start = Instant::now();
            each();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[CALLS / 2]
}

fn governed_get(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("an executor");
    let url = serve();
    let home = tempfile::tempdir().expect("a temporary home");
    let app = app(home.path(), &url, &runtime);
    let client = reqwest::Client::new();
    let target = format!("{url}/item");
    let mut governed = || {
        black_box(runtime.block_on(app.call(request())).expect("the call succeeds"));
    };
    let mut bare = || {
        let body = runtime.block_on(async { client.get(&target).send().await?.bytes().await });
        assert_eq!(black_box(body.expect("the request succeeds")).len(), 1024);
    };
    governed();
    bare();
    let (ours, base) = (median(&mut governed), median(&mut bare));
    println!(
        "governed recorded GET of 1 KB: {ours:?}; bare reqwest: {base:?}; ratio {:.2} (goal: 1.3)",
        ours.as_secs_f64() / base.as_secs_f64()
    );
    criterion.bench_function("governed recorded GET of 1 KB", |b| b.iter(&mut governed));
    criterion.bench_function("baseline: bare reqwest", |b| b.iter(&mut bare));
}

criterion_group!(benches, governed_get);
criterion_main!(benches);
