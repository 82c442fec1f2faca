//! Whether approvals are signed here, and with which key: what the journal says and what the files say have to agree.

use rote_home::{Home, Journal};

use crate::error::ApprovalError;
use crate::key::{Keys, PublicKey};

/// A key that a person enrolled, or the one that followed it.
#[derive(Debug, Clone)]
pub struct Enrolment {
    pub keys: Keys,
    /// The key that signs.
    pub active: PublicKey,
}

impl Enrolment {
    /// Reads how a home stands; none where no key was ever enrolled.
    ///
    /// # Errors
    /// [`ApprovalError::KeyChanged`] where journal and files say different things, as after somebody put a key of their own
    /// there or took the person's away; [`ApprovalError::Damaged`], [`ApprovalError::Home`].
    pub fn of(home: &Home, journal: &Journal) -> Result<Option<Self>, ApprovalError> {
        let (enrolled, keys) = (journal.enrolled_key()?, Keys::read(home)?);
        match (enrolled, keys) {
            (None, None) => Ok(None),
            (Some(enrolled), Some(keys)) => Ok(Some(Self { active: keys.active(&enrolled)?, keys })),
            (Some(_), None) => Err(ApprovalError::KeyChanged("its files are gone".to_owned())),
            (None, Some(_)) => Err(ApprovalError::NotEnrolled),
        }
    }
}
