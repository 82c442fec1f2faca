//! Appending: whatever is handed in while somebody appends is the next transaction, with one commit and one move of the
//! anchor for all of it.
//!
//! Invariants: what is appended together stands or falls together, and with nothing of others; the order of the chain is that
//! in which it was handed in; where one of them has to survive a power cut, all of them are synced before the first is answered.

use jiff::Timestamp;
use rote_types::{ResponseId, WorkspaceIdentity};
use rusqlite::Connection;

use super::seal::{Admitted, Held};
use super::{ApprovalHistory, Durability, Event, Journal, NewEvent, TokenClaim, TokenRefusal, chain, token};
use crate::database::apart;
use crate::{Group, HomeError};

/// What waits to be appended.
pub(super) type Extending = Group<Extension, Extended>;

/// Events that are appended together.
pub(super) struct Extension {
    at: Timestamp,
    durability: Durability,
    events: Vec<NewEvent>,
    condition: Condition,
}

/// What has to be so for it, in the transaction that appends.
enum Condition {
    None,
    /// The token is good for it, and used up by it.
    Token(Box<TokenClaim>),
    /// The approval of that name was asked for and not consumed.
    Unused(String),
    /// The number has no `effect.started` yet.
    Unbegun(WorkspaceIdentity, ResponseId),
}

/// Why nothing was appended.
#[derive(Debug)]
pub(super) enum Refusal {
    Token(TokenRefusal),
    /// When the approval was consumed.
    Used(Timestamp),
    /// The event that the number has.
    Begun(Box<Event>),
}

type Extended = Result<Result<Vec<Event>, Refusal>, HomeError>;

impl Journal {
    /// Appends `events`, all of them or none, and returns them as recorded.
    ///
    /// # Errors
    /// [`HomeError::Breached`], [`HomeError::Database`] (a full disk, a busy file) or [`HomeError::Canonical`]; nothing
    /// is then recorded.
    pub fn append(&self, at: Timestamp, durability: Durability, events: &[NewEvent]) -> Result<Vec<Event>, HomeError> {
        let extension = Extension { at, durability, events: events.to_vec(), condition: Condition::None };
        Ok(self.extend(extension)?.expect("there is no condition"))
    }

    /// As [`Journal::append`] of what need not survive a power cut, for a task to wait for.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub async fn append_soon(&self, at: Timestamp, events: Vec<NewEvent>) -> Result<Vec<Event>, HomeError> {
        let extension = Extension { at, durability: Durability::Process, events, condition: Condition::None };
        let appended = self.extending.hand_in(extension, |all| self.extend_all(&all)).await?;
        Ok(appended.expect("there is no condition"))
    }

    /// As [`Journal::append_soon`], where a number has no `effect.started` yet; that event, and nothing is appended, where it
    /// has one.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub async fn append_unbegun(
        &self,
        at: Timestamp,
        (workspace, response): (&WorkspaceIdentity, ResponseId),
        events: Vec<NewEvent>,
    ) -> Result<Result<Vec<Event>, Box<Event>>, HomeError> {
        let condition = Condition::Unbegun(workspace.clone(), response);
        let extension = Extension { at, durability: Durability::Process, events, condition };
        let appended = self.extending.hand_in(extension, |all| self.extend_all(&all)).await?;
        Ok(appended.map_err(|refusal| match refusal {
            Refusal::Begun(event) => event,
            Refusal::Token(_) | Refusal::Used(_) => unreachable!("no token was asked for"),
        }))
    }

    /// Consumes the confirm token of `claim` and appends `events` in one transaction that is fsynced. A refused
    /// token appends nothing.
    ///
    /// # Errors
    /// As [`Journal::append`]. A token that is unknown, used, expired or bound to something else is the inner error.
    pub fn append_consuming(
        &self,
        at: Timestamp,
        claim: &TokenClaim,
        events: &[NewEvent],
    ) -> Result<Result<Vec<Event>, TokenRefusal>, HomeError> {
        let condition = Condition::Token(Box::new(claim.clone()));
        let extension = Extension { at, durability: Durability::Disk, events: events.to_vec(), condition };
        Ok(self.extend(extension)?.map_err(|refusal| match refusal {
            Refusal::Token(refusal) => refusal,
            Refusal::Begun(_) | Refusal::Used(_) => unreachable!("a token was asked for"),
        }))
    }

    /// Appends `events`, which use an approval up, in one transaction that is fsynced. Where the journal has it as used, or does not
    /// know that it was asked for, nothing is appended, and when it was used is the inner error.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_approved(
        &self,
        at: Timestamp,
        approval: &str,
        events: &[NewEvent],
    ) -> Result<Result<Vec<Event>, Timestamp>, HomeError> {
        let condition = Condition::Unused(approval.to_owned());
        let extension = Extension { at, durability: Durability::Disk, events: events.to_vec(), condition };
        Ok(self.extend(extension)?.map_err(|refusal| match refusal {
            Refusal::Used(at) => at,
            Refusal::Token(_) | Refusal::Begun(_) => unreachable!("an approval was asked for"),
        }))
    }

    /// Returns what the journal has of an approval since it was asked for.
    ///
    /// # Errors
    /// [`HomeError::Database`], [`HomeError::Breached`] without a key.
    pub fn approval_history(&self, approval: &str) -> Result<ApprovalHistory, HomeError> {
        token::history(&self.connection(), self.seal.key()?, approval).map_err(self.failed("read"))
    }

    fn extend(&self, extension: Extension) -> Extended {
        let syncs = extension.durability == Durability::Disk;
        self.extending.wait(extension, syncs, |all| self.extend_all(&all))
    }

    /// Appends all of them in one transaction, or each in its own where that is refused.
    fn extend_all(&self, all: &[Extension]) -> Vec<Extended> {
        if all.len() > 1
            && let Ok(done) = self.extend_together(all)
        {
            return done;
        }
        let alone = |one| self.extend_together(one)?.pop().unwrap_or(Ok(Ok(Vec::new())));
        all.chunks(1).map(alone).collect()
    }

    /// Appends them in one transaction and moves the anchor behind it.
    fn extend_together(&self, all: &[Extension]) -> Result<Vec<Extended>, HomeError> {
        let syncs = all.iter().any(|one| one.durability == Durability::Disk);
        let durability = if syncs { Durability::Disk } else { Durability::Process };
        let connection = self.connection();
        let held = self.seal.hold()?;
        let (head, place, done) = self.at_durability(&connection, durability, |transaction| {
            let Admitted { head, due } = self.seal.admit(&held, transaction)?;
            let mut place = head;
            if !due.is_empty()
                && let Some(first) = all.first()
            {
                let told = chain::append(transaction, &self.path, held.key, place, first.at, &due)?;
                place = told.last().map_or(place, Event::place);
            }
            let mut each =
                |transaction: &Connection, one: &Extension| self.extend_by(transaction, &held, &mut place, one);
            let done = match all {
                [one] => vec![Ok(each(transaction, one)?)],
                all => apart(transaction, all, &mut each).map_err(self.failed("write to"))?,
            };
            Ok((head, place, done))
        })?;
        self.seal.advance(held, (head, place), durability);
        Ok(done)
    }

    fn extend_by(
        &self,
        transaction: &Connection,
        held: &Held<'_>,
        place: &mut super::Place,
        one: &Extension,
    ) -> Extended {
        match &one.condition {
            Condition::None => {}
            Condition::Token(claim) => {
                let consumed = token::consume(transaction, held.key, claim, one.at);
                if let Err(refusal) = consumed.map_err(self.failed("consume a token in"))? {
                    return Ok(Err(Refusal::Token(refusal)));
                }
            }
            Condition::Unused(approval) => {
                let history = token::history(transaction, held.key, approval).map_err(self.failed("read"))?;
                let unknown = history.plan_hash.is_none().then_some(Timestamp::UNIX_EPOCH);
                if let Some(at) = history.used.or(unknown) {
                    return Ok(Err(Refusal::Used(at)));
                }
            }
            Condition::Unbegun(workspace, response) => {
                if let Some(event) = self.started_in(transaction, workspace, *response)? {
                    return Ok(Err(Refusal::Begun(Box::new(event))));
                }
            }
        }
        let recorded = chain::append(transaction, &self.path, held.key, *place, one.at, &one.events)?;
        *place = recorded.last().map_or(*place, Event::place);
        Ok(Ok(recorded))
    }
}
