//! `rote audit restart`.

use clap::Args;
use rote_types::command;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Begin a new chain when the journal is not the one that was written; the old events are kept
///
/// The old events stay in a table of their own in `chronicle/journal.db`; a file that is not a database any more stays
/// beside it under another name. The first event of the new chain says what was wrong. A journal that is in order is not
/// begun anew (exit 10).
#[derive(Debug, Args)]
pub struct Restart {
    #[command(flatten)]
    yes: Yes,
}

impl Restart {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let question = "begin a new journal, and keep the events of this one aside?";
        let consent = self.yes.agree_alone(context, ui, question, command("rote audit restart"))?;
        let done = context.session()?.audit_restart(consent)?;
        let text = format!("begun anew; the old events are kept as {}: {}", done.kept, done.problem);
        Ok(Report::new(&done, text).next(command("rote audit tail")))
    }
}
