//! What the engine is set to. The build script compiles the committed guests under the same settings, from this file.

use std::num::NonZeroUsize;

use wasmtime::Config;

/// Most stack of guest code, in bytes. Deep recursion of a guest ends here, as a trap.
const GUEST_STACK: usize = 1 << 20;
/// Stack of the fiber that guest and host functions share; the host has the rest for itself.
const FIBER_STACK: usize = 4 << 20;

/// The settings without the way in which instances are allocated.
pub(crate) fn configuration() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(FIBER_STACK)
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(NonZeroUsize::new(16))
        .generate_address_map(false)
        .native_unwind_info(false)
        .concurrency_support(false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .wasm_stack_switching(false);
    config
}
