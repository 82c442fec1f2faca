//! `rote flow schema`.

use clap::Args;
use rote_app::FRONTMATTER_SCHEMA;
use serde_json::Value;

use crate::ui::Report;

/// Print the JSON Schema of a flow's frontmatter
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    pub(super) fn run() -> Report {
        // A test reads it as JSON.
        let data: Value = serde_json::from_str(FRONTMATTER_SCHEMA).unwrap_or_default();
        Report::new(data, FRONTMATTER_SCHEMA)
    }
}
