//! `wasi:random`: the host's entropy, on the tape. "Insecure" randomness is no worse here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use super::super::FlowState;

/// Most random bytes of one call.
const RANDOM_BYTES: u64 = 64 << 10;

impl random::Host for FlowState {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.random_u64()
    }
}

impl insecure::Host for FlowState {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.random_u64()
    }
}

impl insecure_seed::Host for FlowState {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.random_u64()?, self.random_u64()?))
    }
}

impl FlowState {
    fn random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        wasmtime::ensure!(
            len <= RANDOM_BYTES,
            "it asked for {len} random bytes at once, at most {RANDOM_BYTES} are given"
        );
        let len = usize::try_from(len)?;
        let text = self.host_value(&format!("wasi.random {len}"), |run| {
            let mut bytes = vec![0; len];
            run.host.entropy.fill(&mut bytes);
            Ok(STANDARD.encode(bytes))
        })?;
        let mut bytes = STANDARD.decode(text)?;
        bytes.resize(len, 0);
        Ok(bytes)
    }

    fn random_u64(&mut self) -> wasmtime::Result<u64> {
        let bytes = self.random_bytes(8)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}
