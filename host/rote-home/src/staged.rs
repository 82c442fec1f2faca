//! Directories that appear all at once: built beside their destination, then swapped in.
//!
//! Invariants: the destination is the old directory or the new one, never a mixture; a killed build leaves only
//! a `.staging-…` sibling, which the next sweep removes. A staging directory in use is locked by its builder.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use crate::HomeError;
use crate::below::{refuse_linked_dir, refuse_links};
use crate::file::{TEMPORARY_PREFIX, create_private_dir, parent, sync_dir};

const STAGING_PREFIX: &str = ".staging-";

/// How many names are tried before giving up; a collision needs a leftover of a process with our id.
const NAME_ATTEMPTS: u32 = 1_000;

/// How deep a staged tree may be.
const MAX_DEPTH: u32 = 64;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory under construction. Dropped without a commit, it is deleted.
#[derive(Debug)]
pub struct Staged {
    destination: PathBuf,
    path: PathBuf,
    // INVARIANT: locked while the directory is under construction.
    _lock: File,
}

impl Staged {
    /// Starts an empty directory that will become `destination`.
    ///
    /// # Errors
    /// [`HomeError::Symlink`] when `destination` is a link, [`HomeError::Io`] when nothing can be created beside it.
    pub fn new(destination: &Path) -> Result<Self, HomeError> {
        refuse_links(destination)?;
        let dir = parent(destination);
        create_private_dir(dir)?;
        for _ in 0..NAME_ATTEMPTS {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("{STAGING_PREFIX}{}-{number}", std::process::id()));
            if let Some(lock) = claim(&path)? {
                return Ok(Self { destination: destination.to_owned(), path, _lock: lock });
            }
        }
        Err(HomeError::Exists { path: dir.join(STAGING_PREFIX) })
    }

    /// Returns where to build.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the directory in its place, replacing one that is there. Survives a power cut once it returns.
    ///
    /// # Errors
    /// [`HomeError::Io`]; the destination is then as it was.
    pub fn commit(self) -> Result<(), HomeError> {
        self.sync()?;
        match rename(&self.path, &self.destination, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => self.exchange()?,
            Err(source) => return Err(self.failure(source)),
        }
        sync_dir(parent(&self.destination))
    }

    /// Puts the directory in its place if nothing is there.
    ///
    /// # Errors
    /// [`HomeError::Exists`] when something is, also when it came meanwhile; [`HomeError::Io`] otherwise.
    pub fn commit_new(self) -> Result<(), HomeError> {
        self.sync()?;
        rename(&self.path, &self.destination, RenameFlags::NOREPLACE).map_err(|source| match source {
            Errno::EXIST => HomeError::Exists { path: self.destination.clone() },
            source => self.failure(source),
        })?;
        sync_dir(parent(&self.destination))
    }

    /// Swaps old and new in one step; the old one is then at the staging path and goes with the drop.
    fn exchange(&self) -> Result<(), HomeError> {
        refuse_links(&self.destination)?;
        rename(&self.path, &self.destination, RenameFlags::EXCHANGE).map_err(|source| self.failure(source))
    }

    fn sync(&self) -> Result<(), HomeError> {
        sync_tree(&self.path, 0)
    }

    fn failure(&self, source: Errno) -> HomeError {
        HomeError::io("install", &self.destination, source.into())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a first install nothing is there; after an exchange this is the replaced directory.
        remove_dir(&self.path).ok();
    }
}

/// Creates and locks the directory, or returns `None` when the name is taken or a sweep was faster.
fn claim(path: &Path) -> Result<Option<File>, HomeError> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(source) => return Err(HomeError::io("create", path, source)),
    }
    let Ok(file) = File::open(path) else { return Ok(None) };
    let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && path.is_dir();
    Ok(locked.then_some(file))
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
    renameat_with(CWD, from, CWD, to, flags)
}

/// Fsyncs every file and directory of a small tree.
fn sync_tree(dir: &Path, depth: u32) -> Result<(), HomeError> {
    let fail = |source| HomeError::io("sync", dir, source);
    if depth > MAX_DEPTH {
        return Err(HomeError::Invalid { what: format!("`{}`", dir.display()), reason: "it is nested too deeply" });
    }
    for entry in dir.read_dir().map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_dir() {
            sync_tree(&entry.path(), depth + 1)?;
        } else if kind.is_file() {
            File::open(entry.path()).and_then(|file| file.sync_all()).map_err(fail)?;
        }
    }
    sync_dir(dir)
}

/// Removes a directory and all below it; one that is not there counts as removed.
///
/// # Errors
/// [`HomeError::Symlink`] when a directory of the home on the way is a link, [`HomeError::Io`].
#[expect(clippy::disallowed_methods, reason = "the one place that removes trees")]
pub fn remove_dir(path: &Path) -> Result<(), HomeError> {
    refuse_linked_dir(parent(path))?;
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(HomeError::io("remove", path, source)),
        _ => Ok(()),
    }
}

/// Removes a directory and all below it in one step: whoever looks finds all of it or nothing. What a kill leaves
/// is a leftover that the next sweep removes. One that is not there counts as removed.
///
/// # Errors
/// [`HomeError::Io`]; the directory is then as it was, or gone.
pub fn discard_dir(path: &Path) -> Result<(), HomeError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        _ => return remove_dir(path),
    }
    // Held until it is gone, so that a sweep leaves it to us.
    let _lock = File::open(path).ok().filter(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
    let staged = Staged::new(path)?;
    // It takes the place of the empty staging directory.
    rename(path, &staged.path, RenameFlags::empty()).map_err(|source| HomeError::io("remove", path, source.into()))?;
    remove_dir(&staged.path)
}

/// Removes what killed processes left in `dir`: staging directories and temporary files that nobody holds.
/// Returns how many there were.
///
/// # Errors
/// [`HomeError::Io`] when `dir` cannot be listed or a leftover cannot be removed.
pub fn sweep_staging(dir: &Path) -> Result<usize, HomeError> {
    refuse_linked_dir(dir)?;
    let fail = |source| HomeError::io("list", dir, source);
    let mut swept = 0;
    for entry in dir.read_dir().map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().map_err(fail)?;
        let leftover = (name.starts_with(STAGING_PREFIX) && kind.is_dir())
            || (name.starts_with(TEMPORARY_PREFIX) && kind.is_file());
        if leftover && sweep(&entry.path(), kind.is_dir())? {
            swept += 1;
        }
    }
    Ok(swept)
}

/// Removes one leftover unless its maker still holds it.
fn sweep(path: &Path, is_dir: bool) -> Result<bool, HomeError> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    if is_dir {
        remove_dir(path)?
    } else {
        crate::remove_file(path)?
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "tests look at files as they are")]
    fn content(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    fn stage(destination: &Path, text: &str) -> Staged {
        let staged = Staged::new(destination).unwrap();
        crate::write_atomic(&staged.path().join("sub/file"), text.as_bytes(), crate::FileMode::Private).unwrap();
        staged
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_commit_installs_and_a_second_one_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let destination = dir.path().join("x");
        stage(&destination, "one").commit_new().unwrap();
        assert_eq!(content(&destination.join("sub/file")), "one");
        assert!(matches!(stage(&destination, "two").commit_new(), Err(HomeError::Exists { .. })));
        assert_eq!(content(&destination.join("sub/file")), "one");
        stage(&destination, "two").commit().unwrap();
        assert_eq!(content(&destination.join("sub/file")), "two");
        assert_eq!(names(dir.path()), ["x"]);
    }

    #[test]
    fn a_discarded_directory_is_gone_with_all_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let destination = dir.path().join("x");
        stage(&destination, "one").commit_new().unwrap();
        discard_dir(&destination).unwrap();
        assert!(names(dir.path()).is_empty());
        discard_dir(&destination).unwrap();
    }

    #[test]
    fn a_dropped_build_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(stage(&dir.path().join("x"), "one"));
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_sweep_takes_what_a_killed_process_left_and_spares_what_is_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let destination = dir.path().join("x");
        stage(&destination, "kept").commit_new().unwrap();
        let in_use = stage(&dir.path().join("y"), "in use");
        // What a kill leaves: the directory without the lock, which ended with its process.
        std::fs::create_dir_all(dir.path().join(".staging-1-0/sub")).unwrap();
        std::fs::File::create(dir.path().join(".tmp-left")).unwrap();
        assert_eq!(sweep_staging(dir.path()).unwrap(), 2);
        in_use.commit_new().unwrap();
        assert_eq!(names(dir.path()), ["x", "y"]);
    }

    #[test]
    fn a_destination_that_is_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        std::fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join("x")).unwrap();
        assert!(matches!(Staged::new(&dir.path().join("x")), Err(HomeError::Symlink { .. })));
    }

    #[test]
    fn readers_see_the_old_tree_or_the_new_one_and_never_none() {
        let dir = tempfile::tempdir().unwrap();
        let destination = dir.path().join("x");
        stage(&destination, "0").commit_new().unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 1..50 {
                    stage(&destination, &number.to_string()).commit().unwrap();
                }
            });
            while !writer.is_finished() {
                let held = File::open(&destination).expect("the destination is always there");
                drop(held);
            }
        });
    }
}
