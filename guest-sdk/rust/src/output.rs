//! What a run shows and returns.

use serde::Serialize;

use crate::host::HostHandle;
use crate::{Cause, Problem, Result};

/// What the run shows and returns. The host caps each text and removes terminal escapes from it.
#[derive(Debug, Clone)]
pub struct Output {
    pub(crate) host: HostHandle,
}

impl Output {
    /// Shows one line to a person (`--output human`).
    pub fn human(&self, text: impl AsRef<str>) {
        self.host.human(text.as_ref());
    }

    /// Shows one line in a log or a chat (`--output summary`).
    pub fn summary(&self, text: impl AsRef<str>) {
        self.host.summary(text.as_ref());
    }

    /// Gives the machine result, an object, at most once, in place of what the flow returns.
    ///
    /// Mostly there is no need: what the flow returns is the result. This is for a result that is given before
    /// something that may still fail.
    ///
    /// # Errors
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when it is not an object or was given before,
    /// [`Cause::Limit`](crate::Cause::Limit) when it is too large, [`Cause::Flow`](crate::Cause::Flow) when the value
    /// has no JSON form.
    pub fn result<T: Serialize + ?Sized>(&self, value: &T) -> Result<()> {
        let text = serde_json::to_string(value)?;
        if !text.starts_with('{') {
            let (pointer, message) = (String::new(), "the result is not an object".to_owned());
            return Err(Cause::InvalidInput(vec![Problem { pointer, message }]).into());
        }
        self.host.result(&text)
    }
}
