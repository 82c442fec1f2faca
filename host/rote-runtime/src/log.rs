//! The guest's log: cleaned lines, bounded in bytes and in number.

use rote_types::clean_line;

/// How important the guest thinks a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Detail.
    Debug,
    /// News.
    Info,
    /// Something odd.
    Warn,
    /// Something wrong.
    Error,
}

/// One line that a guest wrote, cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub level: LogLevel,
    /// Its text: one printable line.
    pub text: String,
}

/// Longest line kept, in bytes.
const LINE_BYTES: usize = 4 << 10;
/// What a line costs besides its text, so that a flood of empty lines ends too.
const LINE_COST: usize = 32;

/// Collects the lines of one instance up to a bound in bytes.
#[derive(Debug)]
pub(crate) struct LogBuffer {
    lines: Vec<LogLine>,
    left: usize,
    dropped: u64,
}

impl LogBuffer {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { lines: Vec::new(), left: max_bytes, dropped: 0 }
    }

    /// Keeps `text`, or counts it as dropped once the bound is reached.
    pub(crate) fn write(&mut self, level: LogLevel, text: &str) {
        let text = clean_line(text, LINE_BYTES);
        let cost = text.len() + LINE_COST;
        if cost > self.left {
            // Once full it stays full: a later short line must not appear after a gap.
            self.left = 0;
            self.dropped += 1;
            return;
        }
        self.left -= cost;
        tracing::debug!(target: "rote::guest", ?level, text);
        self.lines.push(LogLine { level, text });
    }

    /// Returns the lines, with a last one that says how many were dropped.
    pub(crate) fn finish(mut self) -> Vec<LogLine> {
        if self.dropped > 0 {
            let text = format!("log limit reached: {} more lines were dropped", self.dropped);
            self.lines.push(LogLine { level: LogLevel::Warn, text });
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_counted() {
        let mut log = LogBuffer::new(1_000);
        for _ in 0..10_000 {
            log.write(LogLevel::Info, "\u{1b}[2Jflood");
        }
        let lines = log.finish();
        assert!(lines.len() < 40, "{}", lines.len());
        assert_eq!(lines[0].text, "flood");
        let last = &lines[lines.len() - 1].text;
        assert!(last.starts_with("log limit reached: 99"), "{last}");
    }

    #[test]
    fn a_line_after_the_bound_does_not_slip_in() {
        let mut log = LogBuffer::new(100);
        log.write(LogLevel::Info, &"x".repeat(90));
        log.write(LogLevel::Info, "short");
        assert_eq!(log.finish().len(), 1);
    }
}
