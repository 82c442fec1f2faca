//! `rote token get`.

use clap::Args;
use rote_types::command;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Say whether a credential is there, and where from; shows the value only with --reveal
///
/// Neither a pipe nor --json reveals it by itself: whoever runs rote for you has no need of the value.
#[derive(Debug, Args)]
pub struct Get {
    /// Its name
    name: String,
    /// Print the value
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    yes: Yes,
}

impl Get {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let (value, source) = if !self.reveal {
            session.token_get(&self.name)?
        } else {
            session.token_get(&self.name)?;
            let question = format!("print the value of `{}` here?", self.name);
            let command = command("rote token get").argument(&self.name).plain("--reveal");
            session.token_reveal(&self.name, self.yes.agree(context, ui, &question, command)?)?
        };
        let characters = value.expose_secret().chars().count();
        let mut data = json!({ "name": self.name, "source": source, "characters": characters });
        if self.reveal {
            data["value"] = json!(value.expose_secret());
            return Ok(Report::new(data, value.expose_secret()).verbatim());
        }
        let text = format!("{} is in the {}: {characters} characters; --reveal shows them", self.name, source.as_str());
        Ok(Report::new(data, text))
    }
}
