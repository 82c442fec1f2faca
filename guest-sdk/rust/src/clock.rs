//! Time and randomness.

use std::time::{Duration, SystemTime};

use crate::host::HostHandle;

/// Time and randomness. Both are the host's and are recorded, so that a replay sees the same; `SystemTime::now` and
/// the like do not work in a flow.
#[derive(Debug, Clone)]
pub struct Clock {
    pub(crate) host: HostHandle,
}

impl Clock {
    /// Returns the time, to the millisecond.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.host.now())
    }

    /// Returns the time since the run began, to the millisecond.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.host.elapsed())
    }

    /// Waits, to the millisecond; calls that were started go on. A replay does not wait, and a run that is resumed does not wait
    /// again. Only the time of the run (`rote run --timeout`) bounds it.
    pub fn sleep(&self, time: Duration) {
        self.host.sleep(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    /// Returns random bytes, at most 65,536.
    #[must_use]
    pub fn random(&self, len: u32) -> Vec<u8> {
        self.host.random(len)
    }
}
