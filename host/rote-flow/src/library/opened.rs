//! Flow files that this process has read and verified: read again only once they have changed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rote_home::Stamp;

use crate::Package;

/// Most files that are kept; the one that was asked for longest ago goes first.
const MOST_FILES: usize = 16;
/// Most bytes of a file that is kept.
const MOST_BYTES: usize = 4 << 20;

/// The files, shared by all clones of a library.
#[derive(Debug, Clone, Default)]
pub(super) struct Opened(Arc<Mutex<VecDeque<Kept>>>);

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    /// How the file was before it was read: one that was replaced meanwhile is noticed by the next look.
    stamp: Stamp,
    package: Package,
}

impl Opened {
    /// Returns what was read of a file that is still the same.
    pub(super) fn get(&self, path: &Path, stamp: Stamp) -> Option<Package> {
        let mut kept = self.kept();
        let position = kept.iter().position(|one| one.path == path)?;
        let one = kept.remove(position).filter(|one| one.stamp == stamp)?;
        let package = one.package.clone();
        kept.push_back(one);
        Some(package)
    }

    /// Keeps what was read of a file.
    pub(super) fn keep(&self, path: &Path, stamp: Stamp, package: &Package) {
        if package.bytes().len() > MOST_BYTES {
            return;
        }
        let mut kept = self.kept();
        kept.retain(|one| one.path != path);
        kept.push_back(Kept { path: path.to_owned(), stamp, package: package.clone() });
        if kept.len() > MOST_FILES {
            kept.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use rote_home::{FileMode, Home, write_atomic};

    use crate::tests::package::package;
    use crate::{FlowReference, Library};

    #[test]
    fn a_file_is_read_again_once_it_changed_and_only_then() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(Home::open(folder.path()).unwrap());
        let path = folder.path().join("some.wasm");
        let put = |bytes: &[u8]| write_atomic(&path, bytes, FileMode::Private).unwrap();
        let load = || library.clone().load(&FlowReference::Path(path.clone())).map(|(_, package)| package);
        let first = package();
        put(first.bytes());
        assert_eq!(load().unwrap(), first);
        assert!(std::ptr::eq(load().unwrap().bytes(), load().unwrap().bytes()), "it was read twice");
        let mut frontmatter = first.frontmatter.clone();
        frontmatter.version = "0.2.0".to_owned();
        let second = first.with_frontmatter(frontmatter).unwrap();
        assert_eq!(second.bytes().len(), first.bytes().len());
        put(second.bytes());
        assert_eq!(load().unwrap(), second);
        put(&second.bytes()[1..]);
        assert!(load().is_err());
        rote_home::remove_file(&path).unwrap();
        assert!(load().is_err());
    }
}
