//! Finding the event that began an effect, from the number under which a workspace keeps it, the newest of a kind, and
//! the one that says how a blessing stands.

use rote_types::{FlowName, ResponseId, WorkspaceName};

use super::{Event, Journal, signed};
use crate::HomeError;

impl Journal {
    /// Returns the newest `effect.started` of a response, if there is one: what has none never left.
    ///
    /// # Errors
    /// As [`Journal::read`].
    pub fn started(&self, workspace: &WorkspaceName, response: ResponseId) -> Result<Option<Event>, HomeError> {
        let tail = "WHERE kind = 'effect.started' AND json_extract(body_json, '$.workspace') = ?1 \
                    AND json_extract(body_json, '$.response') = ?2 ORDER BY seq DESC LIMIT 1";
        Ok(self.select(tail, (workspace.as_str(), signed(response.0)))?.pop())
    }

    /// Returns the newest event of a kind. The events are gone through from the end until there is one.
    ///
    /// # Errors
    /// As [`Journal::read`].
    pub fn newest(&self, kind: &str) -> Result<Option<Event>, HomeError> {
        Ok(self.select("WHERE kind = ?1 ORDER BY seq DESC LIMIT 1", (kind,))?.pop())
    }

    /// Returns the newest event that says how the blessing of a flow stands: `flow.blessed`, `flow.unblessed` or
    /// `flow.removed`. One read of an index.
    ///
    /// # Errors
    /// As [`Journal::read`].
    pub fn last_of_blessing(&self, flow: &FlowName) -> Result<Option<Event>, HomeError> {
        Ok(self.select(OF_BLESSING, (flow.as_str(),))?.pop())
    }
}

/// The words of the index `blessings_of_flow`, without which it is not used.
pub(super) const OF_BLESSING: &str = "WHERE kind IN ('flow.blessed', 'flow.unblessed', 'flow.removed') \
                                      AND CASE WHEN json_valid(body_json) THEN json_extract(body_json, '$.flow') END = ?1 \
                                      ORDER BY seq DESC LIMIT 1";
