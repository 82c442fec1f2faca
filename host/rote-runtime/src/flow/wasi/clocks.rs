//! `wasi:clocks`: the same time as `rote:host/clock`, and on the same tape.

use std::time::Duration;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use super::super::{FlowState, Run};
use crate::error::RunError;

/// The wall clock counts milliseconds, in nanoseconds.
const WALL_RESOLUTION: u32 = 1_000_000;

impl wall_clock::Host for FlowState {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let now = |run: &Run| Ok(u64::try_from(run.host.clock.now().as_millisecond()).unwrap_or_default());
        let millis = self.host_value("wasi.wall-clock", now)?;
        let nanoseconds = u32::try_from(millis % 1_000)? * WALL_RESOLUTION;
        Ok(wall_clock::Datetime { seconds: millis / 1_000, nanoseconds })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime { seconds: 0, nanoseconds: WALL_RESOLUTION })
    }
}

impl monotonic_clock::Host for FlowState {
    fn now(&mut self) -> wasmtime::Result<u64> {
        self.host_value("wasi.monotonic-clock", nanoseconds)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.host_value("wasi.monotonic-clock", nanoseconds)?;
        self.timer(when.saturating_sub(now))
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.enter()?;
        self.timer(duration)
    }
}

fn nanoseconds(run: &Run) -> Result<u64, RunError> {
    Ok(u64::try_from(run.since.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

impl FlowState {
    /// An answer of the host that is on the tape. A guest that only describes itself lives at time zero.
    pub(super) fn host_value<T>(
        &mut self,
        question: &str,
        ask: impl FnOnce(&Run) -> Result<T, RunError>,
    ) -> wasmtime::Result<T>
    where
        T: Default + serde::Serialize + serde::de::DeserializeOwned,
    {
        self.enter()?;
        if self.run.is_none() {
            return Ok(T::default());
        }
        self.taped(question, ask).map_err(wasmtime::Error::new)
    }

    fn timer(&mut self, nanoseconds: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let table = &mut self.wasi().table;
        let timer = table.push(Timer(tokio::time::Instant::now().checked_add(Duration::from_nanos(nanoseconds))))?;
        subscribe(table, timer)
    }
}

/// Goes off at its time; never, where that cannot be expressed. The run's own time bounds the wait.
struct Timer(Option<tokio::time::Instant>);

#[wasmtime_wasi::async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        match self.0 {
            Some(when) => tokio::time::sleep_until(when).await,
            None => std::future::pending().await,
        }
    }
}
