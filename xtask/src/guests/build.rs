//! Builds one guest.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wit_component::ComponentEncoder;

use super::toolchain::{TARGET, Toolchain};
use super::{Form, Guest};

/// Builds `guest` and returns the bytes to commit.
pub(super) fn build(guest: &Guest, root: &Path, toolchain: &Toolchain, locked: bool) -> Result<Vec<u8>> {
    let target_dir = toolchain.target_dir.join("guests");
    let manifest = root.join(guest.folder).join("Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--release", "--target", TARGET, "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target_dir)
        // The guest's own folder has no cargo configuration; the caller's must not reach in.
        .current_dir(root.join(guest.folder))
        .env("CARGO_ENCODED_RUSTFLAGS", flags(root, toolchain)?.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTC_WRAPPER", root.join("xtask/guest-rustc.sh"))
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    if locked {
        cargo.arg("--locked");
    }
    toolchain.apply(&mut cargo)?;
    let status = cargo.status().context("cannot start cargo")?;
    ensure!(status.success(), "`{}` does not build", guest.folder);
    let built = target_dir.join(TARGET).join("release").join(guest.built);
    let module = std::fs::read(&built).with_context(|| format!("cannot read `{}`", built.display()))?;
    match guest.form {
        Form::Module => Ok(module),
        Form::Component => ComponentEncoder::default()
            .validate(true)
            .module(&module)
            .and_then(ComponentEncoder::encode)
            .with_context(|| format!("cannot wrap `{}` as a component", built.display())),
    }
}

/// Compiler flags that take this machine's paths out of the bytes. A later prefix wins over an earlier one.
fn flags(root: &Path, toolchain: &Toolchain) -> Result<Vec<String>> {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .context("cargo's home is unknown")?;
    let mut remapped = vec![
        (root.to_owned(), "/rote"),
        (cargo_home.clone(), "/cargo"),
        (toolchain.target_dir.clone(), "/target"),
        // Where the library's own sources are installed, the compiler names them; where not, it names `/rustc/…`.
        (toolchain.sysroot.join("lib/rustlib/src/rust"), toolchain.library_name.as_str()),
    ];
    // The folder of a registry is named after the registry or its mirror.
    let registries = std::fs::read_dir(cargo_home.join("registry/src")).into_iter().flatten().flatten();
    remapped.extend(registries.map(|registry| (registry.path(), "/cargo")));
    Ok(remapped.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect())
}
