//! WASI 0.2 for flows whose toolchain wants it: Rust's standard library on `wasm32-wasip2`, CPython, StarlingMonkey.
//!
//! Invariants: nothing here reaches beyond the run. Time and randomness are the host's and on the tape; what is
//! printed goes to the run's log; there are no arguments, no environment, no input and no directory, so the file
//! functions find nothing. Sockets and HTTP are not offered: the network is reached by tools, through the gate.
//! Components that import no `wasi:` interface are linked without any of this.

mod clocks;
mod console;
mod random;
mod waits;

use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, clocks as wasi_clocks, filesystem, random as wasi_random};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_io::bindings::wasi::io;

use super::FlowState;
use crate::log::{LogBuffer, LogLevel};
use console::Console;

/// What a flow may import besides its world's own interfaces, without versions: any 0.2.
const INTERFACES: [&str; 20] = [
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    // Lists no directory, and without one the functions of the other have nothing to work on.
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
];
/// Most streams, timers and errors that a guest holds at once.
const RESOURCES: usize = 1_000;

/// Whether an import is one of WASI 0.2 that a flow may have.
pub(crate) fn offers(import: &str) -> bool {
    import.split_once('@').is_some_and(|(interface, version)| {
        (version == "0.2" || version.starts_with("0.2.")) && INTERFACES.contains(&interface)
    })
}

/// What a guest of WASI holds; made when it first asks for something.
pub(super) struct Wasi {
    context: WasiCtx,
    table: ResourceTable,
    out: Console,
    err: Console,
}

impl Wasi {
    fn new() -> Box<Self> {
        let (out, err) = (Console::default(), Console::default());
        let context = WasiCtxBuilder::new().stdout(out.clone()).stderr(err.clone()).build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        Box::new(Self { context, table, out, err })
    }

    /// Moves what was printed into the log.
    pub(super) fn flush(&self, log: &mut LogBuffer, at_end: bool) {
        self.out.drain(at_end, |line| log.write(LogLevel::Info, line));
        self.err.drain(at_end, |line| log.write(LogLevel::Warn, line));
    }
}

impl WasiView for FlowState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi();
        WasiCtxView { ctx: &mut wasi.context, table: &mut wasi.table }
    }
}

impl FlowState {
    fn wasi(&mut self) -> &mut Wasi {
        self.wasi.get_or_insert_with(Wasi::new)
    }
}

/// Borrows the table alone, as the streams need it.
struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// Offers [`INTERFACES`] to a component.
pub(super) fn add_to_linker(linker: &mut Linker<FlowState>) -> wasmtime::Result<()> {
    type Own = HasSelf<FlowState>;
    io::error::add_to_linker::<_, Table>(linker, |state| &mut state.wasi().table)?;
    io::streams::add_to_linker::<_, Table>(linker, |state| &mut state.wasi().table)?;
    io::poll::add_to_linker::<_, Own>(linker, |state| state)?;
    wasi_clocks::monotonic_clock::add_to_linker::<_, Own>(linker, |state| state)?;
    wasi_clocks::wall_clock::add_to_linker::<_, Own>(linker, |state| state)?;
    wasi_random::random::add_to_linker::<_, Own>(linker, |state| state)?;
    wasi_random::insecure::add_to_linker::<_, Own>(linker, |state| state)?;
    wasi_random::insecure_seed::add_to_linker::<_, Own>(linker, |state| state)?;
    cli::exit::add_to_linker::<_, Own>(linker, |state| state)?;
    cli::environment::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::stdin::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::stdout::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::stderr::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(linker, FlowState::cli)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(linker, FlowState::filesystem)?;
    filesystem::types::add_to_linker::<_, WasiFilesystem>(linker, FlowState::filesystem)
}

impl cli::exit::Host for FlowState {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        let how = if status.is_ok() { "without a result" } else { "as failed" };
        wasmtime::bail!("it ended itself {how}")
    }

    fn exit_with_code(&mut self, code: u8) -> wasmtime::Result<()> {
        wasmtime::bail!("it ended itself with exit code {code}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_interfaces_of_this_version_are_offered() {
        assert!(offers("wasi:clocks/wall-clock@0.2.0") && offers("wasi:filesystem/preopens@0.2.12"));
        for other in [
            "wasi:clocks/wall-clock",
            "wasi:clocks/wall-clock@0.3.0",
            "wasi:clocks/wall-clock@0.20.0",
            "wasi:sockets/tcp@0.2.3",
            "wasi:http/outgoing-handler@0.2.3",
            "wasi:keyvalue/store@0.2.0",
        ] {
            assert!(!offers(other), "{other}");
        }
    }
}
