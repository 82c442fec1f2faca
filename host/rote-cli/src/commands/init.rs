//! `rote init`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Make a workspace, or find it, and use it from now on
#[derive(Debug, Args)]
pub struct Init {
    /// Its name
    name: String,
}

impl Init {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let done = context.session()?.init(&self.name)?;
        let word = if done.created { "made" } else { "found" };
        let text = format!("{word} workspace {} in {}", done.name, done.path.display());
        Ok(Report::new(&done, text))
    }
}
