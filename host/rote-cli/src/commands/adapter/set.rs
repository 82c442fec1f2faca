//! `rote adapter set`.

use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::base_url;
use crate::ui::Report;

/// Change what may change of an adapter; its fingerprint stays
#[derive(Debug, Args)]
pub struct Set {
    /// The adapter
    id: String,
    /// What to change
    key: Key,
    /// The new value; typing a loopback or private base URL allows that address
    value: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Key {
    /// Where requests go
    BaseUrl,
}

impl Set {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let Key::BaseUrl = self.key;
        let adapter = context.app()?.set_base_url(&self.id, &self.value)?;
        let text = format!("{}: base url is {}", adapter.id, base_url(adapter.base_url.as_deref()));
        Ok(Report::new(&adapter, text))
    }
}
