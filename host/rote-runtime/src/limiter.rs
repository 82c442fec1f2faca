//! Bounds on what one store may hold: bytes over all memories, elements over all tables, and their numbers.
//!
//! A refused growth is not a trap: the guest sees `memory.grow` fail and may cope. What was refused is
//! remembered, so that the trap that usually follows is reported as the limit that it is.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// Most elements over all tables of a store, 8 bytes each.
pub(crate) const TABLE_ELEMENTS: usize = 20_000;
/// Most core instances, tables and memories of a store.
pub(crate) const INSTANCES: usize = 64;
pub(crate) const TABLES: usize = 64;
pub(crate) const MEMORIES: usize = 8;

/// A bound that a guest reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitHit {
    #[error("time limit of {0:?} of guest code reached")]
    Time(Duration),
    #[error("memory limit of {0} bytes reached")]
    Memory(usize),
    #[error("table limit of {0} elements reached")]
    Table(usize),
    #[error("limit of {0} host calls reached")]
    HostCalls(u64),
}

/// Counts everything that the instances of one store hold.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_limit: usize,
    memory_used: usize,
    /// The last permitted growth, taken back when the engine cannot carry it out.
    memory_pending: usize,
    table_used: usize,
    hit: Option<LimitHit>,
}

impl Limiter {
    pub(crate) fn new(memory_limit: usize) -> Self {
        Self { memory_limit, memory_used: 0, memory_pending: 0, table_used: 0, hit: None }
    }

    /// Returns the last bound that refused a growth.
    pub(crate) fn hit(&self) -> Option<LimitHit> {
        self.hit
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current);
        let fits = self.memory_used.checked_add(growth).is_some_and(|total| total <= self.memory_limit);
        if fits {
            self.memory_used += growth;
            self.memory_pending = growth;
        } else {
            self.memory_pending = 0;
            self.hit = Some(LimitHit::Memory(self.memory_limit));
        }
        Ok(fits)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory_used -= std::mem::take(&mut self.memory_pending);
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current);
        let fits = self.table_used.checked_add(growth).is_some_and(|total| total <= TABLE_ELEMENTS);
        if fits {
            self.table_used += growth;
        } else {
            self.hit = Some(LimitHit::Table(TABLE_ELEMENTS));
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        TABLES
    }

    fn memories(&self) -> usize {
        MEMORIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_share_one_bound() {
        let mut limiter = Limiter::new(100);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap());
        assert_eq!(limiter.hit(), Some(LimitHit::Memory(100)));
        assert!(limiter.memory_growing(60, 100, None).unwrap());
        assert!(!limiter.memory_growing(100, usize::MAX, None).unwrap());
    }

    #[test]
    fn a_growth_that_the_system_refused_is_given_back_once() {
        let mut limiter = Limiter::new(100);
        assert!(limiter.memory_growing(0, 80, None).unwrap());
        limiter.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        limiter.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert!(limiter.memory_growing(0, 100, None).unwrap());
    }

    #[test]
    fn table_growth_is_bounded_over_all_tables() {
        let mut limiter = Limiter::new(0);
        assert!(limiter.table_growing(0, TABLE_ELEMENTS, None).unwrap());
        assert!(!limiter.table_growing(0, 1, None).unwrap());
        assert_eq!(limiter.hit(), Some(LimitHit::Table(TABLE_ELEMENTS)));
    }
}
