//! A directory that is kept open: files are made in it without a look at the whole path each time.
//!
//! Invariants: the directory was reached through no symlink, and what is made in it later is in that directory, wherever
//! its names lead by then; a file that is there is whole, and is not written to again.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat, unlinkat};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, openat};
use rustix::io::Errno;

use crate::HomeError;
use crate::file::create_private_dir;

/// A directory below the home, open.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    dir: File,
}

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
        Ok(Self { path: path.to_owned(), dir })
    }

    /// Puts a file where there is none, whole, mode 0600: it has no name before. Returns false, and does nothing, when
    /// something has the name, or where the file system knows no files without one.
    ///
    /// # Errors
    /// [`HomeError::Io`], and [`HomeError::NotFound`] when the directory was removed.
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<bool, HomeError> {
        let fail = |source| HomeError::io("write", &self.path.join(name), source);
        let Some(mut file) = self.nameless().map_err(|source| fail(source.into()))? else { return Ok(false) };
        file.write_all(bytes).map_err(fail)?;
        match give_name(&file, &self.dir, name) {
            Ok(()) => Ok(true),
            // Either it is there, or `/proc` is not.
            Err(Errno::EXIST | Errno::NOENT | Errno::XDEV) => Ok(false),
            Err(source) => Err(fail(source.into())),
        }
    }

    /// Makes a file that has no name, and is gone when it gets none, however the process ends.
    #[cfg(target_os = "linux")]
    fn nameless(&self) -> Result<Option<File>, Errno> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match openat(&self.dir, ".", flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(source) => Err(source),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn nameless(&self) -> Result<Option<File>, Errno> {
        Ok(None)
    }

    /// Removes a file that this process has just made, if it can.
    pub fn discard(&self, name: &str) {
        unlinkat(&self.dir, name, AtFlags::empty()).ok();
    }
}

/// Gives a file without a name its name (open(2), `O_TMPFILE`).
fn give_name(file: &File, dir: &File, name: &str) -> Result<(), Errno> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, unnamed, dir, name, AtFlags::SYMLINK_FOLLOW)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

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
        assert!(folder.add("@1.json", b"one").unwrap());
        assert!(!folder.add("@1.json", b"other").unwrap());
        assert_eq!(read_capped(&path.join("@1.json"), 9).unwrap(), b"one");
        assert_eq!(path.join("@1.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        folder.discard("@1.json");
        assert!(folder.add("@1.json", b"again").unwrap());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test moves its own folder")]
    fn a_link_in_its_place_or_in_it_leads_nowhere() {
        let (dir, path, folder) = folder();
        let outside = dir.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        symlink(outside.join("x"), path.join("@2.json")).unwrap();
        assert!(!folder.add("@2.json", b"x").unwrap());
        std::fs::rename(&path, path.with_file_name("moved")).unwrap();
        symlink(&outside, &path).unwrap();
        assert!(folder.add("@3.json", b"x").unwrap());
        assert_eq!(outside.read_dir().unwrap().count(), 0);
        assert!(matches!(Folder::open(&path), Err(HomeError::Symlink { .. })));
    }

    #[test]
    fn a_directory_that_is_gone_takes_no_file() {
        let (_dir, path, folder) = folder();
        remove_dir(&path).unwrap();
        assert!(!folder.add("@1.json", b"x").unwrap_or(false) && !path.exists());
    }
}
