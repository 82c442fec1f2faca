//! `rote adapter remove`.

use clap::Args;
use rote_types::command;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Uninstall an adapter; recorded responses and the journal stay
#[derive(Debug, Args)]
#[command(visible_alias = "delete")]
pub struct Remove {
    /// The adapter
    id: String,
    #[command(flatten)]
    yes: Yes,
}

impl Remove {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let id = session.installed(&self.id)?;
        let question = format!("remove the adapter `{id}` with its policies and logs?");
        let consent = self.yes.agree(context, ui, &question, command("rote adapter remove").argument(&id))?;
        let id = session.adapter_remove(id.as_str(), consent)?;
        Ok(Report::new(json!({ "removed": id }), format!("removed {id}")))
    }
}
