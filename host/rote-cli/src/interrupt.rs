//! Ctrl-C and SIGTERM: the first one asks work to stop, so that it is recorded; the second one ends the process.

use rote_types::{Interrupt, Requested};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::CliError;

/// Exit code of a process that ended at a second signal: 128 and the number of SIGINT, as shells have it.
const EXIT: i32 = 130;

/// Says whether somebody asked the process to stop.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    asked: watch::Sender<bool>,
}

impl Signals {
    /// Returns one that hears nothing yet.
    pub(crate) fn new() -> Self {
        Self { asked: watch::Sender::new(false) }
    }

    /// Begins to listen, on an executor.
    pub(crate) fn listen(&self) {
        let asked = self.asked.clone();
        // An error means that the system cannot watch signals; they then end the process as they always do.
        let Ok(mut heard) = Heard::new() else { return };
        tokio::spawn(async move {
            heard.next().await;
            asked.send_replace(true);
            heard.next().await;
            end();
        });
    }

    /// The error of a command that was interrupted outside of a run.
    pub(crate) fn error() -> CliError {
        let error = rote_app::AppError::new(rote_types::ErrorKind::Interrupted, "interrupted");
        CliError::App(Box::new(error.with_hint("rote ls")))
    }
}

impl Interrupt for Signals {
    fn requested(&self) -> Requested<'_> {
        let mut heard = self.asked.subscribe();
        Box::pin(async move {
            if heard.wait_for(|asked| *asked).await.is_err() {
                std::future::pending().await
            }
        })
    }
}

/// The signals that are heard, from the moment in which this is made.
struct Heard {
    pressed: Signal,
    terminated: Signal,
}

impl Heard {
    fn new() -> std::io::Result<Self> {
        Ok(Self { pressed: signal(SignalKind::interrupt())?, terminated: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.pressed.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "whoever asks twice does not want to wait; a killed process loses no record"
)]
fn end() {
    std::process::exit(EXIT);
}
