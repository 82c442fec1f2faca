//! The anchor: how far the journal has got, kept outside of its folder (`secrets/journal.anchor`) under its key.
//!
//! Invariants: it is moved only behind a commit, so a kill leaves it behind the journal and never before it; it is
//! moved only forward; whoever appends holds its lock. It is never synced: what a power cut may take from the journal
//! it takes from what `latest` says, and not from what `synced` says. One record of 512 bytes, written in place, so that
//! neither a kill nor a disk leaves a part of one.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use rote_types::{Sha256Digest, canonical_json};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{Breach, Durability};
use crate::below::refuse_links;
use crate::file::no_follow;
use crate::lock::flock_within;
use crate::{FileMode, HomeError, read_capped, write_durable};

/// Size of the file in bytes: one sector of a disk.
const SIZE: usize = 512;
/// The only version of the record so far.
const VERSION: u32 = 1;
/// How long to wait for another process that appends.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Changes with each start of the machine (Linux); where it is not there, a power cut can be at any time.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The journal's key, ready for use.
#[derive(Clone)]
pub(super) struct Key(Hmac<Sha256>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    pub(super) fn new(bytes: &[u8; 32]) -> Self {
        Self(<Hmac<Sha256> as KeyInit>::new_from_slice(bytes).expect("HMAC takes a key of any length"))
    }

    /// Returns the HMAC-SHA-256 of the bytes.
    pub(super) fn mac(&self, bytes: &[u8]) -> Sha256Digest {
        Sha256Digest(self.0.clone().chain_update(bytes).finalize().into_bytes().into())
    }
}

/// A place in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Number of the event; 0 before the first.
    pub(super) seq: u64,
    /// Its hash, or that which the first one follows.
    pub(super) hash: Sha256Digest,
}

/// What the anchor says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// During which run of the machine `latest` was written.
    boot: Option<String>,
    /// Number of the first event whose hash is made with the key.
    pub(super) keyed_from: u64,
    /// The newest event that is known to have been synced.
    pub(super) synced: Place,
    /// The newest event.
    pub(super) latest: Place,
}

/// The file's content.
#[derive(Serialize, Deserialize)]
struct Sealed {
    mac: Sha256Digest,
    record: Record,
}

impl Record {
    /// Returns the record of a chain that is keyed from the event after `place` on.
    pub(super) fn new(place: Place) -> Self {
        Self { version: VERSION, boot: boot(), keyed_from: place.seq + 1, synced: place, latest: place }
    }

    /// Whether events were ever written with the key.
    pub(super) fn is_used(&self) -> bool {
        self.latest.seq >= self.keyed_from
    }

    /// Whether the machine was started anew since, so that events between `synced` and `latest` may be lost.
    pub(super) fn is_of_another_boot(&self) -> bool {
        self.boot.is_none() || self.boot != boot()
    }

    /// Moves on to `place`; all before `head`, where the chain ended when it was read, is on disk after a new start.
    pub(super) fn moved(&self, head: Place, place: Place, durability: Durability) -> Self {
        let synced = match durability {
            Durability::Disk => place,
            Durability::Process if self.is_of_another_boot() => head,
            Durability::Process => self.synced,
        };
        Self { version: VERSION, boot: boot(), keyed_from: self.keyed_from, synced, latest: place }
    }

    /// Returns the record as another run of the machine would have left it.
    #[cfg(test)]
    pub(super) fn of_another_boot(self, synced: Place, latest: Place) -> Self {
        Self { boot: Some("another".to_owned()), synced, latest, ..self }
    }

    fn mac(&self, key: &Key) -> Sha256Digest {
        let record = canonical_json(self).expect("a record of texts and numbers has a canonical form");
        key.mac(&[b"rote:journal:anchor\n", record.as_slice()].concat())
    }

    fn bytes(&self, key: &Key) -> [u8; SIZE] {
        let sealed = Sealed { mac: self.mac(key), record: self.clone() };
        let text = serde_json::to_vec(&sealed).expect("a record has string keys");
        let mut bytes = [b' '; SIZE];
        bytes[..text.len()].copy_from_slice(&text);
        bytes[SIZE - 1] = b'\n';
        bytes
    }

    /// Reads a record that was made with the key.
    fn authentic(bytes: &[u8], key: &Key) -> Option<Self> {
        // The comparison needs no constant time: who can write the file learns nothing that he cannot compute anew.
        Self::parse(bytes).filter(|sealed| sealed.record.mac(key) == sealed.mac).map(|sealed| sealed.record)
    }

    fn parse(bytes: &[u8]) -> Option<Sealed> {
        serde_json::from_slice::<Sealed>(bytes).ok().filter(|sealed| sealed.record.version == VERSION)
    }

    /// Reads the record without a key: what it says is a claim.
    pub(super) fn claimed(path: &Path) -> Option<Self> {
        read_capped(path, SIZE as u64).ok().and_then(|bytes| Self::parse(&bytes)).map(|sealed| sealed.record)
    }

    /// Puts the record where there is none yet, or one that nobody can trust. Synced.
    pub(super) fn create(&self, path: &Path, key: &Key) -> Result<(), HomeError> {
        write_durable(path, &self.bytes(key), FileMode::Private)
    }
}

/// The anchor, locked and read.
#[derive(Debug)]
pub(super) struct Anchor {
    file: File,
    /// Device and inode.
    id: (u64, u64),
    bytes: [u8; SIZE],
    pub(super) record: Record,
}

/// The anchor, read before and kept open: whoever locks it again looks only whether it is still that file and has still
/// those bytes.
#[derive(Debug)]
pub(super) struct Unlocked(Anchor);

impl Unlocked {
    /// Locks it again; one that is another file now is read as [`Anchor::lock`] does.
    pub(super) fn lock(self, path: &Path, key: &Key) -> Result<Result<Anchor, Breach>, HomeError> {
        let Self(mut anchor) = self;
        flock_within(&anchor.file, path, TIMEOUT)?;
        let is_it = path.symlink_metadata().is_ok_and(|named| id(&named) == anchor.id);
        let mut bytes = [0_u8; SIZE];
        if !is_it || anchor.file.read_exact_at(&mut bytes, 0).is_err() {
            drop(anchor);
            return Anchor::lock(path, key);
        }
        if bytes != anchor.bytes {
            match Record::authentic(&bytes, key) {
                Some(record) => (anchor.record, anchor.bytes) = (record, bytes),
                None => return Ok(Err(Breach::AnchorChanged)),
            }
        }
        Ok(Ok(anchor))
    }
}

impl Anchor {
    /// Locks and reads the anchor; the breach when it is not one of ours.
    pub(super) fn lock(path: &Path, key: &Key) -> Result<Result<Self, Breach>, HomeError> {
        refuse_links(path)?;
        let open = |write| OpenOptions::new().read(true).write(write).custom_flags(no_follow()).open(path);
        let file = match open(true) {
            // It can be checked there all the same, and nothing can be appended that it would have to tell of.
            Err(error) if error.kind() == std::io::ErrorKind::ReadOnlyFilesystem => open(false),
            file => file,
        };
        let file = match file.map_err(|source| HomeError::io("open the anchor", path, source)) {
            Err(error) if error.is_not_found() => return Ok(Err(Breach::AnchorMissing)),
            file => file?,
        };
        flock_within(&file, path, TIMEOUT)?;
        let mut bytes = [0_u8; SIZE];
        let read = file.read_exact_at(&mut bytes, 0);
        let id = id(&file.metadata().map_err(|source| HomeError::io("read", path, source))?);
        Ok(match read.ok().and_then(|()| Record::authentic(&bytes, key)) {
            Some(record) => Ok(Self { file, id, bytes, record }),
            None => Err(Breach::AnchorChanged),
        })
    }

    /// Lets others have it, and keeps it open; `None` when it could not be unlocked, and is closed for that.
    pub(super) fn unlock(self) -> Option<Unlocked> {
        flock(&self.file, FlockOperation::Unlock).ok().map(|()| Unlocked(self))
    }

    /// Moves on behind a commit. When it cannot be written it stays behind, which the next one makes good.
    pub(super) fn advance(&mut self, key: &Key, head: Place, place: Place, durability: Durability) {
        let _behind = self.write(key, self.record.moved(head, place, durability));
    }

    /// Says something else altogether: another chain takes the place of this one. Synced.
    pub(super) fn put(&mut self, key: &Key, record: Record) -> std::io::Result<()> {
        self.write(key, record)?;
        self.file.sync_all()
    }

    fn write(&mut self, key: &Key, record: Record) -> std::io::Result<()> {
        let bytes = record.bytes(key);
        self.file.write_all_at(&bytes, 0)?;
        (self.record, self.bytes) = (record, bytes);
        Ok(())
    }
}

fn id(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn boot() -> Option<String> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let bytes = read_capped(Path::new(BOOT_ID), 64).ok()?;
        let text = String::from_utf8(bytes).ok()?.trim().to_owned();
        (text.len() == 36).then_some(text)
    };
    BOOT.get_or_init(read).clone()
}
