//! `rote:host/query`: jq on the responses of the run and on values.

use std::sync::Arc;

use rote_types::{QueryLimits, ResponseId};
use rote_workspace::{QueryRequest, QuerySource};

use super::FlowState;
use crate::adapter::{query_value, run_blocking};
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::adapter::rote::host::query;
use crate::error::RunError;

/// What a query takes in the log beside its program.
const LOGGED_BYTES: usize = 256;

impl query::Host for FlowState {
    async fn response(&mut self, id: u64, program: String) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &self.run else { return Ok(Err(self.remembered.tell(RunError::Describing))) };
        if let Err(error) = run.keep(program.len() + LOGGED_BYTES) {
            return Ok(Err(self.remembered.tell(error)));
        }
        let (workspace, engine) = (Arc::clone(&run.workspace), Arc::clone(&run.host.queries));
        let request = QueryRequest {
            source: QuerySource::Response(ResponseId(id)),
            program,
            unwrap_mcp: false,
            save_as: None,
            limits: QueryLimits::default(),
            flow: run.flow.clone(),
            at: run.host.clock.now(),
        };
        let result = run_blocking(move || Ok(workspace.query(&*engine, &request)?.values)).await;
        Ok(self.pass(result))
    }

    async fn value(&mut self, input: String, program: String) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &self.run else { return Ok(Err(self.remembered.tell(RunError::Describing))) };
        let engine = Arc::clone(&run.host.queries);
        let limits = QueryLimits::default();
        let result = run_blocking(move || query_value(&*engine, &input, &program, &limits)).await;
        Ok(self.pass(result))
    }
}
