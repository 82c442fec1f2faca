//! The one engine of the process: made on first use, with everything off that no guest needs.
//!
//! Invariants: there is one [`Engine`] per process (one per module costs gigabytes); its epoch advances every
//! [`TICK`] from a thread of its own while anything runs, whatever the executor does. Proposals that no guest
//! uses are off at build time (gc, threads) or here.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use wasmtime::{Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::LoadError;
use crate::configuration::configuration;
use crate::limiter::{INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};

/// Time between two checks of a running guest.
pub(crate) const TICK: Duration = Duration::from_millis(10);
/// How many ticks the thread goes on after the last guest ended, so that a busy host never wakes it.
const IDLE_TICKS: u32 = 100;
/// Component instances that fit at once, unless a process asks for more. Setting up the pool costs a system call per
/// stack, which every command pays (1,000 of them took 10 ms); one command runs at most a few dozen at a time.
const DEFAULT_INSTANCES: u32 = 128;
/// Most instances that a process can ask for: each reserves 4 GiB of addresses, of which there are 128 TiB.
const MOST_INSTANCES: u32 = 10_000;
/// Bytes of a finished instance's memory that are wiped and kept instead of unmapped, which interrupts every processor.
const KEEP_RESIDENT: usize = 256 << 10;
/// The same where the kernel (Linux 6.7) says which pages were written, so that no other is wiped: what most scripts use. Of the
/// instances that ever ran at once each may keep that much, which is 256 MiB for the 128 of the default.
const KEEP_WRITTEN: usize = 2 << 20;

/// What this process asked for; empty for the default.
static INSTANCES_ASKED: OnceLock<u32> = OnceLock::new();

/// Sets how many component instances fit into this process at once: 1 to 10,000, else the nearest; 128 when nobody
/// sets it. Counts until the engine starts, which the first component does; returns whether it still counted.
pub fn set_instances(count: u32) -> bool {
    !EngineHandle::is_started() && INSTANCES_ASKED.set(count.clamp(1, MOST_INSTANCES)).is_ok()
}

static ENGINE: OnceLock<EngineHandle> = OnceLock::new();

/// The engine with its clock.
#[derive(Debug)]
pub(crate) struct EngineHandle {
    pub(crate) engine: Engine,
    /// Names everything that compiled code depends on: engine version, target, settings.
    pub(crate) compatibility: [u8; 32],
    ticker: Arc<Ticker>,
}

impl EngineHandle {
    fn is_started() -> bool {
        ENGINE.get().is_some()
    }

    /// Returns the process's engine.
    pub(crate) fn get() -> Result<&'static Self, LoadError> {
        static MAKING: Mutex<()> = Mutex::new(());
        if let Some(handle) = ENGINE.get() {
            return Ok(handle);
        }
        let _one_at_a_time = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = ENGINE.get() {
            return Ok(handle);
        }
        let handle = Self::new(pooled_or_on_demand()?)?;
        Ok(ENGINE.get_or_init(|| handle))
    }

    fn new(engine: Engine) -> Result<Self, LoadError> {
        let compatibility = compatibility(&engine);
        let ticker = Ticker::start(engine.clone()).map_err(|error| LoadError::Engine { message: error.to_string() })?;
        Ok(Self { engine, compatibility, ticker })
    }

    /// Keeps the epoch advancing until the guard is dropped.
    pub(crate) fn running(&self) -> Running {
        self.ticker.begin();
        Running(Arc::clone(&self.ticker))
    }
}

/// The cheapest allocation that this process's limits allow: a pool where its address space can be reserved.
fn pooled_or_on_demand() -> Result<Engine, LoadError> {
    let pooled = Engine::new(configuration().allocation_strategy(InstanceAllocationStrategy::Pooling(pool())));
    let engine = pooled.or_else(|reason| {
        tracing::info!(%reason, "no address space for pooled instances: allocating on demand");
        on_demand()
    });
    engine.map_err(|error| LoadError::Engine { message: format!("{error:#}") })
}

/// An engine for a process whose address space is bounded: memories are as large as they are used.
fn on_demand() -> wasmtime::Result<Engine> {
    Engine::new(
        configuration()
            .allocation_strategy(InstanceAllocationStrategy::OnDemand)
            .memory_reservation(0)
            .memory_guard_size(64 << 10)
            .memory_reservation_for_growth(16 << 20),
    )
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    let per_component = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let instances = *INSTANCES_ASKED.get_or_init(|| DEFAULT_INSTANCES);
    pool.total_component_instances(instances)
        .total_core_instances(4 * instances)
        .total_memories(instances)
        .total_tables(2 * instances)
        .total_stacks(instances)
        .max_core_instances_per_component(per_component(INSTANCES))
        .max_memories_per_component(per_component(MEMORIES))
        .max_tables_per_component(per_component(TABLES))
        .max_memories_per_module(1)
        .max_tables_per_module(8)
        .table_elements(TABLE_ELEMENTS)
        .linear_memory_keep_resident(if PoolingAllocationConfig::is_pagemap_scan_available() {
            KEEP_WRITTEN
        } else {
            KEEP_RESIDENT
        })
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(TABLE_ELEMENTS * size_of::<usize>())
        .async_stack_keep_resident(0);
    pool
}

/// Hashes what compiled code must agree on, in a form that is the same in every process.
fn compatibility(engine: &Engine) -> [u8; 32] {
    struct Collect(Sha256);
    impl std::hash::Hasher for Collect {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut collect = Collect(Sha256::new());
    std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut collect);
    collect.0.finalize().into()
}

/// Advances the epoch from a thread of its own while guests run, and sleeps otherwise.
#[derive(Debug, Default)]
struct Ticker {
    running: AtomicUsize,
    asleep: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Ticker {
    fn start(engine: Engine) -> std::io::Result<Arc<Self>> {
        let ticker = Arc::new(Self::default());
        let clock = Arc::clone(&ticker);
        // The thread lives as long as the process, like the engine.
        std::thread::Builder::new().name("rote-epoch".to_owned()).stack_size(256 << 10).spawn(move || {
            let mut idle = 0;
            loop {
                std::thread::sleep(TICK);
                engine.increment_epoch();
                idle = if clock.running.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
                if idle > IDLE_TICKS {
                    clock.sleep();
                    idle = 0;
                }
            }
        })?;
        Ok(ticker)
    }

    fn begin(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
        // INVARIANT: `running` is raised before `asleep` is read, and the thread does both the other way
        // round, so one of them sees the other.
        if self.asleep.load(Ordering::SeqCst) {
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.wake.notify_one();
        }
    }

    fn sleep(&self) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.store(true, Ordering::SeqCst);
        while self.running.load(Ordering::SeqCst) == 0 {
            lock = self.wake.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

/// Something runs: the epoch advances.
#[derive(Debug)]
pub(crate) struct Running(Arc<Ticker>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_one_per_process() {
        let one = EngineHandle::get().unwrap();
        let two = EngineHandle::get().unwrap();
        assert!(std::ptr::eq(one, two) && Engine::same(&one.engine, &two.engine));
    }

    #[test]
    fn the_number_of_instances_is_fixed_once_the_engine_runs() {
        EngineHandle::get().unwrap();
        assert!(!set_instances(1_000));
    }

    #[test]
    fn engines_of_other_settings_do_not_share_compiled_code() {
        let fallback = on_demand().unwrap();
        assert_eq!(compatibility(&fallback), compatibility(&fallback));
        assert_ne!(compatibility(&fallback), EngineHandle::get().unwrap().compatibility);
    }

    #[test]
    fn the_epoch_advances_again_after_a_sleep() {
        let handle = EngineHandle::get().unwrap();
        let ticker = &handle.ticker;
        // Without a guest the thread goes to sleep by itself, or is about to; a guest wakes it either way.
        drop(handle.running());
        let running = handle.running();
        let started = std::time::Instant::now();
        while ticker.asleep.load(Ordering::SeqCst) {
            assert!(started.elapsed() < Duration::from_secs(5), "the ticker did not wake");
            std::thread::yield_now();
        }
        drop(running);
    }
}
