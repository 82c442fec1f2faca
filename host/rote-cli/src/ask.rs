//! Asking a person, for every command the same way. Enter and the end of input mean no, and so does a terminal that
//! is not there: what comes through a pipe is nobody's word, and neither is what was typed before the question stood there.

use clap::Args;
use rote_app::{AppError, Consent};
use rote_types::{CommandLine, ErrorKind};
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Ui;

/// Most bytes of an answer.
const MAX_ANSWER: u64 = 64;

/// The flag of every command that changes what rote may do, and with which credentials.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Yes {
    /// Answer yes unasked; the journal says that nobody was asked
    #[arg(short, long)]
    yes: bool,
}

impl Yes {
    /// Whether the flag was typed.
    pub(crate) fn given(self) -> bool {
        self.yes
    }

    /// Returns how somebody agreed: by the flag, or asked on a terminal.
    ///
    /// # Errors
    /// Confirmation needed, when nobody agreed or there is no terminal to ask on, with `command` and the flag as hint.
    pub(crate) fn agree(
        self,
        context: &Context,
        ui: &mut Ui<'_>,
        question: &str,
        command: CommandLine,
    ) -> Result<Consent> {
        if self.yes {
            return Ok(Consent::Unattended);
        }
        if confirmed(context, ui, question)? {
            return Ok(Consent::Attended);
        }
        let error = AppError::new(ErrorKind::ConfirmationNeeded, "nobody agreed, and nothing was changed");
        Err(error.with_cause(question.to_owned()).with_hint(command.plain("--yes")).into())
    }
}

/// Asks on a terminal; anything but `y` or `yes` is no. A question that nobody would see is not asked.
///
/// # Errors
/// The terminal cannot be read.
pub(crate) fn confirmed(context: &Context, ui: &mut Ui<'_>, question: &str) -> Result<bool> {
    if !context.environment.input_is_terminal() || !context.environment.stderr_terminal || ui.json {
        return Ok(false);
    }
    let failed = |error: std::io::Error| crate::error::io("cannot read the answer", &error);
    forget_typed().map_err(failed)?;
    ui.talk(&format!("{question} [y/N]"));
    let answer = read_line().map_err(failed)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks whether an adapter may send a stored credential to a new place, where that is why a call was refused; returns
/// whether it was bound, and the call can be made again.
///
/// # Errors
/// The terminal cannot be read, or the credential cannot be bound.
pub(crate) fn binds(context: &Context, ui: &mut Ui<'_>, error: &AppError) -> Result<bool> {
    let unbound = error.details.as_ref().map_or(&Value::Null, |details| &details["unbound"]);
    let word = |key: &str| unbound[key].as_str();
    let (Some(token), Some(adapter), Some(origin), Some(true)) =
        (word("token"), word("adapter"), word("origin"), unbound["stored"].as_bool())
    else {
        return Ok(false);
    };
    if !confirmed(context, ui, &format!("May adapter `{adapter}` send `{token}` to {origin}?"))? {
        return Ok(false);
    }
    context.app()?.token_bind(token, adapter, Consent::Attended)?;
    Ok(true)
}

/// Drops what was typed, or pasted with the command, before there was a question.
fn forget_typed() -> std::io::Result<()> {
    use rustix::termios::{QueueSelector, tcflush};
    Ok(tcflush(std::io::stdin(), QueueSelector::IFlush)?)
}

fn read_line() -> std::io::Result<String> {
    use std::io::{BufRead, Read};
    let mut line = String::new();
    std::io::stdin().lock().take(MAX_ANSWER).read_line(&mut line)?;
    Ok(line)
}
