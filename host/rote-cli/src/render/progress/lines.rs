//! One line for each call, and for each step of which its calls do not say everything, for logs and pipes.

use std::io::Write;

use super::{End, Open, Show};

/// Writes lines. A reader who is gone does not matter: the run goes on.
pub(super) struct Lines(Box<dyn Write + Send>);

impl Lines {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self(out)
    }
}

impl Show for Lines {
    fn start(&mut self, _key: &str, _step: &Open) {}

    fn end(&mut self, _key: &str, step: &Open, end: End, text: &str) {
        let time = step.time();
        let _unread = match end {
            End::Done if step.calls > 0 => Ok(()),
            End::Done => writeln!(self.0, "done     {text}  {time}"),
            End::Failed => writeln!(self.0, "failed   {text}  {time}"),
            End::Skipped => writeln!(self.0, "skipped  {text}"),
        };
    }

    fn finish(&mut self) {
        let _unread = self.0.flush();
    }
}
