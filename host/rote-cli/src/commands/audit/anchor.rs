//! `rote audit anchor`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Print where the journal ended when the approval key was last unlocked, signed with it
///
/// Keep it elsewhere: `rote audit verify --anchor FILE` shows later whether what was before it is still the same, also to
/// whoever had the whole home in their hands meanwhile, and not the passphrase.
#[derive(Debug, Args)]
pub struct Anchor {}

impl Anchor {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let head = context.session()?.audit_anchor()?;
        let text = serde_json::to_string(&head).unwrap_or_default();
        Ok(Report::new(&head, text).verbatim())
    }
}
