//! `rote flow remove`.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Remove a flow and its blessing; its runs and the journal stay
#[derive(Debug, Args)]
#[command(visible_alias = "delete")]
pub struct Remove {
    /// Its name
    flow: String,
    /// Also one that is released
    #[arg(short, long)]
    force: bool,
}

impl Remove {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        context.app()?.remove_flow(&self.flow, self.force)?;
        Ok(Report::new(json!({ "removed": self.flow }), format!("removed {}", self.flow)))
    }
}
