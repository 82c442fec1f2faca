//! `rote clear`.

use clap::Args;
use rote_types::ResponseId;
use serde_json::json;

use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::units::plural;
use crate::ui::Report;

/// Remove responses from the workspace; the numbers go on counting
#[derive(Debug, Args)]
pub struct Clear {
    /// Which, such as `@3 @4`
    #[arg(value_name = "@N")]
    ids: Vec<ResponseId>,
    /// All of them
    #[arg(short, long, conflicts_with = "ids")]
    all: bool,
}

impl Clear {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        if self.ids.is_empty() && !self.all {
            return Err(usage("nothing to clear was named", "rote clear @3, or rote clear --all"));
        }
        let removed = context.session()?.clear(&self.ids)?;
        let number = usize::try_from(removed).unwrap_or(usize::MAX);
        Ok(Report::new(json!({ "removed": removed }), format!("removed {}", plural(number, "response"))))
    }
}
