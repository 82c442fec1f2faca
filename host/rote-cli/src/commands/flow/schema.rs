//! `rote flow schema`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Print the JSON Schema of a flow's frontmatter
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let (text, data) = context.app()?.flow_schema()?;
        Ok(Report::new(data, text))
    }
}
