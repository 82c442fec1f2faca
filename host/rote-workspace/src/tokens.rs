//! Token counts with o200k_base, loaded lazily and off the critical path: a count is a pure function of an
//! immutable body, so it can be made at any time.
//!
//! Loading the vocabulary takes on the order of 0.1 to 0.3 s, which no call may wait for: commands that show counts
//! start [`Tokenizer::warm`] first and fill counts in at their end.

use std::sync::OnceLock;

use tiktoken_rs::CoreBPE;

/// The name of the encoding, as it stands in records.
pub(crate) const ENCODING: &str = "o200k_base";

/// Longest piece that is counted at once. Long runs of one character take more than linear time to merge; a cut
/// before a space, where a token starts anyway, costs no accuracy.
const PIECE_BYTES: usize = 64 << 10;

static VOCABULARY: OnceLock<Option<CoreBPE>> = OnceLock::new();

/// Counts tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokenizer;

impl Tokenizer {
    /// Loads the vocabulary in a background thread, so that a later count does not wait for it.
    pub fn warm() {
        if !Self::is_warm() {
            // Detached on purpose: it ends by itself and owns nothing; a count in between waits for the same load.
            std::thread::spawn(|| vocabulary().is_some());
        }
    }

    /// Whether a count would not have to load the vocabulary first.
    #[must_use]
    pub fn is_warm() -> bool {
        VOCABULARY.get().is_some()
    }

    /// Returns the number of tokens of `text`; loads the vocabulary when it is not there yet.
    #[must_use]
    pub fn count(&self, text: &str) -> u64 {
        let Some(vocabulary) = vocabulary() else {
            return estimate(text);
        };
        let mut rest = text;
        let mut count = 0_usize;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cut(rest));
            count += vocabulary.encode_ordinary(piece).len();
            rest = after;
        }
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

fn vocabulary() -> Option<&'static CoreBPE> {
    VOCABULARY.get_or_init(|| tiktoken_rs::o200k_base().ok()).as_ref()
}

/// The usual rule of thumb, should the embedded vocabulary ever not load.
fn estimate(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).div_ceil(4)
}

/// Returns where the first piece of `text` ends: before the last single space in reach, else at a character.
fn cut(text: &str) -> usize {
    if text.len() <= PIECE_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(PIECE_BYTES);
    let bytes = text.as_bytes();
    let starts_word = |place: &usize| {
        bytes[*place] == b' ' && !bytes[place - 1].is_ascii_whitespace() && !bytes[place + 1].is_ascii_whitespace()
    };
    // `place + 1` is in reach, since the text goes on past `end`.
    (end / 2..end).rev().find(starts_word).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_are_those_of_o200k_base() {
        // Counted with a second implementation of the encoding (bpe-openai 0.3.2).
        for (text, tokens) in [("", 0), ("hello world", 2), ("{\"id\":1}", 5)] {
            assert_eq!(Tokenizer.count(text), tokens, "{text}");
        }
        assert_eq!(Tokenizer.count(&"{\"id\":1,\"name\":\"thing\"},".repeat(40)), 321);
    }

    #[test]
    fn cutting_a_long_text_at_words_does_not_change_its_count() {
        let text = "The quick brown fox, again and again. ".repeat(6_000);
        let whole = vocabulary().unwrap().encode_ordinary(&text).len();
        assert!(text.len() > 3 * PIECE_BYTES);
        assert_eq!(Tokenizer.count(&text), u64::try_from(whole).unwrap());
    }

    #[test]
    fn a_text_without_words_is_cut_between_characters() {
        for text in ["é".repeat(PIECE_BYTES), " ".repeat(3 * PIECE_BYTES), "a".repeat(PIECE_BYTES + 1)] {
            assert!(Tokenizer.count(&text) > 0);
        }
    }
}
