//! How long a run waits: `wait`, or `wait:10s/30m` for a pause of ten seconds and half an hour at most.

use rote_plan::{MAX_PAUSE, MAX_READS};

use crate::FlowError;
use crate::question::QuestionId;
use crate::span;

/// The answer that waits.
pub(super) const WAIT: &str = "wait";

/// The pause between two reads, and how many of them are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    /// Milliseconds.
    pub(super) pause: u64,
    pub(super) most: usize,
}

impl Default for Wait {
    /// Five seconds, for an hour. The run's own time ends before that; it can be resumed then, and waits on.
    fn default() -> Self {
        Self { pause: 5_000, most: 720 }
    }
}

impl Wait {
    /// Reads an answer; none for one that does not wait.
    pub(super) fn read(id: &QuestionId, word: &str) -> Result<Option<Self>, FlowError> {
        if word == WAIT {
            return Ok(Some(Self::default()));
        }
        let Some(rest) = word.strip_prefix(WAIT).and_then(|rest| rest.strip_prefix(':')) else { return Ok(None) };
        let read = || {
            let (pause, within) = rest.split_once('/')?;
            let (pause, within) = (span::read(pause)?, span::read(within)?);
            let most = usize::try_from(within / pause).ok()?;
            ((1..=MAX_PAUSE).contains(&pause) && (2..=MAX_READS).contains(&most)).then_some(Self { pause, most })
        };
        let wrong = || {
            let pause = span::said(MAX_PAUSE);
            format!(
                "`{id}` cannot be `{word}`: say `{WAIT}:PAUSE/TIME`, such as `{WAIT}:10s/30m`, with a pause of {pause} at most that fits 2 to {MAX_READS} times into the time"
            )
        };
        read().map(Some).ok_or_else(|| FlowError::Usage { message: wrong() })
    }

    /// In words, with the condition that is waited for.
    pub(super) fn said(self, until: &str) -> String {
        let within = u64::try_from(self.most).unwrap_or(u64::MAX).saturating_mul(self.pause);
        format!("every {} until {until}, for {} at most", span::said(self.pause), span::said(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_the_pause_and_the_time() {
        let id = QuestionId::When("s3".to_owned());
        let read = |word: &str| Wait::read(&id, word);
        assert_eq!(read("no").unwrap(), None);
        assert_eq!(read("wait").unwrap(), Some(Wait { pause: 5_000, most: 720 }));
        assert_eq!(read("wait:10s/30m").unwrap(), Some(Wait { pause: 10_000, most: 180 }));
        for wrong in ["wait:", "wait:10s", "wait:10s/10s", "wait:1s/1h", "wait:2h/9h", "wait:0s/1m", "wait:x/1m"] {
            assert!(read(wrong).unwrap_err().to_string().contains("wait:10s/30m"), "{wrong}");
        }
        assert_eq!(
            Wait { pause: 10_000, most: 180 }.said("it is so"),
            "every 10 seconds until it is so, for 30 minutes at most"
        );
    }
}
