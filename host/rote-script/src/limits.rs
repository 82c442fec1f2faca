//! The bounds of a bundle, each with its default.

/// What a bundle may cost. A limit that is reached ends in an error that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleLimits {
    /// Bytes of one source file. Default 1 MiB.
    pub file_bytes: usize,
    /// Bytes of all source files together, whether they end in the script or not. Default 16 MiB.
    pub source_bytes: usize,
    /// Modules, the entry included, whether they end in the script or not: a package may have hundreds. Default 4,000.
    pub modules: usize,
    /// Paths that are looked at to find what is imported. Default 200,000.
    pub probes: usize,
    /// Bytes of the script. Default 8 MiB.
    pub output_bytes: usize,
    /// Brackets open at one place. Default 500, and never more: the stack that files are parsed on is sized for it.
    pub nesting: usize,
}

impl Default for BundleLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        let (source_bytes, output_bytes) = (16 * MIB, 8 * MIB);
        Self { file_bytes: MIB, source_bytes, modules: 4_000, probes: 200_000, output_bytes, nesting: 500 }
    }
}
