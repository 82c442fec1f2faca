//! Counts the time that a guest computes, host waits excluded, and stops it at its bound.
//!
//! Invariant: time is counted from every resume to the next pause, so a guest that calls the host often
//! gains nothing. Epoch ticks only cause the check; the clock decides.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use wasmtime::{Store, UpdateDeadline};

use crate::limiter::LimitHit;

/// The stopwatch of one store.
#[derive(Debug, Clone)]
pub(crate) struct CpuMeter {
    limit: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    spent: Duration,
    running_since: Option<Instant>,
}

impl CpuMeter {
    /// Makes a stopped meter that allows `limit`.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, state: Arc::new(Mutex::new(State { spent: Duration::ZERO, running_since: None })) }
    }

    /// Starts counting.
    pub(crate) fn resume(&self) {
        self.state().running_since = Some(Instant::now());
    }

    /// Stops counting until the guard is dropped. Fails when the time is up, so that a guest cannot hide
    /// between two ticks by calling the host.
    pub(crate) fn pause(&self) -> Result<Paused<'_>, LimitHit> {
        self.stop()?;
        Ok(Paused(self))
    }

    /// Stops counting and fails when the time is up.
    pub(crate) fn stop(&self) -> Result<(), LimitHit> {
        let mut state = self.state();
        if let Some(since) = state.running_since.take() {
            state.spent += since.elapsed();
        }
        if state.spent > self.limit { Err(LimitHit::Time(self.limit)) } else { Ok(()) }
    }

    /// Returns how much time is left.
    pub(crate) fn left(&self) -> Duration {
        let state = self.state();
        let running = state.running_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.limit.saturating_sub(state.spent + running)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the meter stopped; counting goes on when it is dropped.
#[derive(Debug)]
pub(crate) struct Paused<'a>(&'a CpuMeter);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.resume();
    }
}

/// Makes `store` check `meter` at every tick and give way to other tasks there.
pub(crate) fn arm_async<T: 'static>(store: &mut Store<T>, meter: &CpuMeter) {
    let meter = meter.clone();
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        // The time that other tasks take while this one gives way is not the guest's.
        meter.stop()?;
        let meter = meter.clone();
        Ok(UpdateDeadline::YieldCustom(
            1,
            Box::pin(async move {
                give_way().await;
                meter.resume();
            }),
        ))
    });
}

/// Makes `store` check `meter` at every tick without giving way: for callers that own their thread.
pub(crate) fn arm_blocking<T: 'static>(store: &mut Store<T>, meter: &CpuMeter) {
    let meter = meter.clone();
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        drop(meter.pause()?);
        Ok(UpdateDeadline::Continue(1))
    });
}

/// Runs a future that only ever gives way, and waits for nothing, on this thread.
pub(crate) fn run_here<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Lets other tasks of the executor run once.
async fn give_way() {
    let mut gave = false;
    std::future::poll_fn(|context| {
        if gave {
            return Poll::Ready(());
        }
        gave = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_between_resume_and_pause_counts() {
        let meter = CpuMeter::new(Duration::from_secs(1));
        meter.resume();
        let paused = meter.pause().unwrap();
        let left = meter.left();
        let until = Instant::now() + Duration::from_millis(5);
        while Instant::now() < until {}
        assert_eq!(meter.left(), left);
        drop(paused);
        assert!(meter.left() <= left);
    }

    #[test]
    fn many_short_bursts_add_up_to_the_bound() {
        let meter = CpuMeter::new(Duration::from_millis(2));
        meter.resume();
        let started = Instant::now();
        let hit = loop {
            match meter.pause() {
                Ok(paused) => drop(paused),
                Err(hit) => break hit,
            }
            assert!(started.elapsed() < Duration::from_secs(5));
        };
        assert_eq!(hit, LimitHit::Time(Duration::from_millis(2)));
    }
}
