//! The query engine: jq (jaq) as a component of world `rote:query/query`, which imports nothing.
//!
//! Invariants: a program reads its input and nothing else (no environment, clock, files, modules or further
//! input); every output is one strict JSON text; the outputs together keep to the given size. Time, memory and
//! stack are bounded by the sandbox around it, so nothing here counts steps.

#![cfg_attr(
    not(any(target_family = "wasm", test)),
    expect(dead_code, reason = "a native build is only ever for the tests")
)]
#![expect(clippy::cast_possible_truncation, reason = "a double that becomes an integer saturates, as jq's do")]

mod definitions;
mod direct;
mod evaluate;
mod index;
#[cfg(any(target_family = "wasm", test))]
#[expect(unsafe_code, reason = "an allocator")]
mod memory;
mod message;
mod need;
mod numbers;
mod paths;
mod read;
mod syntax;
mod terms;
mod write;

#[cfg(test)]
mod tests;

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "what wit-bindgen generates")]
mod component {
    use crate::evaluate::{Failure as EvaluateFailure, evaluate};

    wit_bindgen::generate!({
        path: "../../wit/rote-query@0.1.0",
        world: "rote:query/query",
    });

    struct Engine;

    export!(Engine);

    impl Guest for Engine {
        fn run(program: String, input: Vec<u8>, output_bytes: u64) -> Result<Vec<String>, Failure> {
            evaluate(&program, input, output_bytes).map_err(|failure| match failure {
                EvaluateFailure::Syntax(message) => Failure::Syntax(message),
                EvaluateFailure::Input(message) => Failure::Input(message),
                EvaluateFailure::Runtime(message) => Failure::Runtime(message),
                EvaluateFailure::OutputLimit => Failure::OutputLimit,
            })
        }
    }
}
