//! Asking a person. Enter and the end of input mean no, and so does a terminal that is not there.

use crate::context::Context;
use crate::error::Result;
use crate::ui::Ui;

/// Most bytes of an answer.
const MAX_ANSWER: u64 = 64;

/// Asks on a terminal; anything but `y` or `yes` is no.
///
/// # Errors
/// The terminal cannot be read.
pub(crate) fn confirmed(context: &Context, ui: &mut Ui<'_>, question: &str) -> Result<bool> {
    if !context.environment.input_is_terminal() || ui.json {
        return Ok(false);
    }
    ui.talk(&format!("{question} [y/N]"));
    let answer = read_line().map_err(|error| crate::error::io("cannot read the answer", &error))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn read_line() -> std::io::Result<String> {
    use std::io::{BufRead, Read};
    let mut line = String::new();
    std::io::stdin().lock().take(MAX_ANSWER).read_line(&mut line)?;
    Ok(line)
}
