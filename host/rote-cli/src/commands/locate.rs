//! `rote where`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Show the folder of the workspace in use
#[derive(Debug, Args)]
pub struct Locate {}

impl Locate {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let place = context.session()?.locate()?;
        let text = place.path.display().to_string();
        Ok(Report::new(&place, text))
    }
}
