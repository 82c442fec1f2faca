//! What a guest prints: collected, bounded, and passed on to the run's log line by line.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Most bytes that wait for the log; what is printed beyond them is dropped, as the log itself would.
const WAITING_BYTES: usize = 256 << 10;
/// What one write may bring.
const PERMIT: usize = 64 << 10;

/// One of the two output streams of a guest; clones are the same stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Console(Arc<Mutex<Text>>);

#[derive(Debug, Default)]
struct Text {
    waiting: VecDeque<u8>,
}

impl Console {
    fn text(&self) -> MutexGuard<'_, Text> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let mut text = self.text();
        let room = WAITING_BYTES.saturating_sub(text.waiting.len());
        text.waiting.extend(&bytes[..bytes.len().min(room)]);
    }

    /// Hands out the lines that were printed; at the end also one that was not ended.
    pub(super) fn drain(&self, at_end: bool, mut line: impl FnMut(&str)) {
        let mut text = self.text();
        let ended = text.waiting.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
        // A line that fills all the room will never be ended.
        let whole = at_end || text.waiting.len() >= WAITING_BYTES;
        let length = if whole { text.waiting.len() } else { ended };
        let bytes: Vec<u8> = text.waiting.drain(..length).collect();
        for one in String::from_utf8_lossy(&bytes).lines().filter(|one| !one.trim().is_empty()) {
            line(one);
        }
    }
}

impl IsTerminal for Console {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Console {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Console {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Console {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Console {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_in_order_and_a_flood_is_cut() {
        let console = Console::default();
        console.push(b"one\ntw");
        console.push(b"o\n\n");
        for _ in 0..10 {
            console.push(&[b'x'; WAITING_BYTES]);
        }
        let mut lines = Vec::new();
        console.drain(false, |line| lines.push(line.to_owned()));
        assert_eq!(lines[..2], ["one", "two"]);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].len() < WAITING_BYTES);
    }

    #[test]
    fn a_line_waits_for_its_end() {
        let console = Console::default();
        console.push(b"half");
        console.drain(false, |line| unreachable!("{line}"));
        console.push(b" and half");
        console.drain(true, |line| assert_eq!(line, "half and half"));
    }
}
