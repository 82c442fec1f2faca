//! `rote flow release`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::facts;
use crate::ui::Report;

/// Publish a draft: it is found by search, other flows may run it, and it is never overwritten
///
/// File, search index and journal change together or not at all. The flow gets a new digest, so a blessing of the
/// draft no longer counts.
#[derive(Debug, Args)]
pub struct Release {
    /// Its name
    flow: String,
    /// Release it in spite of what lint finds; the journal keeps what that was
    #[arg(short, long)]
    force: bool,
}

impl Release {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let done = context.block_on(context.host()?.releases()?.release(&self.flow.parse()?, self.force))??;
        let rows = [("file", done.path.display().to_string()), ("digest", done.sha256.to_string())];
        let head = if done.already {
            format!("{} {} is released already", done.name, done.version)
        } else {
            format!("released {} {}", done.name, done.version)
        };
        let mut lines = vec![head, facts(&rows)];
        lines.extend(done.notes.iter().filter(|_| !done.already).map(|note| format!("  note: {note}")));
        Ok(Report::new(&done, lines.join("\n")))
    }
}
