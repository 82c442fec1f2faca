//! The real clock and the real source of randomness.

use jiff::Timestamp;
use rote_types::{Clock, Entropy};

/// The system's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock port's implementation")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system gives randomness once it has booted");
    }
}
