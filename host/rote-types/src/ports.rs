//! What the pure layers need from outside, as traits: time, randomness, interruption and the query
//! engine.
//!
//! A port exists only where a test replaces it (fixed clock, seeded entropy) or where the implementation
//! lives above its user (the query engine is a sandboxed guest, run by `rote-runtime`).

use std::future::Future;
use std::pin::Pin;

use jiff::Timestamp;

use crate::{Classify, ErrorKind, QueryLimits};

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the time now, UTC.
    fn now(&self) -> Timestamp;
}

/// Gives unpredictable bytes.
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// Fills `buffer` with random bytes.
    fn fill(&self, buffer: &mut [u8]);

    /// Returns a random UUID (version 4) in its usual text form.
    fn uuid(&self) -> String {
        let mut bytes = [0_u8; 16];
        self.fill(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let digits = hex::encode(bytes);
        [&digits[0..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..32]].join("-")
    }
}

/// What a query produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryOutput {
    /// One compact JSON text per output of the program, in order.
    pub values: Vec<String>,
}

/// What [`Interrupt::requested`] returns.
pub type Requested<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A wish from outside that work under way stops: Ctrl-C, SIGTERM.
pub trait Interrupt: Send + Sync + std::fmt::Debug {
    /// Is ready as soon as work has to stop; never, if nobody asks.
    fn requested(&self) -> Requested<'_>;
}

/// Nobody ever asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInterrupt;

impl Interrupt for NoInterrupt {
    fn requested(&self) -> Requested<'_> {
        Box::pin(std::future::pending())
    }
}

/// Why a query produced nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The program is not jq. The author of the query is to blame.
    #[error("jq program `{program}` does not parse: {message}")]
    Syntax {
        program: String,
        /// What the parser or compiler said.
        message: String,
    },
    /// The input is not JSON.
    #[error("the input is not JSON: {message}")]
    Input {
        /// What the reader said.
        message: String,
    },
    /// The program raised an error on this input.
    #[error("jq program `{program}` failed: {message}")]
    Runtime {
        program: String,
        /// The error that it raised.
        message: String,
    },
    /// A bound of [`QueryLimits`] was reached.
    #[error("jq program `{program}` stopped: {limit}")]
    Limit {
        program: String,
        /// Which bound, with its value, such as `time limit of 5 s reached`.
        limit: String,
    },
    /// The engine itself failed; the host is to blame.
    #[error("the query engine failed: {message}")]
    Engine {
        /// What went wrong.
        message: String,
    },
}

impl Classify for QueryError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Syntax { .. } => ErrorKind::Usage,
            Self::Limit { .. } => ErrorKind::Limit,
            Self::Input { .. } | Self::Runtime { .. } | Self::Engine { .. } => ErrorKind::General,
        }
    }
}

/// Runs jq programs within limits, without access to files, environment or further input.
pub trait QueryEngine: Send + Sync + std::fmt::Debug {
    /// Runs `program` on one JSON text. Blocks for at most `limits.time` and a little.
    ///
    /// # Errors
    /// See [`QueryError`]; the engine never panics and never exceeds `limits` by more than a tick.
    fn run(&self, program: &str, input: &[u8], limits: &QueryLimits) -> Result<QueryOutput, QueryError>;
}
