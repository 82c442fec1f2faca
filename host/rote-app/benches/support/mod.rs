//! What the benchmarks share: a session in a folder of their own, an adapter of one GET, a run.
#![allow(dead_code, reason = "each benchmark uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rote_app::{
    AdapterNew, BuildRequest, BuildSource, Consent, Host, HostConfig, NoObserver, RunRequest, Session, SessionConfig,
};
use rote_types::RunLimits;

const DOCUMENT: &str = r#"{"openapi": "3.1.0", "info": {"title": "bench", "version": "1"},
  "paths": {"/item": {"get": {"operationId": "item", "responses": {"200": {"description": "one item"}}}}}}"#;

/// Writes a file of the benchmark's own.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file of the benchmark's own");
    path
}

/// Makes a session whose home and workspace are the benchmark's.
pub(crate) fn app(folder: &Path, instances: Option<u32>) -> Session {
    let environment = Arc::new(BTreeMap::new());
    let host = Host::new(HostConfig {
        home: folder.join("home"),
        directory: None,
        environment: Arc::clone(&environment),
        keyring: false,
        instances,
        interrupt: Arc::new(rote_types::NoInterrupt),
        passphrase: Arc::new(rote_app::NoPassphrase),
    });
    Session::new(
        Arc::new(host),
        SessionConfig { workspace: Some("bench".to_owned()), directory: None, environment, approvals: Vec::new() },
    )
}

/// Installs the adapter `bench` with the tool `item`, a GET of `/item`.
pub(crate) async fn adapter(app: &Session, folder: &Path, url: &str) {
    let wish = AdapterNew {
        id: "bench".to_owned(),
        spec: write(folder, "bench.json", DOCUMENT).to_string_lossy().into_owned(),
        base_url: Some(url.to_owned()),
        root: None,
        servers: Vec::new(),
        credential: None,
        name: None,
        strict: false,
    };
    let plan = app.adapter_plan(wish).await.expect("the adapter is made");
    app.adapter_install(plan, Consent::Unattended).expect("the adapter is installed");
}

/// Builds a flow from a file.
pub(crate) async fn build(app: &Session, path: &Path) {
    let source = BuildSource::of(path).expect("a source");
    let author = app.host().author().expect("an author");
    author.build(&BuildRequest { source, output: None }).await.expect("the flow is built");
}

/// Runs a flow to its end and returns how many calls it made.
pub(crate) async fn run(app: &Session, flow: &str, limits: RunLimits) -> usize {
    let request = RunRequest { flow: Some(app.flow(flow).expect("a flow")), limits, ..RunRequest::default() };
    app.run_flow(&request, Arc::new(NoObserver)).await.expect("the run ends well").steps.len()
}
