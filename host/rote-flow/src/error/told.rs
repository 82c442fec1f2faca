//! What goes with the text of a failure: its kind, the next command, and data for a machine, in one place for each variant.

use std::fmt::Display;

use rote_types::{Classify, CommandLine, ErrorKind, Refusal, command};
use serde_json::Value;

/// Where every flow comes from.
pub(super) const MAKE_A_FLOW: &str = "rote flow template create --workspace <workspace> --name <name>";

/// Everything of a failure but its text.
pub(super) struct Told {
    pub(super) kind: ErrorKind,
    pub(super) hint: Option<String>,
    pub(super) details: Option<Value>,
    pub(super) refusal: Option<Refusal>,
    pub(super) log: Vec<String>,
}

impl Told {
    pub(super) fn new(kind: ErrorKind) -> Self {
        Self { kind, hint: None, details: None, refusal: None, log: Vec::new() }
    }

    /// What a wrapped error says of itself.
    pub(super) fn of(error: &dyn Classify) -> Self {
        let (kind, hint, details) = (error.kind(), error.hint(), error.details());
        Self { kind, hint, details, refusal: error.refusal(), log: error.log() }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_if(Some(hint.into()))
    }

    pub(super) fn hint_if(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    pub(super) fn refusal(self, refusal: Option<Refusal>) -> Self {
        Self { refusal, ..self }
    }

    pub(super) fn log(self, log: &[String]) -> Self {
        Self { log: log.to_vec(), ..self }
    }

    pub(super) fn details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }
}

/// Implements [`Classify`] by the method `told` of an error.
macro_rules! classified {
    ($error:ty) => {
        impl rote_types::Classify for $error {
            fn kind(&self) -> rote_types::ErrorKind {
                self.told().kind
            }

            fn hint(&self) -> Option<String> {
                self.told().hint
            }

            fn refusal(&self) -> Option<rote_types::Refusal> {
                self.told().refusal
            }

            fn log(&self) -> Vec<String> {
                self.told().log
            }

            fn details(&self) -> Option<serde_json::Value> {
                self.told().details
            }
        }
    };
}
pub(super) use classified;

pub(super) fn of_flow(head: &'static str, flow: impl Display) -> CommandLine {
    command(head).argument(flow)
}

/// The command that installs an adapter, from where it was installed when that is known.
pub(crate) fn install(id: impl Display, origin: Option<&str>) -> String {
    let new = command("rote adapter new").argument(id);
    match origin {
        Some(origin) => new.option("--spec", origin).into(),
        None => new.plain("--spec <file|url>").into(),
    }
}
