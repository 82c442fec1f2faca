//! `rote:host/output`, `log` and `payload`: what the run shows, returns and interprets.

use super::{FlowState, invalid, parse_result};
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::adapter::rote::host::log;
use crate::bindings::flow::rote::host::{output, payload};

impl output::Host for FlowState {
    async fn human(&mut self, text: String) -> wasmtime::Result<()> {
        self.enter()?;
        self.human.push(&text);
        Ok(())
    }

    async fn summary(&mut self, text: String) -> wasmtime::Result<()> {
        self.enter()?;
        self.summary.push(&text);
        Ok(())
    }

    async fn result(&mut self, value: String) -> wasmtime::Result<Result<(), wit::Error>> {
        self.enter()?;
        if self.result.is_some() {
            return Ok(Err(self.remembered.tell(invalid("", "the result was given before"))));
        }
        let max = self.run.as_ref().map_or(0, |run| run.budget.limits().result_bytes);
        match parse_result(&value, max) {
            Ok(value) => {
                self.result = Some(value);
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(self.remembered.tell(error))),
        }
    }
}

impl payload::Host for FlowState {
    async fn read(&mut self) -> wasmtime::Result<Vec<u8>> {
        self.enter()?;
        Ok(self.run.as_ref().map(|run| run.payload.clone()).unwrap_or_default())
    }
}

impl log::Host for FlowState {
    async fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.enter()?;
        self.log.write(level.into(), &message);
        Ok(())
    }
}
