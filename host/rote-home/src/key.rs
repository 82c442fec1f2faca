//! Keys of this machine: 32 random bytes per purpose, made once, 0600.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rote_types::Entropy;

use crate::{FileMode, Home, HomeError, lock, read_capped, write_durable};

/// How long to wait for another process that is just making the same key.
const KEY_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the key `secrets/.<name>.key`, creating it on first use; two processes that race get the same one.
///
/// # Errors
/// [`HomeError::Insecure`] when others can read the file, [`HomeError::Corrupt`] when it has not 32 bytes,
/// [`HomeError::Invalid`] for a name with anything but lower-case letters and `-`.
pub fn host_key(home: &Home, name: &str, entropy: &dyn Entropy) -> Result<[u8; 32], HomeError> {
    host_key_after(home, name, entropy, |_| Ok(()))
}

/// As [`host_key`]; a new key counts only when `first` has done its work with it. Until then it waits in
/// `secrets/.<name>.key.new`, so whatever stops in between, the next one goes on with the same key.
///
/// # Errors
/// As [`host_key`], and those of `first`.
pub fn host_key_after<E: From<HomeError>>(
    home: &Home,
    name: &str,
    entropy: &dyn Entropy,
    first: impl FnOnce(&[u8; 32]) -> Result<(), E>,
) -> Result<[u8; 32], E> {
    let path = key_file(home, name)?;
    if let Some(key) = read_key(&path)? {
        return Ok(key);
    }
    let _guard = lock(&home.secrets_dir().join(".keys.lock"), KEY_TIMEOUT)?;
    if let Some(key) = read_key(&path)? {
        return Ok(key);
    }
    let waiting = path.with_extension("key.new");
    let key = match read_key(&waiting)? {
        Some(key) => key,
        None => {
            let mut key = [0_u8; 32];
            entropy.fill(&mut key);
            write_durable(&waiting, &key, FileMode::Private)?;
            key
        }
    };
    first(&key)?;
    write_durable(&path, &key, FileMode::Private)?;
    // A key that counts is never looked for there again.
    crate::remove_file(&waiting).ok();
    Ok(key)
}

/// Returns the key `secrets/.<name>.key`, `None` when there is none yet.
///
/// # Errors
/// As [`host_key`].
pub fn existing_host_key(home: &Home, name: &str) -> Result<Option<[u8; 32]>, HomeError> {
    read_key(&key_file(home, name)?)
}

fn key_file(home: &Home, name: &str) -> Result<PathBuf, HomeError> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        let what = format!("key name `{name}`");
        return Err(HomeError::Invalid { what, reason: "use lower-case letters and `-`" });
    }
    Ok(home.secrets_dir().join(format!(".{name}.key")))
}

/// Reads a key file, or `None` when there is none.
fn read_key(path: &Path) -> Result<Option<[u8; 32]>, HomeError> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(HomeError::io("read", path, source)),
    };
    if metadata.file_type().is_symlink() {
        return Err(HomeError::Symlink { path: path.to_owned() });
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(HomeError::Insecure { path: path.to_owned(), mode });
    }
    let bytes = read_capped(path, 32)?;
    let found = bytes.len();
    bytes.try_into().map(Some).map_err(|_| HomeError::Corrupt {
        path: path.to_owned(),
        reason: format!("a key has 32 bytes, this file has {found}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(u8);

    impl Entropy for Fixed {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }

    #[test]
    fn a_key_is_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path()).unwrap();
        assert_eq!(host_key(&home, "cache", &Fixed(1)).unwrap(), [1; 32]);
        assert_eq!(host_key(&home, "cache", &Fixed(2)).unwrap(), [1; 32]);
        assert_eq!(host_key(&home, "machine", &Fixed(2)).unwrap(), [2; 32]);
        assert!(matches!(host_key(&home, "../x", &Fixed(1)), Err(HomeError::Invalid { .. })));
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_cut_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path()).unwrap();
        host_key(&home, "cache", &Fixed(1)).unwrap();
        let path = home.secrets_dir().join(".cache.key");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(host_key(&home, "cache", &Fixed(1)), Err(HomeError::Insecure { mode: 0o644, .. })));
        write_durable(&path, &[1; 31], FileMode::Private).unwrap();
        assert!(matches!(host_key(&home, "cache", &Fixed(1)), Err(HomeError::Corrupt { .. })));
    }

    #[test]
    fn racing_processes_get_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path()).unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let home = &home;
            let threads: Vec<_> =
                (0..16).map(|n| scope.spawn(move || host_key(home, "cache", &Fixed(n)).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }
}
