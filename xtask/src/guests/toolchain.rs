//! Finds a compiler that can build for WebAssembly.
//!
//! In this order: the one that `ROTE_GUEST_RUSTC` names, the installed one if it has the target's library, else
//! Debian's own, unpacked below the target directory by `xtask/guest-toolchain.sh`. The linker is always the
//! `rust-lld` of the installed toolchain, since Debian's compiler package has none.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::MetadataCommand;

/// The guests' target: no WASI, so that a guest imports nothing but `rote:*`.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";
/// The target of the guest that shows what a flow gets of WASI.
pub(super) const WASI_TARGET: &str = "wasm32-wasip2";

/// A compiler for the guests.
pub(super) struct Toolchain {
    rustc: PathBuf,
    linkers: Vec<PathBuf>,
    /// The compiler's version line.
    pub(super) compiler: String,
    /// The linker's version line.
    pub(super) linker: String,
    /// Where the compiler has its libraries.
    pub(super) sysroot: PathBuf,
    /// How the compiler names the library's sources when they are not installed.
    pub(super) library_name: String,
    /// The workspace's target directory.
    pub(super) target_dir: PathBuf,
}

impl Toolchain {
    /// Finds a compiler, unpacking one if need be.
    pub(super) fn find(root: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;
        let target_dir = metadata.target_directory.into_std_path_buf();
        let rustc = compiler(root, &target_dir)?;
        let linkers = linkers()?;
        Ok(Self {
            compiler: output(&rustc, &["--version"])?,
            linker: linker_version(&linkers)?,
            library_name: library_name(&rustc)?,
            sysroot: PathBuf::from(output(&rustc, &["--print", "sysroot"])?),
            rustc,
            linkers,
            target_dir,
        })
    }

    /// Makes a cargo command use this compiler and linker.
    pub(super) fn apply(&self, cargo: &mut Command) -> Result<()> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(self.linkers.iter().cloned().chain(std::env::split_paths(&inherited)))?;
        cargo.env("PATH", path).env("RUSTC", &self.rustc).env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "rust-lld");
        cargo.env("CARGO_TARGET_WASM32_WASIP2_LINKER", "wasm-component-ld");
        Ok(())
    }
}

fn compiler(root: &Path, target_dir: &Path) -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("ROTE_GUEST_RUSTC") {
        ensure!(has_targets(&given), "`ROTE_GUEST_RUSTC` has no library for {TARGET} or {WASI_TARGET}");
        return Ok(given.into());
    }
    let installed = OsString::from("rustc");
    if has_targets(&installed) {
        return Ok(installed.into());
    }
    let prefix = target_dir.join("guest-toolchain");
    println!(
        "guests: no library for {TARGET} and {WASI_TARGET} is installed; using Debian's compiler in `{}`",
        prefix.display()
    );
    let script = root.join("xtask/guest-toolchain.sh");
    let made = Command::new("bash").arg(&script).arg(&prefix).stderr(std::process::Stdio::inherit()).output();
    let made = made.context("cannot start bash")?;
    ensure!(made.status.success(), "`xtask/guest-toolchain.sh` failed");
    let rustc = PathBuf::from(String::from_utf8(made.stdout)?.trim());
    ensure!(has_targets(rustc.as_os_str()), "the unpacked compiler has no library for {TARGET} or {WASI_TARGET}");
    Ok(rustc)
}

fn library_name(rustc: &Path) -> Result<String> {
    let version = output(rustc, &["-vV"])?;
    let hash = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    Ok(format!("/rustc/{}", hash.unwrap_or("unknown")))
}

fn has_targets(rustc: &OsStr) -> bool {
    [TARGET, WASI_TARGET].iter().all(|target| has_target(rustc, target))
}

/// The path is printed whether the library is there or not.
fn has_target(rustc: &OsStr, target: &str) -> bool {
    let printed = output(Path::new(rustc), &["--print", "target-libdir", "--target", target]);
    let Ok(entries) = printed.and_then(|path| Ok(std::fs::read_dir(path)?)) else {
        return false;
    };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Where the installed toolchain keeps `rust-lld`.
fn linkers() -> Result<Vec<PathBuf>> {
    let sysroot = PathBuf::from(output(Path::new("rustc"), &["--print", "sysroot"])?);
    let version = output(Path::new("rustc"), &["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("`rustc -vV` names no host")?;
    let binaries = sysroot.join("lib/rustlib").join(host).join("bin");
    Ok(vec![binaries.join("gcc-ld"), binaries])
}

fn linker_version(linkers: &[PathBuf]) -> Result<String> {
    let Some(linker) = linkers.iter().map(|folder| folder.join("rust-lld")).find(|path| path.is_file()) else {
        bail!("the installed toolchain has no `rust-lld`");
    };
    output(&linker, &["-flavor", "wasm", "--version"])
}

/// Returns what a program prints, without the white space around it.
pub(super) fn output(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    ensure!(output.status.success(), "`{} {}` failed", program.display(), arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
