//! Native code of the committed guests, made by the build script: authentic because it is part of this program.

use rote_types::Sha256Digest;

/// Digest of a guest, length of its code, the code compressed.
type Native = ([u8; 32], usize, &'static [u8]);

static NATIVE: &[Native] = include!(concat!(env!("OUT_DIR"), "/native.rs"));

/// Returns the code of a committed guest. The engine still says whether it fits this CPU.
pub(crate) fn native(guest: Sha256Digest) -> Option<Vec<u8>> {
    let (_, length, compressed) = NATIVE.iter().find(|(digest, ..)| *digest == guest.0)?;
    let code = zstd::bulk::decompress(compressed, *length);
    code.inspect_err(|error| tracing::warn!(%error, %guest, "the code in this program does not unpack")).ok()
}

#[cfg(test)]
mod tests {
    use rote_types::sha256;

    use super::*;

    #[test]
    fn the_committed_guests_are_here_and_nothing_else_is() {
        for guest in [
            &include_bytes!("../../../adapters/_shell/shell.wasm")[..],
            include_bytes!("../../../flows/_query/query.wasm"),
            include_bytes!("../../../flows/_plan/plan.wasm"),
            include_bytes!("../../../flows/_js/js.wasm"),
        ] {
            assert!(native(sha256(guest)).is_some_and(|code| code.starts_with(b"\x7fELF")));
        }
        assert_eq!(native(sha256(b"another")), None);
    }
}
