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
        let question = format!("remove the adapter `{}` with its policies and logs?", self.id);
        let consent = self.yes.agree(context, ui, &question, command("rote adapter remove").argument(&self.id))?;
        let id = context.session()?.adapter_remove(&self.id, consent)?;
        Ok(Report::new(json!({ "removed": id }), format!("removed {id}")))
    }
}
