//! A directory that is kept open: files are made in it without a look at the whole path each time.
//!
//! Invariants: the directory was reached through no symlink, and what is made in it later is in that directory, wherever
//! its names lead by then; a file that is there is whole, and is not written to again.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, linkat, unlinkat};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, openat};
use rustix::io::Errno;

use crate::HomeError;
use crate::file::create_private_dir;

/// A directory below the home, open.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens a directory, creating it with mode 0700 when it is not there.
    ///
    /// # Errors
    /// [`HomeError::Symlink`] below a home, [`HomeError::Io`].
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        create_private_dir(path)?;
        let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
        let dir = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let dir = dir.map_err(|source| HomeError::io("open", path, source))?;
        Ok(Self(dir))
    }

    /// Puts a file where there is none, whole, mode 0600: it has no name before. Returns false, and does nothing, where
    /// that cannot be done: something has the name, the directory was removed, the file system knows no files without a
    /// name, the disk is full. Who asks then goes by the path, which works or says why not.
    #[must_use]
    pub fn add(&self, name: &str, bytes: &[u8]) -> bool {
        let Some(mut file) = self.nameless() else { return false };
        file.write_all(bytes).is_ok() && give_name(&file, &self.0, name).is_ok()
    }

    /// Makes a file that has no name, and is gone when it gets none, however the process ends.
    #[cfg(target_os = "linux")]
    fn nameless(&self) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&self.0, ".", flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    fn nameless(&self) -> Option<File> {
        None
    }

    /// Removes a file that this process has just made, if it can.
    pub fn discard(&self, name: &str) {
        unlinkat(&self.0, name, AtFlags::empty()).ok();
    }
}

/// Gives a file without a name its name (open(2), `O_TMPFILE`).
fn give_name(file: &File, dir: &File, name: &str) -> Result<(), Errno> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, unnamed, dir, name, AtFlags::SYMLINK_FOLLOW)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;
    use crate::{Home, read_capped, remove_dir};

    fn folder() -> (tempfile::TempDir, PathBuf, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path().join("home")).unwrap();
        let path = home.root().join("rote/workspaces/w");
        let folder = Folder::open(&path).unwrap();
        (dir, path, folder)
    }

    #[test]
    fn a_file_is_made_once_and_for_its_owner_alone() {
        let (_dir, path, folder) = folder();
        assert!(folder.add("@1.json", b"one"));
        assert!(!folder.add("@1.json", b"other"));
        assert_eq!(read_capped(&path.join("@1.json"), 9).unwrap(), b"one");
        assert_eq!(path.join("@1.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        folder.discard("@1.json");
        assert!(folder.add("@1.json", b"again"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test moves its own folder")]
    fn a_link_in_its_place_or_in_it_leads_nowhere() {
        let (dir, path, folder) = folder();
        let outside = dir.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        symlink(outside.join("x"), path.join("@2.json")).unwrap();
        assert!(!folder.add("@2.json", b"x"));
        std::fs::rename(&path, path.with_file_name("moved")).unwrap();
        symlink(&outside, &path).unwrap();
        assert!(folder.add("@3.json", b"x"));
        assert_eq!(outside.read_dir().unwrap().count(), 0);
        assert!(matches!(Folder::open(&path), Err(HomeError::Symlink { .. })));
    }

    #[test]
    fn a_directory_that_is_gone_takes_no_file() {
        let (_dir, path, folder) = folder();
        remove_dir(&path).unwrap();
        assert!(!folder.add("@1.json", b"x") && !path.exists());
    }
}
