//! Blessings.

use rote_govern::BlessingError;
use rote_types::{ErrorKind, FlowName};

use super::told::{Told, classified, of_flow};

/// A blessing that does not count, or cannot be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlessError {
    /// The permissions file of a flow does not count.
    #[error("the blessing of flow `{flow}` does not count: {why}")]
    Void { flow: FlowName, why: BlessingError },
    /// Nobody has said what the recording of the flow did not decide.
    #[error("flow `{flow}` has open questions ({open}), so nobody knows yet what it should write")]
    Questions {
        flow: FlowName,
        /// How many.
        open: usize,
    },
    /// There is nothing that a blessing could lift.
    #[error("flow `{flow}` writes nothing, so there is nothing to bless")]
    NothingToBless { flow: FlowName },
}

classified!(BlessError);

impl BlessError {
    pub(super) fn told(&self) -> Told {
        match self {
            Self::Void { flow, .. } => Told::new(ErrorKind::Denied).hint(of_flow("rote flow bless", flow)),
            Self::Questions { flow, .. } => Told::new(ErrorKind::Conflict).hint(of_flow("rote flow review", flow)),
            Self::NothingToBless { .. } => Told::new(ErrorKind::Conflict),
        }
    }
}
