//! Work that waits for the disk, out of the way of other tasks.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does what waits for the disk; where the executor has several threads, another one goes on with its tasks meanwhile.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(executor) if executor.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}
