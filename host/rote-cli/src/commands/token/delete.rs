//! `rote token delete`.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Remove a credential
#[derive(Debug, Args)]
pub struct Delete {
    /// Its name
    name: String,
}

impl Delete {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        context.app()?.token_delete(&self.name)?;
        Ok(Report::new(json!({ "deleted": self.name }), format!("deleted {}", self.name)))
    }
}
