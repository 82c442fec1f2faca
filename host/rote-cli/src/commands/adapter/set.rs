//! `rote adapter set`.

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::{base_url, destinations};
use crate::ui::Report;

/// Change what may change of an adapter; its fingerprint stays
#[derive(Debug, Args)]
pub struct Set {
    /// The adapter
    id: String,
    /// What to change
    key: Key,
    /// The new value; typing a loopback address in it allows that address and port
    value: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Key {
    /// Where requests go
    BaseUrl,
    /// Where operations go that have a server of their own: HOST=URL, or HOST=keep
    Server,
}

impl Set {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        match self.key {
            Key::BaseUrl => {
                let adapter = context.app()?.set_base_url(&self.id, &self.value)?;
                let text = format!("{}: base url is {}", adapter.id, base_url(adapter.base_url.as_deref()));
                Ok(Report::new(&adapter, text))
            }
            Key::Server => {
                let all = context.app()?.set_server(&self.id, &self.value)?;
                let text = format!("{} goes to\n  {}", self.id, destinations(&all).join("\n  "));
                Ok(Report::new(json!({ "adapter": self.id, "destinations": all }), text))
            }
        }
    }
}
