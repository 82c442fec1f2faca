//! Whether approvals are signed here, and with which key: what the journal says and what the files say have to agree.

use rote_home::{FileMode, Home, HomeError, Journal, read_trusted, write_durable};

use crate::error::ApprovalError;
use crate::key::{Keys, PublicKey};

/// Most bytes of the mark; an id has 64.
const MAX_MARK: u64 = 256;

/// The key that a person enrolled last, with those before it.
#[derive(Debug, Clone)]
pub struct Enrolment {
    pub keys: Keys,
    /// The key that signs.
    pub active: PublicKey,
    /// Those that did.
    retired: Vec<PublicKey>,
}

/// What journal, secrets and files say of a key, each for itself.
struct Found {
    journal: Option<String>,
    mark: Option<String>,
    keys: Option<Keys>,
}

impl Found {
    fn read(home: &Home, journal: &Journal) -> Result<Self, ApprovalError> {
        Ok(Self { journal: journal.enrolled_key()?, mark: mark(home)?, keys: Keys::read(home)? })
    }
}

/// The id that stands in `secrets/`, where whoever can write the journal alone does not get it away.
fn mark(home: &Home) -> Result<Option<String>, ApprovalError> {
    match read_trusted(&home.enrolled_file(), MAX_MARK) {
        Err(HomeError::NotFound { .. }) => Ok(None),
        bytes => Ok(Some(String::from_utf8_lossy(&bytes?).trim_end().to_owned())),
    }
}

impl Enrolment {
    /// Reads how a home stands; none where no key was ever enrolled.
    ///
    /// # Errors
    /// [`ApprovalError::KeyChanged`] where journal, secrets and files say different things, as after somebody put a key of their own
    /// there or took the person's away; [`ApprovalError::NotEnrolled`] where there is a key that one of them does not know;
    /// [`ApprovalError::Damaged`], [`ApprovalError::Home`].
    pub fn of(home: &Home, journal: &Journal) -> Result<Option<Self>, ApprovalError> {
        let found = Found::read(home, journal)?;
        match (found.journal, found.mark, found.keys) {
            (None, None, None) => Ok(None),
            (Some(told), Some(mark), Some(keys)) => {
                let enrolment = Self::new(keys, &mark)?;
                // Within a rotation one of the two is ahead of the other.
                if enrolment.known(&told).is_none() {
                    return Err(ApprovalError::KeyChanged("the journal names another one".to_owned()));
                }
                Ok(Some(enrolment))
            }
            (_, _, None) => Err(ApprovalError::KeyChanged("its files are gone".to_owned())),
            (_, _, Some(_)) => Err(ApprovalError::NotEnrolled),
        }
    }

    /// The key that [`Enrolment::of`] found not to be enrolled everywhere.
    ///
    /// # Errors
    /// [`ApprovalError::NoKey`] where there are no files; [`ApprovalError::KeyChanged`] where they are not those of the key that is known
    /// somewhere.
    pub fn half(home: &Home, journal: &Journal) -> Result<Self, ApprovalError> {
        let found = Found::read(home, journal)?;
        let keys = found.keys.ok_or(ApprovalError::NoKey)?;
        let enrolled = match found.mark.or(found.journal) {
            Some(known) => known,
            None => keys.newest()?.id,
        };
        Self::new(keys, &enrolled)
    }

    /// The key of a home whose journal may be what is broken; none where there never was one.
    ///
    /// # Errors
    /// As [`Enrolment::of`].
    pub fn without_journal(home: &Home) -> Result<Option<Self>, ApprovalError> {
        match (mark(home)?, Keys::read(home)?) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(ApprovalError::KeyChanged("its files are gone".to_owned())),
            (Some(enrolled), Some(keys)) => Self::new(keys, &enrolled).map(Some),
            (None, Some(keys)) => {
                let newest = keys.newest()?.id;
                Self::new(keys, &newest).map(Some)
            }
        }
    }

    /// Notes in `secrets/` which key is enrolled.
    ///
    /// # Errors
    /// [`ApprovalError::Home`].
    pub fn mark(home: &Home, enrolled: &str) -> Result<(), ApprovalError> {
        Ok(write_durable(&home.enrolled_file(), format!("{enrolled}\n").as_bytes(), FileMode::Private)?)
    }

    pub(crate) fn new(keys: Keys, enrolled: &str) -> Result<Self, ApprovalError> {
        let mut retired = keys.succession(enrolled)?;
        let active = retired.pop().ok_or(ApprovalError::NoKey)?;
        Ok(Self { keys, active, retired })
    }

    /// A key that signs or did, of those that a person enrolled.
    #[must_use]
    pub fn known(&self, id: &str) -> Option<&PublicKey> {
        self.retired.iter().chain([&self.active]).find(|key| key.id == id)
    }
}
