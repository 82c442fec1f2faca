//! `rote adapter set`.

use clap::{Args, ValueEnum};
use rote_types::command;
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::{base_url, bindings, destinations, idempotency};
use crate::ui::{Report, Ui};

/// Change what may change of an adapter; its fingerprint stays
#[derive(Debug, Args)]
pub struct Set {
    /// The adapter
    id: String,
    /// What to change
    key: Key,
    /// The new value; typing a loopback address in it allows that address and port
    value: String,
    #[command(flatten)]
    yes: Yes,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Key {
    /// Where requests go
    BaseUrl,
    /// Where operations go that have a server of their own: HOST=URL, or HOST=keep
    Server,
    /// Which entry of the vault it sends, and may send from then on: NAME for the recommended one, or OLD=NAME
    Credential,
    /// In which header writes carry idempotency keys: NAME, none, or declared for what the description says
    IdempotencyHeader,
}

impl Set {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        session.installed(&self.id)?;
        // Only a credential is granted; where it would go is shown, and nowhere else it goes.
        let binding = match self.key {
            Key::Credential => session.adapter_binding(&self.id)?,
            _ => None,
        };
        let (question, key) = match self.key {
            Key::BaseUrl => (format!("send the requests of `{}` to {}?", self.id, self.value), "base_url"),
            Key::Server => (format!("decide of a server of `{}`: {}?", self.id, self.value), "server"),
            Key::Credential => {
                let places = binding.iter().flat_map(|one| &one.origins).map(String::as_str).collect::<Vec<_>>();
                let to = if places.is_empty() { String::new() } else { format!(" to {}", places.join(", ")) };
                (format!("let `{}` send the credential {}{to}?", self.id, self.value), "credential")
            }
            Key::IdempotencyHeader => {
                let question =
                    format!("repeat writes of `{}` by an idempotency key in the header {}?", self.id, self.value);
                (question, "idempotency_header")
            }
        };
        let command = command("rote adapter set").argument(&self.id).plain(key).argument(&self.value);
        let consent = self.yes.agree(context, ui, &question, command)?;
        match self.key {
            Key::BaseUrl => {
                let adapter = session.set_base_url(&self.id, &self.value, consent)?;
                let text = format!("{}: base url is {}", adapter.id, base_url(adapter.base_url.as_deref()));
                Ok(Report::new(&adapter, text))
            }
            Key::Server => {
                let all = session.set_server(&self.id, &self.value, consent)?;
                let text = format!("{} goes to\n  {}", self.id, destinations(&all).join("\n  "));
                Ok(Report::new(json!({ "adapter": self.id, "destinations": all }), text))
            }
            Key::Credential => {
                let set = session.set_credential(&self.id, &self.value, binding.as_ref(), consent)?;
                let bound = match set.bindings.as_slice() {
                    [] => String::new(),
                    all => format!("\nbound to {}", bindings(all)),
                };
                let text = format!("{} sends {} in place of {}{bound}", set.adapter, set.name, set.replaced);
                Ok(Report::new(&set, text))
            }
            Key::IdempotencyHeader => {
                let keys = session.set_idempotency_header(&self.id, &self.value, consent)?;
                let said = Some(idempotency(&keys)).filter(|said| !said.is_empty());
                let text = format!("{}: idempotency keys: {}", self.id, said.as_deref().unwrap_or("none declared"));
                Ok(Report::new(json!({ "adapter": self.id, "idempotency": keys }), text))
            }
        }
    }
}
