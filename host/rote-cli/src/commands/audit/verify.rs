//! `rote audit verify`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::units::count;
use crate::ui::Report;

/// Check that no event of the journal was changed, removed or added (exit 10 when one was)
///
/// Each event's hash is made with a key of this home, and where the journal ends is kept outside of its folder. Whoever can
/// read `secrets/` can make both anew: keep the head that is printed elsewhere to notice that too. What is open of runs, which
/// the journal keeps beside its events, is compared with them.
#[derive(Debug, Args)]
pub struct Verify {}

impl Verify {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let done = context.session()?.audit_verify()?;
        let lost = done.lost.map_or_else(String::new, |(first, last)| {
            format!("\nevents {first} to {last} were not synced before the machine stopped, and are lost")
        });
        let events = count(done.events);
        let text =
            format!("{events} events, each follows from the one before and none is missing; head {}{lost}", done.head);
        Ok(Report::new(&done, text))
    }
}
