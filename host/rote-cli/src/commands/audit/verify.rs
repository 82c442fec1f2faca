//! `rote audit verify`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::units::count;
use crate::ui::Report;

/// Check that no event of the journal was changed, removed or added (exit 10 when one was)
#[derive(Debug, Args)]
pub struct Verify {}

impl Verify {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let done = context.app()?.audit_verify()?;
        let text = format!("{} events, each hash follows from the one before; head {}", count(done.events), done.head);
        Ok(Report::new(&done, text))
    }
}
