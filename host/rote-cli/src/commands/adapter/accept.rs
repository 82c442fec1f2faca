//! `rote adapter accept`.

use clap::Args;
use rote_types::command;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Let count what somebody wrote into an adapter's `policies.json`
///
/// Where there is an approval key, a file that allows more than a person signed stops the adapter until this is signed. Without
/// a key it counts at once, and the journal tells of it.
#[derive(Debug, Args)]
pub struct Accept {
    /// The adapter
    id: String,
    #[command(flatten)]
    yes: Yes,
}

impl Accept {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let id = session.installed(&self.id)?;
        let Some(edited) = session.edited_policy(id.as_str())? else {
            return Ok(Report::new(json!({ "accepted": false }), "the journal has told of all that the file says"));
        };
        let more =
            if edited.allows.is_empty() { "nothing more than before".to_owned() } else { edited.allows.join(", ") };
        let known =
            if edited.compared { "" } else { " (what it said before is not known, so it may have lifted a denial)" };
        let question = format!("let policies.json of `{id}` count, which newly allows {more}{known}?");
        let consent = self.yes.agree(context, ui, &question, command("rote adapter accept").argument(&id))?;
        session.accept_policy(id.as_str(), &edited, consent)?;
        let data = json!({ "accepted": true, "allows": edited.allows });
        Ok(Report::new(data, format!("policies.json of {id} counts; it newly allows {more}")))
    }
}
