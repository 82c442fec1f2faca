//! jq behind the port [`QueryEngine`]: the guest `flows/_query` in a store of its own for each program.
//!
//! Invariants: a program reads its input and nothing else, since its world imports nothing; the clock, the
//! limiter and the stack bound of the sandbox end it, whatever it does. Blocks the calling thread.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use rote_types::{QueryEngine, QueryError, QueryLimits, QueryOutput};
use wasmtime::component::Linker;
use wasmtime::{Store, Trap};

use crate::bindings::query::Failure;
use crate::engine::EngineHandle;
use crate::limiter::{LimitHit, Limiter};
use crate::meter::{CpuMeter, arm_blocking};
use crate::sandbox::Linked;
use crate::{LoadError, Prepared, Sandbox, World};
use rote_types::clean_line;

/// The committed guest (`cargo xtask guests` builds it from `flows/_query`).
static QUERY_COMPONENT: &[u8] = include_bytes!("../../../flows/_query/query.wasm");
/// Most characters of a program or a message in an error text.
const SHOWN: usize = 200;

/// Runs jq programs in the sandbox. The guest is loaded on first use.
#[derive(Debug)]
pub struct SandboxedJq {
    sandbox: Arc<Sandbox>,
    guest: Mutex<Option<Arc<Prepared>>>,
}

/// What a query's store holds: only its bounds.
#[derive(Debug)]
pub(crate) struct QueryState {
    limiter: Limiter,
}

/// The linker of the query world: it offers nothing.
pub(crate) fn linker() -> wasmtime::Result<Linker<QueryState>> {
    let handle = EngineHandle::get().map_err(wasmtime::Error::new)?;
    Ok(Linker::new(&handle.engine))
}

impl SandboxedJq {
    /// Makes an engine that loads its guest through `sandbox`.
    #[must_use]
    pub fn new(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox, guest: Mutex::new(None) }
    }

    /// Returns what makes components ready to run.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Returns the guest, loading it the first time.
    fn guest(&self) -> Result<Arc<Prepared>, LoadError> {
        let mut guest = self.guest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = &*guest {
            return Ok(Arc::clone(prepared));
        }
        let prepared = self.sandbox.prepare(World::Query, QUERY_COMPONENT)?;
        *guest = Some(Arc::clone(&prepared));
        Ok(prepared)
    }

    fn evaluate(&self, program: &str, input: &[u8], limits: &QueryLimits) -> Result<Vec<String>, QueryError> {
        let engine = |message: String| QueryError::Engine { message };
        let guest = self.guest().map_err(|error| engine(error.to_string()))?;
        let Linked::Query(pre) = &guest.linked else {
            return Err(engine("its guest is of another world".to_owned()));
        };
        let handle = EngineHandle::get().map_err(|error| engine(error.to_string()))?;
        let mut store = Store::new(&handle.engine, QueryState { limiter: Limiter::new(limits.memory_bytes) });
        store.limiter(|state| &mut state.limiter);
        // Beside the text, each output costs the host a string's head; a list of tiny outputs must fit too.
        store.set_hostcall_fuel(limits.output_bytes.saturating_mul(16).saturating_add(1 << 20));
        let meter = CpuMeter::new(limits.time);
        arm_blocking(&mut store, &meter);
        let _running = handle.running();
        let output_bytes = u64::try_from(limits.output_bytes).unwrap_or(u64::MAX);
        // On a fiber, so that the bound on the guest's stack holds whatever thread this is. Nothing in this
        // world waits: the first poll runs to the end.
        let run = async {
            meter.resume();
            let query = pre.instantiate_async(&mut store).await?;
            query.call_run(&mut store, program, input, output_bytes).await
        };
        match run.now_or_never().unwrap_or_else(|| Err(wasmtime::Error::msg("the query guest waited"))) {
            Ok(Ok(values)) => Ok(values),
            Ok(Err(failure)) => Err(failed(program, failure, limits)),
            Err(error) => Err(trapped(program, &error, store.data().limiter.hit(), limits)),
        }
    }
}

impl QueryEngine for SandboxedJq {
    fn run(&self, program: &str, input: &[u8], limits: &QueryLimits) -> Result<QueryOutput, QueryError> {
        // The guest's memory holds the text and what is made of it: what cannot fit is not copied in.
        if input.len() > limits.memory_bytes {
            return Err(limit(program, format!("memory limit of {} bytes reached", limits.memory_bytes)));
        }
        if let Some(word) = module_word(program) {
            let message = format!("`{word}` is not offered: a program is one text and reads its input only");
            return Err(QueryError::Syntax { program: clean_line(program, SHOWN), message });
        }
        let values = self.evaluate(program, input, limits)?;
        Ok(QueryOutput { values })
    }
}

/// The directive that would load a module. jq has them at the head of a program only, after comments and before any
/// definition.
fn module_word(program: &str) -> Option<&'static str> {
    let mut rest = program.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    let word = rest.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).next()?;
    ["import", "include", "module"].into_iter().find(|directive| *directive == word)
}

fn limit(program: &str, limit: String) -> QueryError {
    QueryError::Limit { program: clean_line(program, SHOWN), limit }
}

/// What the guest reported.
fn failed(program: &str, failure: Failure, limits: &QueryLimits) -> QueryError {
    let shown = clean_line(program, SHOWN);
    match failure {
        Failure::Syntax(message) => QueryError::Syntax { program: shown, message: clean_line(&message, SHOWN) },
        Failure::Input(message) => QueryError::Input { message: clean_line(&message, SHOWN) },
        Failure::Runtime(message) => QueryError::Runtime { program: shown, message: clean_line(&message, SHOWN) },
        Failure::OutputLimit => limit(program, format!("output limit of {} bytes reached", limits.output_bytes)),
    }
}

/// What ended the guest from outside.
fn trapped(program: &str, error: &wasmtime::Error, hit: Option<LimitHit>, limits: &QueryLimits) -> QueryError {
    if let Some(LimitHit::Time(time)) = error.downcast_ref::<LimitHit>() {
        return limit(program, format!("time limit of {time:?} reached"));
    }
    if let Some(hit) = hit {
        return limit(program, hit.to_string());
    }
    // The guest's own stack lies at the bottom of its memory: running over it leaves the memory.
    if matches!(error.downcast_ref::<Trap>(), Some(Trap::StackOverflow | Trap::MemoryOutOfBounds)) {
        return limit(program, "recursion limit reached".to_owned());
    }
    let message = error.root_cause().to_string();
    if is_exhausted(&message) {
        return limit(program, format!("output limit of {} bytes reached", limits.output_bytes));
    }
    QueryError::Engine { message: clean_line(&message, SHOWN) }
}

/// Whether an error of wasmtime says that a guest handed over more than the store lets it: the type of that is its own.
fn is_exhausted(message: &str) -> bool {
    message.contains("fuel allocated for hostcalls")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Zeros;

    impl rote_types::Entropy for Zeros {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(0);
        }
    }

    #[test]
    fn what_wasmtime_says_of_too_much_data_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let home = rote_home::Home::open(dir.path()).unwrap();
        let jq = SandboxedJq::new(Arc::new(Sandbox::new(&home, &Zeros)));
        let guest = jq.guest().unwrap();
        let Linked::Query(pre) = &guest.linked else { panic!("another world") };
        let limits = QueryLimits::default();
        let state = QueryState { limiter: Limiter::new(limits.memory_bytes) };
        let mut store = Store::new(&EngineHandle::get().unwrap().engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(1);
        arm_blocking(&mut store, &CpuMeter::new(limits.time));
        let run = async { pre.instantiate_async(&mut store).await?.call_run(&mut store, "1", b"null", 100).await };
        let error = run.now_or_never().unwrap().unwrap_err();
        assert!(matches!(trapped("1", &error, None, &limits), QueryError::Limit { .. }), "{error:?}");
    }
}
