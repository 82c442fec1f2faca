//! Compiled code on disk, believed only when this host wrote it.
//!
//! Invariants: an entry is HMAC-SHA-256(host key, name ‖ code) ‖ code, checked over the very bytes that are
//! loaded; its name covers the component and everything that compiled code depends on. Whatever is wrong with
//! the cache (forged, cut, foreign, writable by others, read-only, no key) costs a compilation, never more.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, KeyInit, Mac};
use rote_home::{FileMode, Home, create_private_dir, host_key, remove_file, write_atomic};
use rote_types::{Entropy, Sha256Digest};
use sha2::{Digest, Sha256};

/// Bytes of the authentication tag in front of the code.
const TAG_BYTES: usize = 32;
/// Most bytes of an entry that are read.
const ENTRY_BYTES: u64 = 512 << 20;
/// Most entries kept; the oldest go first.
const ENTRIES: usize = 256;

/// The name of an entry: what was compiled, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheKey([u8; 32]);

impl CacheKey {
    /// Names the code of `component` as compiled by the engine that `compatibility` names.
    pub(crate) fn new(component: Sha256Digest, compatibility: &[u8; 32]) -> Self {
        Self(Sha256::new().chain_update(component.0).chain_update(compatibility).finalize().into())
    }
}

/// The directory `cache/components/`.
#[derive(Debug)]
pub(crate) struct CompileCache {
    directory: PathBuf,
    /// None when the key could not be read or made: then nothing is believed and nothing is kept.
    key: Option<[u8; 32]>,
}

impl CompileCache {
    /// Opens the cache of `home`. It need not exist and need not be writable.
    pub(crate) fn open(home: &Home, entropy: &dyn Entropy) -> Self {
        let key = host_key(home, "compile-cache", entropy)
            .inspect_err(|error| tracing::warn!(%error, "components are compiled each time: no cache key"))
            .ok();
        Self { directory: home.cache_dir().join("components"), key }
    }

    /// Returns the verified code of an entry.
    pub(crate) fn load(&self, name: CacheKey) -> Option<Vec<u8>> {
        let key = self.key?;
        if !self.is_private() {
            return None;
        }
        let path = self.path(name);
        let entry = read_own_file(&path)?;
        match authentic(&key, name, entry) {
            Some(code) => Some(code),
            None => {
                tracing::warn!(path = %path.display(), "cached code is not what this host wrote: compiling again");
                None
            }
        }
    }

    /// Keeps the code of an entry, if it can.
    pub(crate) fn store(&self, name: CacheKey, code: &[u8]) {
        let Some(key) = self.key else { return };
        if create_private_dir(&self.directory).is_err() || !self.is_private() {
            return;
        }
        let mut entry = Vec::with_capacity(TAG_BYTES + code.len());
        entry.extend_from_slice(&tag(&key, name, code).finalize().into_bytes());
        entry.extend_from_slice(code);
        match write_atomic(&self.path(name), &entry, FileMode::Private) {
            Ok(()) => self.prune(),
            Err(error) => tracing::debug!(%error, "compiled code was not cached"),
        }
    }

    fn path(&self, name: CacheKey) -> PathBuf {
        self.directory.join(format!("{}.cwasm", hex::encode(name.0)))
    }

    /// Whether nobody else can put files into the directory.
    fn is_private(&self) -> bool {
        let Ok(metadata) = self.directory.symlink_metadata() else {
            return false;
        };
        let private = metadata.is_dir() && is_own(&metadata);
        if !private {
            tracing::warn!(path = %self.directory.display(), "the compile cache is writable by others: not used");
        }
        private
    }

    /// Removes the oldest entries beyond the bound.
    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return;
        };
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if files.len() <= ENTRIES {
            return;
        }
        files.sort();
        for (_, path) in files.iter().take(files.len() - ENTRIES) {
            if let Err(error) = remove_file(path) {
                tracing::debug!(%error, "an old cache entry stays");
            }
        }
    }
}

/// Whether a file or directory is this user's and nobody else can write it.
fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.permissions().mode() & 0o022 == 0
}

/// Reads a regular file of our own, never through a symlink.
fn read_own_file(path: &Path) -> Option<Vec<u8>> {
    // Nor waiting for the other end of a pipe.
    let flags = i32::try_from((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits()).ok()?;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || !is_own(&metadata) || metadata.len() > ENTRY_BYTES {
        return None;
    }
    let mut entry = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
    file.take(ENTRY_BYTES).read_to_end(&mut entry).ok()?;
    Some(entry)
}

/// Returns the code of an entry whose tag is right.
fn authentic(key: &[u8; 32], name: CacheKey, mut entry: Vec<u8>) -> Option<Vec<u8>> {
    let (claimed, code) = entry.split_at_checked(TAG_BYTES)?;
    tag(key, name, code).verify_slice(claimed).ok()?;
    entry.drain(..TAG_BYTES);
    Some(entry)
}

fn tag(key: &[u8; 32], name: CacheKey, code: &[u8]) -> Hmac<Sha256> {
    let mut tag = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length");
    tag.update(&name.0);
    tag.update(code);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use rote_types::sha256;

    #[derive(Debug)]
    struct Fixed(u8);

    impl Entropy for Fixed {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }

    fn cache() -> (tempfile::TempDir, CompileCache, CacheKey) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path().join("home")).unwrap();
        let cache = CompileCache::open(&home, &Fixed(7));
        (dir, cache, CacheKey::new(sha256(b"component"), &[1; 32]))
    }

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_was_stored_is_loaded() {
        let (_dir, cache, name) = cache();
        assert_eq!(cache.load(name), None);
        cache.store(name, b"code");
        assert_eq!(cache.load(name), Some(b"code".to_vec()));
        assert_eq!(cache.directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn any_flipped_bit_and_any_truncation_is_ignored() {
        let (_dir, cache, name) = cache();
        cache.store(name, b"code");
        let entry = read_own_file(&cache.path(name)).unwrap();
        for position in 0..entry.len() {
            let mut forged = entry.clone();
            forged[position] ^= 1;
            write_atomic(&cache.path(name), &forged, FileMode::Private).unwrap();
            assert_eq!(cache.load(name), None, "byte {position}");
            write_atomic(&cache.path(name), &entry[..position], FileMode::Private).unwrap();
            assert_eq!(cache.load(name), None, "length {position}");
        }
    }

    #[test]
    fn an_entry_of_another_component_engine_or_host_is_ignored() {
        let (dir, cache, name) = cache();
        cache.store(name, b"code");
        for other in [CacheKey::new(sha256(b"other"), &[1; 32]), CacheKey::new(sha256(b"component"), &[2; 32])] {
            std::fs::copy(cache.path(name), cache.path(other)).unwrap();
            assert_eq!(cache.load(other), None);
        }
        let home = Home::open(dir.path().join("other")).unwrap();
        let elsewhere = CompileCache { directory: cache.directory.clone(), ..CompileCache::open(&home, &Fixed(8)) };
        assert_eq!(elsewhere.load(name), None);
    }

    #[test]
    fn what_others_can_write_is_ignored() {
        let (_dir, cache, name) = cache();
        cache.store(name, b"code");
        chmod(&cache.path(name), 0o666);
        assert_eq!(cache.load(name), None);
        chmod(&cache.path(name), 0o600);
        assert!(cache.load(name).is_some());
        chmod(&cache.directory, 0o777);
        assert_eq!(cache.load(name), None);
    }

    #[test]
    fn a_symlink_is_not_followed() {
        let (dir, cache, name) = cache();
        cache.store(name, b"code");
        let elsewhere = dir.path().join("elsewhere");
        std::fs::copy(cache.path(name), &elsewhere).unwrap();
        chmod(&elsewhere, 0o600);
        std::fs::remove_file(cache.path(name)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, cache.path(name)).unwrap();
        assert_eq!(cache.load(name), None);
    }

    #[test]
    fn the_cache_does_not_grow_without_end() {
        let (_dir, cache, _) = cache();
        for number in 0..ENTRIES + 20 {
            cache.store(CacheKey::new(sha256(&number.to_le_bytes()), &[0; 32]), b"code");
        }
        assert_eq!(std::fs::read_dir(&cache.directory).unwrap().count(), ENTRIES);
    }
}
