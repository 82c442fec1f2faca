//! `rote token bind`.

use clap::Args;
use rote_types::command;
use serde_json::json;

use crate::ask::{Yes, bind_question};
use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::bindings;
use crate::ui::{Report, Ui};

/// Let an adapter send a credential to where its requests go now
///
/// A credential goes only to the adapters and the servers that it is bound to. A name that the vault has no value
/// for stands for the environment variable of that name from then on.
#[derive(Debug, Args)]
pub struct Bind {
    /// The credential, as `rote adapter info` shows it
    name: String,
    /// The adapter
    adapter: String,
    #[command(flatten)]
    yes: Yes,
}

impl Bind {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let binding = session.token_binding(&self.name, &self.adapter)?;
        let command = command("rote token bind").argument(&self.name).argument(&self.adapter);
        let consent = self.yes.agree(context, ui, &bind_question(&self.name, &binding), command)?;
        let bound = session.token_bind(&self.name, &binding, consent)?;
        let text = format!("{}\nbound to {}", self.name, bindings(&bound));
        Ok(Report::new(json!({ "name": self.name, "bindings": bound }), text))
    }
}
