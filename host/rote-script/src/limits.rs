//! The bounds of a bundle, each with its default.

/// What a bundle may cost. A limit that is reached ends in an error that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleLimits {
    /// Bytes of one source file. Default 1 MiB.
    pub file_bytes: usize,
    /// Bytes of all source files together. Default 8 MiB.
    pub source_bytes: usize,
    /// Modules, the entry included. Default 500.
    pub modules: usize,
    /// Bytes of the script. Default 8 MiB.
    pub output_bytes: usize,
    /// Brackets open at one place. Default 500, and never more: the stack that files are parsed on is sized for it.
    pub nesting: usize,
}

impl Default for BundleLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self { file_bytes: MIB, source_bytes: 8 * MIB, modules: 500, output_bytes: 8 * MIB, nesting: 500 }
    }
}
