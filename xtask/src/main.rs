//! Repository chores, in Rust so that they run wherever cargo does.
//!
//! `check-layers` compares the crate table of ARCHITECTURE.md with `cargo metadata`, and looks who decides what a tool does; `dead-pub`
//! finds functions without a caller; `guests` builds the
//! committed WebAssembly guests and compares them; `walkthrough` runs the README's commands. Nothing here is
//! part of the product.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a developer's tool: it prints, reads files and starts processes by design"
)]

mod access;
mod dead_pub;
mod guests;
mod layers;
mod sources;
mod walkthrough;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", about = "Repository chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Compare the crate table of ARCHITECTURE.md with the real dependency edges, and look who asks a method what a
    /// tool does.
    CheckLayers,
    /// Find public functions of the host that only tests call.
    DeadPub,
    /// Build the committed guests from source.
    Guests {
        /// Compare with what is committed instead of replacing it.
        #[arg(long)]
        check: bool,
    },
    /// Run the README's walkthrough blocks against a built `rote`.
    Walkthrough {
        /// The `rote` binary.
        #[arg(long, default_value = "target/debug/rote")]
        rote: std::path::PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::CheckLayers => layers::check().and_then(|()| access::check()),
        Chore::DeadPub => dead_pub::check(),
        Chore::Guests { check } => guests::run(check),
        Chore::Walkthrough { rote } => walkthrough::run(&rote),
    }
}

/// Returns the repository's root: the folder above this package.
fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository exists")
}
