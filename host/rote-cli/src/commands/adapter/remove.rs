//! `rote adapter remove`.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Uninstall an adapter; recorded responses and the journal stay
#[derive(Debug, Args)]
#[command(visible_alias = "delete")]
pub struct Remove {
    /// The adapter
    id: String,
}

impl Remove {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let id = context.app()?.adapter_remove(&self.id)?;
        Ok(Report::new(json!({ "removed": id }), format!("removed {id}")))
    }
}
