//! A replay that does not give what was recorded.

use rote_runtime::{RunError, Within};
use rote_types::{Classify, ErrorKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::told::{Told, classified};

/// What a replay asked for and the recording does not have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stale {
    /// The call as `adapter/tool`, or another question to the host.
    pub question: String,
    /// The arguments that were asked for, or what the recording has in this place.
    pub arguments: Value,
}

/// A replay that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The flow asked for something that was not recorded.
    #[error("stale: the flow asks for `{}` with {}, which was not recorded", stale.question, stale.arguments)]
    Stale {
        /// The call.
        stale: Box<Stale>,
    },
    /// The flow gave another result than the recorded one.
    #[error("the flow does not replay: what it gives differs from what was recorded")]
    Differs {
        /// The recorded result.
        recorded: Box<Value>,
        /// The replayed result.
        replayed: Box<Value>,
    },
    /// The replay ended without a result.
    #[error(transparent)]
    Failed(Within),
}

classified!(ReplayError);

impl ReplayError {
    pub(crate) fn failed(error: RunError) -> Self {
        Self::Failed(Within { context: "the flow does not replay".to_owned(), error })
    }

    pub(super) fn told(&self) -> Told {
        match self {
            Self::Stale { stale } => Told::new(ErrorKind::Conflict).details(json!({ "stale": stale })),
            Self::Differs { recorded, replayed } => {
                Told::new(ErrorKind::Conflict).details(json!({ "recorded": recorded, "replayed": replayed }))
            }
            Self::Failed(Within { error, .. }) => Told::new(error.kind()).hint_if(error.hint()),
        }
    }
}
