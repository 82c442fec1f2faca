//! `rote flow remove`.

use clap::Args;
use rote_app::Consent;
use rote_types::command;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Remove a flow and its blessing; its runs and the journal stay
#[derive(Debug, Args)]
#[command(visible_alias = "delete")]
pub struct Remove {
    /// Its name
    flow: String,
    /// Also one that is released
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    yes: Yes,
}

impl Remove {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let removal = session.host().blessings()?.removal(&self.flow.parse()?, self.force)?;
        let consent = if !removal.blessed {
            Consent::Unasked
        } else {
            let remove = command("rote flow remove").argument(&self.flow);
            let remove = if self.force { remove.plain("--force") } else { remove };
            self.yes.agree(context, ui, &format!("remove `{}` with its blessing?", self.flow), remove)?
        };
        session.remove_flow(&removal, self.force, consent)?;
        Ok(Report::new(json!({ "removed": self.flow }), format!("removed {}", self.flow)))
    }
}
