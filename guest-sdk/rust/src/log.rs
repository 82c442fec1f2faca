//! The run's log.

use crate::host::{HostHandle, Level};

/// The run's log: one line each, capped and cleaned of terminal escapes by the host.
#[derive(Debug, Clone)]
pub struct Log {
    pub(crate) host: HostHandle,
}

impl Log {
    /// Writes detail.
    pub fn debug(&self, message: impl AsRef<str>) {
        self.host.log(Level::Debug, message.as_ref());
    }

    /// Writes news.
    pub fn info(&self, message: impl AsRef<str>) {
        self.host.log(Level::Info, message.as_ref());
    }

    /// Writes what is odd.
    pub fn warn(&self, message: impl AsRef<str>) {
        self.host.log(Level::Warn, message.as_ref());
    }

    /// Writes what is wrong.
    pub fn error(&self, message: impl AsRef<str>) {
        self.host.log(Level::Error, message.as_ref());
    }
}
