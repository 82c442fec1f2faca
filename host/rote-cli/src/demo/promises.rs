//! Three promises of the tour that a server, a moved address and a slip of the keyboard try to break.

use super::TrackerServer;
use super::tour::Stage;
use super::tour_steps::SECRET;
use crate::error::{Result, io};

/// Plays the steps in order.
pub(super) fn play(stage: &mut Stage<'_, '_>) -> Result<()> {
    lost_answer(stage)?;
    moved_address(stage)?;
    typed_credential(stage)
}

/// How many writes the sample API has taken.
fn writes(stage: &Stage<'_, '_>) -> usize {
    stage.server.requests().iter().filter(|request| request.method != "GET").count()
}

fn lost_answer(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("The API takes a write and hangs up: nobody writes twice")?;
    let before = writes(stage);
    stage.server.lose_answers(true);
    let lost = stage.typed(&["run", "first-look", "project=atlas", "body=Lost."], 2)?;
    stage.server.lose_answers(false);
    let resumed = stage.typed(&["run", "--resume", "latest"], 2)?;
    let open = stage.quiet(&["doubts", "--json"], "").json("/data/total");
    let holds = (lost.code, resumed.code) == (8, 10) && lost.text().contains("may have happened") && open == 1;
    let sent = writes(stage) - before;
    stage.claim(holds && sent == 1, "it may have happened, so a person is asked (`rote doubts`); it was sent once")
}

fn moved_address(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A credential does not follow an address that moved")?;
    let other = TrackerServer::start(0).map_err(|error| io("cannot serve a second API", &error))?;
    let home = stage.server.base_url();
    stage.quiet(&["adapter", "set", "tracker", "base_url", &other.base_url(), "--yes"], "");
    let refused = stage.typed(&["-w", "trials", "call", "tracker", "whoAmI"], 2)?;
    let back = stage.quiet(&["adapter", "set", "tracker", "base_url", &home, "--yes"], "");
    let called = stage.quiet(&["-w", "trials", "call", "tracker", "whoAmI"], "");
    let holds = (refused.code, back.code, called.code) == (4, 0, 0) && other.requests().is_empty();
    stage.claim(holds, "refused until a person binds it there; the other server saw no request")
}

fn typed_credential(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A credential that is typed where it does not belong is kept nowhere")?;
    let body = format!("body=My key is {SECRET}");
    let words = ["-w", "trials", "call", "tracker", "addComment", "-p", "project=atlas", "-p", "number=1", "-p", &body];
    let ran = stage.quiet(&words, "");
    let files = stage.on_disk(SECRET.as_bytes()).len();
    let recorded = stage.quiet(&["-w", "trials", "ls", "--json"], "");
    let holds = ran.code == 0 && files == 0 && [&ran, &recorded].iter().all(|ran| !ran.text().contains(SECRET));
    stage.claim(holds, format!("as text of a comment it stands in {files} files and in no output"))
}
