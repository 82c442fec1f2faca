//! The large compiled guests, handed from one test's home to the next: compiling jq takes seconds, and each test has a
//! home of its own.
//!
//! A store beside the binary holds a cache key and the entries that homes with this key have made. A home gets copies,
//! so that a test can damage its own. What is wrong with an entry costs a compilation, as in any home.

#![expect(clippy::disallowed_methods, reason = "files of the harness, not of rote")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes from which an entry is kept: the query engine and the templates; adapters are smaller and each test's own.
const LARGE: u64 = 1 << 20;
/// Most entries kept. An engine or guest that changed leaves its old ones behind.
const ENTRIES: usize = 12;

/// The store of one build.
#[derive(Debug)]
pub(crate) struct Store(PathBuf);

impl Store {
    /// The store beside `binary`.
    pub(crate) fn beside(binary: &Path) -> Self {
        Self(binary.with_file_name("rote-test-cache"))
    }

    /// Gives a new home what there is. Without a store, or when anything fails, the home compiles for itself.
    pub(crate) fn lend(&self, home: &Path) {
        let _cold = self.try_lend(home);
    }

    fn try_lend(&self, home: &Path) -> std::io::Result<()> {
        let (secrets, cache) = (home.join("secrets"), home.join("cache/components"));
        for folder in [&self.0, &secrets, &cache] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let key = self.0.join("key");
        if !key.exists() {
            self.make_key(&key)?;
        }
        copy(&key, &secrets.join(".compile-cache.key"))?;
        for entry in entries(&self.0)? {
            copy(&entry, &cache.join(entry.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Makes the key under its name at once, whoever else does the same.
    fn make_key(&self, key: &Path) -> std::io::Result<()> {
        let mut bytes = [0_u8; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        self.publish(&bytes, key)
    }

    /// Takes over what a home has compiled, if it still has the store's key.
    pub(crate) fn keep(&self, home: &Path) {
        let _lost = self.try_keep(home);
    }

    fn try_keep(&self, home: &Path) -> std::io::Result<()> {
        if fs::read(self.0.join("key"))? != fs::read(home.join("secrets/.compile-cache.key"))? {
            return Ok(());
        }
        let mut kept = entries(&self.0)?.len();
        for entry in entries(&home.join("cache/components"))? {
            let place = self.0.join(entry.file_name().unwrap_or_default());
            if kept < ENTRIES && !place.exists() && entry.metadata()?.len() >= LARGE {
                self.publish(&fs::read(&entry)?, &place)?;
                kept += 1;
            }
        }
        Ok(())
    }

    /// Writes a file that is seen whole or not at all; the first one wins.
    fn publish(&self, bytes: &[u8], place: &Path) -> std::io::Result<()> {
        let written = tempfile::NamedTempFile::new_in(&self.0)?;
        fs::write(written.path(), bytes)?;
        match written.persist_noclobber(place) {
            Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    }
}

/// The compiled guests in a folder.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "cwasm")).collect())
}

/// Copies a file; only its owner may read the copy.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut copy = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    std::io::copy(&mut fs::File::open(from)?, &mut copy).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_home_compiled_the_next_one_has() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::beside(&folder.path().join("binary"));
        let (one, other, foreign) = (folder.path().join("1"), folder.path().join("2"), folder.path().join("3"));
        store.lend(&one);
        let large = vec![7; usize::try_from(LARGE).unwrap()];
        fs::write(one.join("cache/components/a.cwasm"), &large).unwrap();
        fs::write(one.join("cache/components/small.cwasm"), b"x").unwrap();
        store.keep(&one);
        store.lend(&other);
        assert_eq!(fs::read(other.join("cache/components/a.cwasm")).unwrap(), large);
        assert!(!other.join("cache/components/small.cwasm").exists());
        // What a home with another key has compiled would be believed by no other.
        store.lend(&foreign);
        fs::write(foreign.join("secrets/.compile-cache.key"), [1; 32]).unwrap();
        fs::write(foreign.join("cache/components/b.cwasm"), &large).unwrap();
        store.keep(&foreign);
        assert_eq!(entries(&store.0).unwrap().len(), 1);
    }
}
