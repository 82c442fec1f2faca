//! `rote describe`, and the help of `rote call ID TOOL`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::tool;
use crate::ui::Report;

/// Show one tool whole: what it does, all that it takes, and an example; `rote call ID TOOL --help` does the same
#[derive(Debug, Args)]
pub struct Describe {
    /// The adapter
    id: String,
    /// The tool
    tool: String,
}

impl Describe {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let described = context.session()?.tool(&self.id, &self.tool)?;
        let example = tool::example(&described);
        Ok(Report::new(&described, tool::text(&described)).next(example))
    }
}
