//! `rote init`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Make a workspace, or find it, and use it from now on
///
/// What two shells do at once belongs in two workspaces: `--here` in a folder for each, or `export ROTE_WORKSPACE=NAME`.
#[derive(Debug, Args)]
pub struct Init {
    /// Its name
    name: String,
    /// Use it in this folder and below it only: the file `.rote-workspace` says so
    #[arg(long)]
    here: bool,
}

impl Init {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let done = context.session()?.init(&self.name, self.here)?;
        let word = if done.created { "made" } else { "found" };
        let place = done.marker.as_ref().map(|file| format!("; {} says so here", file.display())).unwrap_or_default();
        let text = format!("{word} workspace {} in {}{place}", done.name, done.path.display());
        Ok(Report::new(&done, text))
    }
}
