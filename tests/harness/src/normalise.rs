//! Replaces what varies between two equal runs, so that a transcript can be compared.

use regex::Regex;

/// An ordered list of replacements.
#[derive(Debug)]
pub struct Normaliser {
    texts: Vec<(String, String)>,
    patterns: Vec<(Regex, &'static str)>,
}

/// What varies everywhere: instants, digests, ids, ports, durations.
const PATTERNS: [(&str, &str); 10] = [
    (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", "[TIME]"),
    (r"\brun-([a-z0-9-]+)-\d{14}-[0-9a-f]{6}\b", "run-$1-[RUN]"),
    (r"write_guard_\d{4}-\d{2}-\d{2}", "write_guard_[DATE]"),
    // The size of a component changes with the compiler, and stands before its digest.
    (r"(\d+\.\d [KM]B · )?sha256:[0-9a-f]{12,64}…?", "[SIZE AND DIGEST]"),
    (r"mcp_[1-9A-HJ-NP-Za-km-z]{26,28}", "mcp_[FINGERPRINT]"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[UUID]"),
    (r"\b[0-9a-f]{64}\b", "[DIGEST]"),
    (r"\b[0-9a-f]{16}\b", "[TOKEN]"),
    (r"(127\.0\.0\.1|localhost):\d+", "$1:[PORT]"),
    (r"\b\d+(\.\d+)? ?(ns|µs|ms|s)\b", "[DURATION]"),
];

impl Normaliser {
    /// Returns the replacements that every transcript needs.
    ///
    /// # Panics
    /// Never: the patterns are constants that a test compiles.
    #[must_use]
    pub fn new() -> Self {
        let patterns = PATTERNS.iter().map(|(pattern, word)| {
            (Regex::new(pattern).expect("the pattern is a constant that is known to compile"), *word)
        });
        Self { texts: Vec::new(), patterns: patterns.collect() }
    }

    /// Replaces this very text first.
    #[must_use]
    pub fn text(mut self, text: &str, word: &str) -> Self {
        self.texts.push((text.to_owned(), word.to_owned()));
        self
    }

    /// Returns `input` with everything replaced and blanks at line ends removed.
    #[must_use]
    pub fn apply(&self, input: &str) -> String {
        let mut output = input.to_owned();
        for (text, word) in &self.texts {
            output = output.replace(text, word);
        }
        for (pattern, word) in &self.patterns {
            output = pattern.replace_all(&output, *word).into_owned();
        }
        output.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

impl Default for Normaliser {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_that_differ_by_chance_only_look_the_same() {
        let normaliser = Normaliser::new().text("/tmp/x1", "[DIR]");
        let seen =
            normaliser.apply("at 2026-11-21T03:38:06.12Z in /tmp/x1: 127.0.0.1:4711 took 12.5 ms  \n0123456789abcdef");
        assert_eq!(seen, "at [TIME] in [DIR]: 127.0.0.1:[PORT] took [DURATION]\n[TOKEN]");
    }
}
