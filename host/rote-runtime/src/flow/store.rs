//! `rote:host/vars` and `rote:host/files`: what a run keeps in its workspace.
//!
//! What is read goes on the tape; what is written is written again when a run goes on, with the same value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rote_types::ErrorKind;
use rote_workspace::NamedFile;
use serde_json::Value;

use super::{FlowState, invalid, read_json};
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::flow::rote::host::{files, vars};
use crate::error::RunError;

/// Most bytes of one variable as JSON text.
const VARIABLE_BYTES: usize = 1 << 20;

impl vars::Host for FlowState {
    async fn get(&mut self, name: String) -> wasmtime::Result<Result<Option<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let value: Result<Option<Value>, RunError> =
            self.taped(&format!("vars.get {name}"), |run| Ok(run.workspace.var(&name)?.map(|variable| variable.value)));
        Ok(self.pass(value.map(|value| value.map(|value| value.to_string()))))
    }

    async fn set(&mut self, name: String, value: String) -> wasmtime::Result<Result<(), wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let set = self.set_variable(&name, &value);
        Ok(self.pass(set))
    }

    async fn names(&mut self) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let names = self.taped("vars.names", |run| {
            Ok(run.workspace.vars()?.into_iter().map(|variable| variable.name).collect::<Vec<_>>())
        });
        Ok(self.pass(names))
    }
}

impl FlowState {
    fn set_variable(&self, name: &str, value: &str) -> Result<(), RunError> {
        let run = self.run.as_ref().ok_or(RunError::Describing)?;
        if value.len() > VARIABLE_BYTES {
            return Err(invalid("/value", "longer than 1 MiB"));
        }
        // The log has the value too.
        run.keep(2 * (name.len() + value.len()))?;
        let value = read_json("/value", value)?;
        run.workspace.set_var(name, value, run.host.clock.now())?;
        Ok(())
    }
}

impl files::Host for FlowState {
    async fn write(&mut self, name: String, content: Vec<u8>) -> wasmtime::Result<Result<(), wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let written = match &self.run {
            Some(run) => run.keep(content.len()).and_then(|()| Ok(run.workspace.write_file(&name, &content)?)),
            None => Err(RunError::Describing),
        };
        Ok(self.pass(written))
    }

    async fn read(&mut self, name: String) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let content: Result<Option<String>, RunError> = self.taped(&format!("files.read {name}"), |run| {
            Ok(run.workspace.read_file(&name)?.map(|content| STANDARD.encode(content)))
        });
        let content = content.and_then(|content| decode(&name, content));
        Ok(self.pass(content))
    }

    async fn names(&mut self) -> wasmtime::Result<Result<Vec<files::File>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let files: Result<Vec<NamedFile>, RunError> = self.taped("files.names", |run| Ok(run.workspace.files()?));
        let to_wit = |file: NamedFile| files::File { name: file.name, bytes: file.bytes };
        Ok(self.pass(files.map(|files| files.into_iter().map(to_wit).collect())))
    }
}

fn decode(name: &str, content: Option<String>) -> Result<Vec<u8>, RunError> {
    let Some(content) = content else {
        return Err(RunError::plain(ErrorKind::NotFound, format!("the run has no file `{name}`")));
    };
    STANDARD.decode(content).map_err(|error| RunError::Host { message: format!("the tape is broken: {error}") })
}
