//! The passphrase of the approval key: from a file descriptor, a variable, or a person at the terminal. It is never an
//! argument, which other processes see, and never echoed.

use std::io::{BufRead, Read, Write};

use rote_app::{ApprovalView, AskPassphrase};
use secrecy::SecretString;
use zeroize::Zeroizing;

use crate::environment::Environment;
use crate::error::{CliError, Result, io, usage};
use crate::interrupt::Signals;
use crate::render::approval;

/// Most bytes of a passphrase.
const MAX: u64 = 1 << 10;
/// The variables that may hold it; the second is the seed's name.
const VARIABLES: [&str; 2] = ["ROTE_APPROVAL_PASSPHRASE", "APPROVAL_KEY_PASSPHRASE"];

/// Where passphrases come from at the edge.
#[derive(Debug, Clone)]
pub(crate) struct Passphrases {
    environment: Environment,
    signals: Signals,
    /// Nobody is asked where a program reads the answer.
    json: bool,
}

impl Passphrases {
    pub(crate) fn new(environment: Environment, signals: Signals, json: bool) -> Self {
        Self { environment, signals, json }
    }

    /// Whether there is somebody at a terminal who sees a question.
    pub(crate) fn has_terminal(&self) -> bool {
        !self.json && self.environment.input_is_terminal() && self.environment.stderr_terminal
    }

    /// The passphrase of a variable.
    pub(crate) fn of_environment(&self) -> Option<SecretString> {
        VARIABLES.iter().find_map(|name| self.environment.get(name)).map(|text| SecretString::from(text.to_owned()))
    }

    /// The passphrases of a file descriptor, one a line, at most two.
    ///
    /// # Errors
    /// Usage for one that is not open.
    pub(crate) fn of_descriptor(number: u32) -> Result<Vec<SecretString>> {
        let file = std::fs::File::open(format!("/dev/fd/{number}")).map_err(|error| {
            let hint = "rote approve allow REQUEST --passphrase-fd 3 3< FILE";
            usage(format!("the file descriptor {number} cannot be read: {error}"), hint)
        })?;
        let mut text = Zeroizing::new(String::new());
        file.take(2 * MAX).read_to_string(&mut text).map_err(|error| io("cannot read the passphrase", &error))?;
        Ok(text.lines().take(2).map(|line| SecretString::from(line.to_owned())).collect())
    }

    /// Asks for it; none where nobody is there, nothing is typed, or somebody asks the process to stop.
    pub(crate) fn typed(&self, question: &str) -> Option<SecretString> {
        if !self.has_terminal() {
            return None;
        }
        let line = self.line(question, true)?;
        let text = line.trim_end_matches(['\r', '\n']);
        (!text.is_empty()).then(|| SecretString::from(text.to_owned()))
    }

    /// Reads one line that was typed after the question stood there; none at the end of input.
    pub(crate) fn line(&self, question: &str, silent: bool) -> Option<Zeroizing<String>> {
        // On a thread of its own, as whoever asks may be within an executor.
        std::thread::scope(|scope| scope.spawn(|| self.wait(question, silent)).join().ok().flatten())
    }

    fn wait(&self, question: &str, silent: bool) -> Option<Zeroizing<String>> {
        use rustix::termios::{QueueSelector, tcflush};
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        executor.block_on(async {
            self.signals.listen();
            let _silence = if silent { Some(Silence::new().ok()?) } else { None };
            tcflush(std::io::stdin(), QueueSelector::IFlush).ok()?;
            let mut terminal = std::io::stderr();
            write!(terminal, "{question} ").and_then(|()| terminal.flush()).ok()?;
            let (sender, line) = tokio::sync::oneshot::channel();
            // Nothing ends a read of a terminal but its keyboard. This thread ends with the process, which may be at once.
            std::thread::spawn(move || {
                let mut line = Zeroizing::new(String::new());
                let read = std::io::stdin().lock().take(MAX).read_line(&mut line);
                let _nobody_waits_any_more = sender.send(read.ok().filter(|read| *read > 0).map(|_| line));
            });
            let line = tokio::select! {
                biased;
                () = rote_types::Interrupt::requested(&self.signals) => None,
                line = line => line.ok().flatten(),
            };
            if silent {
                writeln!(terminal).ok()?;
            }
            line
        })
    }
}

impl AskPassphrase for Passphrases {
    fn ask(&self, request: &ApprovalView) -> Option<SecretString> {
        if let Some(given) = self.of_environment() {
            return Some(given);
        }
        if !self.has_terminal() {
            return None;
        }
        writeln!(std::io::stderr(), "{}", approval::whole(request)).ok()?;
        self.typed("passphrase of the approval key, to sign this (Enter signs nothing):")
    }

    fn plain(&self, question: &str) -> Option<SecretString> {
        self.of_environment().or_else(|| self.typed(question))
    }
}

/// Returns an error for what nobody gave.
pub(crate) fn nobody(command: &str) -> CliError {
    usage(
        "there is nobody at a terminal to give the passphrase of the approval key",
        format!("{command} --passphrase-fd 3 3< FILE"),
    )
}

/// Holds the terminal's echo off and gives it back when dropped.
pub(crate) struct Silence {
    before: rustix::termios::Termios,
}

impl Silence {
    pub(crate) fn new() -> std::io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // There is nobody left to tell when the terminal is gone.
        let _gone = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.before);
    }
}
