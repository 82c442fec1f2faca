//! `rote token delete`.

use clap::Args;
use rote_types::command;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Remove a credential
#[derive(Debug, Args)]
pub struct Delete {
    /// Its name
    name: String,
    #[command(flatten)]
    yes: Yes,
}

impl Delete {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        session.token_info(&self.name)?;
        let question = format!("delete the credential `{}`?", self.name);
        let command = command("rote token delete").argument(&self.name);
        let consent = self.yes.agree(context, ui, &question, command)?;
        session.token_delete(&self.name, consent)?;
        Ok(Report::new(json!({ "deleted": self.name }), format!("deleted {}", self.name)))
    }
}
