//! `wasi:io/poll`: waiting costs the guest no computing time, and a replayed run does not wait again.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi_io::bindings::wasi::io::poll;

use super::super::{FlowState, read_answer, write_answer};
use crate::tape::{Answer, TapedFailure};

impl poll::Host for FlowState {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        let question = format!("wasi.poll {}", pollables.len());
        if let Some(ready) = self.waited_before(&question)? {
            return Ok(ready);
        }
        let meter = self.meter.clone();
        let paused = meter.pause()?;
        let ready = poll::Host::poll(&mut self.wasi().table, pollables).await?;
        drop(paused);
        self.note_wait(&question, &ready)?;
        Ok(ready)
    }
}

impl poll::HostPollable for FlowState {
    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        const QUESTION: &str = "wasi.block";
        if self.waited_before(QUESTION)?.is_some() {
            return Ok(());
        }
        let meter = self.meter.clone();
        let paused = meter.pause()?;
        poll::HostPollable::block(&mut self.wasi().table, pollable).await?;
        drop(paused);
        self.note_wait(QUESTION, &[])
    }

    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        const QUESTION: &str = "wasi.ready";
        if let Some(ready) = self.waited_before(QUESTION)? {
            return Ok(!ready.is_empty());
        }
        let ready = poll::HostPollable::ready(&mut self.wasi().table, pollable).await?;
        self.note_wait(QUESTION, if ready { &[0] } else { &[] })?;
        Ok(ready)
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::drop(&mut self.wasi().table, pollable)
    }
}

impl FlowState {
    /// Which pollables were ready when the run that is told again asked this.
    fn waited_before(&mut self, question: &str) -> wasmtime::Result<Option<Vec<u32>>> {
        self.enter()?;
        let Some(run) = &self.run else { return Ok(None) };
        let read = |answer: Answer| read_answer(question, answer.map_err(TapedFailure::into_error)?);
        let answer = run.told(question).and_then(|answer| answer.map(read).transpose());
        answer.map_err(wasmtime::Error::new)
    }

    fn note_wait(&self, question: &str, ready: &[u32]) -> wasmtime::Result<()> {
        let Some(run) = &self.run else { return Ok(()) };
        let answer = write_answer(&ready).map_err(wasmtime::Error::new)?;
        run.note(question, &Ok(answer)).map_err(wasmtime::Error::new)
    }
}
