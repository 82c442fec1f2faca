//! Compiles the committed guests to native code, so that a fresh home does not wait for it.
//!
//! Writes `native.rs` into `OUT_DIR`: pairs of a guest's SHA-256 and its compressed code. Compiled for the target's
//! baseline and a few features that every CPU since 2009 has, never for the CPU of the build: a program is moved.

#![expect(clippy::disallowed_methods, reason = "files of the build, not of rote")]

#[path = "src/configuration.rs"]
mod configuration;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;

/// Relative to this crate. The shell is the code of every generated adapter, which differ by their tables only.
const GUESTS: [&str; 4] =
    ["adapters/_shell/shell.wasm", "flows/_query/query.wasm", "flows/_plan/plan.wasm", "flows/_js/js.wasm"];
/// Features of x86-64-v2, which the code may use. A CPU without one of them compiles for itself.
const X86_64: [&str; 5] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];
/// Compression level of zstd: the code is compressed once, and decompressed at the same speed for each level.
const LEVEL: i32 = 19;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let engine = engine(&std::env::var("TARGET")?);
    let mut table = String::from("&[");
    for (number, guest) in GUESTS.iter().enumerate() {
        let path = root.join(guest);
        println!("cargo::rerun-if-changed={}", path.display());
        // Without an engine for this target the table is empty, and guests are compiled where they run.
        if let Some(engine) = &engine {
            add(&mut table, engine, &path, &out.join(format!("{number}.zst")))?;
        }
    }
    println!("cargo::rerun-if-changed=src/configuration.rs");
    println!("cargo::rerun-if-changed=build.rs");
    table.push(']');
    std::fs::write(out.join("native.rs"), table)?;
    Ok(())
}

/// An engine that compiles for `target`; `None` for a target that this compiler does not know.
fn engine(target: &str) -> Option<Engine> {
    let mut config = configuration::configuration();
    config.target(target).ok()?;
    if target.starts_with("x86_64") {
        for feature in X86_64 {
            // SAFETY: wasmtime compares the features of compiled code with those of the CPU before it loads it.
            #[expect(unsafe_code, reason = "the setting is of the compiler's, and checked when the code is loaded")]
            unsafe {
                config.cranelift_flag_enable(feature);
            }
        }
    }
    Engine::new(&config).ok()
}

fn add(table: &mut String, engine: &Engine, path: &Path, place: &Path) -> Result<(), Failure> {
    let component = std::fs::read(path)?;
    let native = engine.precompile_component(&component)?;
    std::fs::write(place, zstd::bulk::compress(&native, LEVEL)?)?;
    let digest: [u8; 32] = Sha256::digest(&component).into();
    write!(table, "({digest:?}, {}, include_bytes!({place:?})),", native.len())?;
    Ok(())
}
