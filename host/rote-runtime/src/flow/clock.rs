//! `rote:host/clock`: time and randomness, the host's and on the tape.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use serde_json::Value;

use super::{FlowState, Run};
use crate::bindings::flow::rote::host::clock;
use crate::error::RunError;

/// Most random bytes of one call; a guest that asks for more gets as many.
const RANDOM_BYTES: u32 = 64 << 10;

impl clock::Host for FlowState {
    async fn now(&mut self) -> wasmtime::Result<u64> {
        self.enter()?;
        let now = |run: &Run| Ok(u64::try_from(run.host.clock.now().as_millisecond()).unwrap_or_default());
        ended(self.taped("clock.now", now))
    }

    async fn elapsed(&mut self) -> wasmtime::Result<u64> {
        self.enter()?;
        let elapsed = |run: &Run| Ok(u64::try_from(run.since.elapsed().as_millis()).unwrap_or(u64::MAX));
        ended(self.taped("clock.elapsed", elapsed))
    }

    async fn sleep(&mut self, milliseconds: u64) -> wasmtime::Result<()> {
        self.enter()?;
        let question = format!("clock.sleep {milliseconds}");
        let told = self.run.as_ref().ok_or(RunError::Describing).and_then(|run| run.told(&question));
        if ended(told)?.is_some() {
            return Ok(());
        }
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        // The run's own time bounds the wait, also one whose end cannot be expressed.
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        ended(self.run.as_ref().ok_or(RunError::Describing).and_then(|run| run.note(&question, &Ok(Value::Null))))
    }

    async fn random(&mut self, len: u32) -> wasmtime::Result<Vec<u8>> {
        self.enter()?;
        let len = usize::try_from(len.min(RANDOM_BYTES))?;
        let text: String = ended(self.taped(&format!("clock.random {len}"), |run| {
            let mut bytes = vec![0; len];
            run.host.entropy.fill(&mut bytes);
            Ok(STANDARD.encode(bytes))
        }))?;
        Ok(STANDARD.decode(text)?)
    }
}

/// The interface has no errors: a run that cannot learn the time ends.
fn ended<T>(answer: Result<T, RunError>) -> wasmtime::Result<T> {
    answer.map_err(wasmtime::Error::new)
}
