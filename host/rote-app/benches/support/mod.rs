//! What the benchmarks share: an application in a folder of their own, an adapter of one GET, a run.
#![allow(dead_code, reason = "each benchmark uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rote_app::{AdapterNew, App, AppConfig, Consent, FlowRan, NoObserver, RunFlow};
use rote_types::RunLimits;

const DOCUMENT: &str = r#"{"openapi": "3.1.0", "info": {"title": "bench", "version": "1"},
  "paths": {"/item": {"get": {"operationId": "item", "responses": {"200": {"description": "one item"}}}}}}"#;

/// Writes a file of the benchmark's own.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file of the benchmark's own");
    path
}

/// Makes an application whose home and workspace are the benchmark's.
pub(crate) fn app(folder: &Path, instances: Option<u32>) -> App {
    App::new(AppConfig {
        home: folder.join("home"),
        workspace: Some("bench".to_owned()),
        directory: None,
        environment: Arc::new(BTreeMap::new()),
        keyring: false,
        instances,
        interrupt: Arc::new(rote_types::NoInterrupt),
    })
}

/// Installs the adapter `bench` with the tool `item`, a GET of `/item`.
pub(crate) async fn adapter(app: &App, folder: &Path, url: &str) {
    let wish = AdapterNew {
        id: "bench".to_owned(),
        spec: write(folder, "bench.json", DOCUMENT).to_string_lossy().into_owned(),
        base_url: Some(url.to_owned()),
        servers: Vec::new(),
        credential: None,
        name: None,
        strict: false,
    };
    let plan = app.adapter_plan(wish).await.expect("the adapter is made");
    app.adapter_install(plan, Consent::Unattended).expect("the adapter is installed");
}

/// Runs a flow to its end and returns how many calls it made.
pub(crate) async fn run(app: &App, flow: &str, limits: RunLimits) -> usize {
    let wish = RunFlow { flow: Some(flow.to_owned()), limits, ..RunFlow::default() };
    match app.run_flow(wish, Arc::new(NoObserver)).await.expect("the run ends well") {
        FlowRan::Done(report) => report.steps.len(),
        FlowRan::Dry(_) => unreachable!("it was no dry run"),
    }
}
