//! `rote audit verify`.

use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::units::{count, second};
use crate::ui::Report;

/// Most bytes of a signed end; one has about 400.
const MAX_ANCHOR: u64 = 4 << 10;

/// Check that no event of the journal was changed, removed or added (exit 10 when one was)
///
/// Each event's hash is made with a key of this home, and where the journal ends is kept outside of its folder. Whoever can
/// read `secrets/` can make both anew: keep the head that is printed elsewhere to notice that too. What was before the last
/// signature of the approval key nobody makes anew without its passphrase. What is open of runs, which the journal keeps beside
/// its events, is compared with them.
#[derive(Debug, Args)]
pub struct Verify {
    /// Hold the journal against a signed end that was kept elsewhere, as `rote audit anchor` printed it [default: the last one that
    /// was signed]
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
}

impl Verify {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let session = context.session()?;
        let anchor = self.anchor.map(|path| session.read_file(&path, MAX_ANCHOR)).transpose()?;
        let done = session.audit_verify(anchor.as_deref())?;
        let lost = done.lost.map_or_else(String::new, |(first, last)| {
            format!("\nevents {first} to {last} were not synced before the machine stopped, and are lost")
        });
        let signed = done.signed.as_ref().map_or_else(String::new, |head| {
            format!("\nsigned up to event {} by the key {:.16}… at {}", head.seq, head.key_id, second(&head.at))
        });
        let events = count(done.events);
        let text = format!(
            "{events} events, each follows from the one before and none is missing; head {}{signed}{lost}",
            done.head
        );
        Ok(Report::new(&done, text))
    }
}
