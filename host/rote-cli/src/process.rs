//! What this process gives away about itself: nothing. Files are the owner's alone, and memory is not dumped.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Sets umask 077 and turns core dumps off; on Linux no other process of the user may then attach or read the memory.
///
/// A system that refuses is left as it is: a command that could not run at all would protect nobody.
pub(crate) fn harden() {
    rote_app::keep_private();
    let _refused = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let _refused = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
