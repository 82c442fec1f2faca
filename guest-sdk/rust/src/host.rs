//! The border: everything that leaves a flow goes through a [`HostHandle`].
//!
//! In a component that is `Imports`, a type without content and without dynamic calls, so that the linker keeps only
//! the imports that a flow uses. Natively it is whatever a test puts there; `Host` has the same methods as `Imports`.

#[cfg(not(target_family = "wasm"))]
use crate::{Response, Result};

/// One call of a tool, as it crosses the border.
#[derive(Debug, Clone)]
#[cfg_attr(
    not(any(target_family = "wasm", feature = "testing")),
    expect(dead_code, reason = "natively only the fake host reads it")
)]
pub(crate) struct ToolCall {
    pub(crate) adapter: String,
    pub(crate) tool: String,
    /// A JSON text.
    pub(crate) arguments: String,
}

/// How a step that is shown stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepState {
    Running,
    Done,
    Failed,
    Skipped,
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The imports of the world `rote:flow/flow`. Values are JSON texts.
#[cfg(not(target_family = "wasm"))]
pub(crate) trait Host {
    fn call(&self, call: ToolCall) -> Result<Response>;
    fn batch(&self, calls: Vec<ToolCall>) -> Vec<Result<Response>>;
    fn start(&self, call: ToolCall) -> Result<u32>;
    fn probe(&self, adapter: &str, intent: &str, limit: u32) -> Result<Vec<String>>;
    fn status(&self, adapter: &str) -> Result<String>;

    fn wait_any(&self, tasks: &[u32]) -> Result<(u32, Result<Response>)>;
    fn cancel(&self, task: u32) -> Result<()>;
    fn progress(&self, label: &str, state: StepState);

    fn run_flow(&self, name: &str, parameters: &str) -> Result<String>;

    fn variable(&self, name: &str) -> Result<Option<String>>;
    fn set_variable(&self, name: &str, value: &str) -> Result<()>;
    fn variable_names(&self) -> Result<Vec<String>>;

    fn write_file(&self, name: &str, content: &[u8]) -> Result<()>;
    fn read_file(&self, name: &str) -> Result<Vec<u8>>;
    fn files(&self) -> Result<Vec<(String, u64)>>;

    fn now(&self) -> u64;
    fn elapsed(&self) -> u64;
    fn sleep(&self, milliseconds: u64);
    fn random(&self, len: u32) -> Vec<u8>;

    fn query_response(&self, id: u64, program: &str) -> Result<Vec<String>>;
    fn query_value(&self, input: &str, program: &str) -> Result<Vec<String>>;

    fn human(&self, text: &str);
    fn summary(&self, text: &str);
    fn result(&self, value: &str) -> Result<()>;

    fn log(&self, level: Level, message: &str);
}

#[cfg(target_family = "wasm")]
pub(crate) use crate::component::Imports as HostHandle;
#[cfg(not(target_family = "wasm"))]
pub(crate) use native::HostHandle;

#[cfg(not(target_family = "wasm"))]
mod native {
    use std::fmt;
    use std::ops::Deref;
    use std::sync::Arc;

    use super::Host;

    /// A shared host.
    #[derive(Clone)]
    pub(crate) struct HostHandle(Arc<dyn Host + Send + Sync>);

    #[cfg(feature = "testing")]
    impl HostHandle {
        pub(crate) fn new(host: impl Host + Send + Sync + 'static) -> Self {
            Self(Arc::new(host))
        }
    }

    impl Deref for HostHandle {
        type Target = dyn Host + Send + Sync;

        fn deref(&self) -> &Self::Target {
            &*self.0
        }
    }

    impl fmt::Debug for HostHandle {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Host")
        }
    }
}
