//! SQLite files: how each is opened, and how its schema moves forward.
//!
//! WAL, so that readers never wait for a writer; 0600; no checkpoint at close, since a short command must not
//! pay for two fsyncs at its end (the next writer checkpoints when the log has grown).

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::HomeError;
use crate::below::refuse_links;
use crate::error::is_busy;
use crate::file::{create_private_dir, no_follow, parent};

/// How long a statement waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Pages in the write-ahead log before a checkpoint, which costs two fsyncs: 4 MB, which the next process
/// recovers in well under 1 ms.
const CHECKPOINT_PAGES: u32 = 1_000;

/// What a power cut may take of a database that was just created. Later commits are not synced either way, unless the
/// writer asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// Nothing: synced commits that follow are there afterwards. Costs five syncs, once.
    Synced,
    /// The whole of it, with everything that was not synced since. A run makes a database of its own, and five syncs
    /// are half of what a short run takes.
    Unsynced,
}

/// Opens the database at `path`, creating it with mode 0600, and applies the migrations that it lacks.
///
/// `migrations[n]` brings schema `n` to `n + 1`; the number is kept in `user_version`. Each migration is one
/// transaction. An entry that was ever released is never edited.
///
/// # Errors
/// [`HomeError::NewerDatabase`] when a later rote wrote it, [`HomeError::Symlink`] when `path` is a link,
/// [`HomeError::Database`] otherwise.
pub fn open_database(path: &Path, migrations: &[&str], creation: Creation) -> Result<Connection, HomeError> {
    refuse_links(path)?;
    // SQLite opens these as it finds them.
    for beside in ["-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(beside);
        refuse_links(Path::new(&name))?;
    }
    create_private_dir(parent(path))?;
    // SQLite would create it with the umask's mode; its -wal and -shm files take over the mode of this one.
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_follow())
        .open(path)
        .map_err(|source| HomeError::io("open the database", path, source))?;
    let failed = |action| move |source| HomeError::Database { action, path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed("open"))?;
    configure(&connection, creation).map_err(failed("configure"))?;
    migrate(&mut connection, path, migrations)?;
    connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(failed("configure"))?;
    Ok(connection)
}

fn configure(connection: &Connection, creation: Creation) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    let synchronous = if creation == Creation::Synced { "FULL" } else { "OFF" };
    connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
    enter_wal(connection)?;
    connection.execute_batch(&format!(
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};"
    ))
}

/// Switches to WAL. SQLite does not call the busy handler for this one change, so the wait is ours.
fn enter_wal(connection: &Connection) -> Result<(), rusqlite::Error> {
    let start = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(error) if is_busy(&error) && start.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            result => return result.map(drop),
        }
    }
}

fn schema_version(connection: &Connection) -> Result<u64, rusqlite::Error> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    // A negative number was written by nobody we know: treat it as newer than everything.
    Ok(u64::try_from(version).unwrap_or(u64::MAX))
}

fn migrate(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), HomeError> {
    let failed = |source| HomeError::Database { action: "migrate", path: path.to_owned(), source };
    let supported = migrations.len() as u64;
    if schema_version(connection).map_err(failed)? == supported {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Read again under the write lock: another process may have migrated meanwhile.
    let found = schema_version(&transaction).map_err(failed)?;
    if found > supported {
        return Err(HomeError::NewerDatabase { path: path.to_owned(), found, supported });
    }
    let done = usize::try_from(found).expect("found is at most the number of migrations");
    for migration in &migrations[done..] {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "user_version", supported.cast_signed()).map_err(failed)?;
    transaction.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const FIRST: &str = "CREATE TABLE a (x INTEGER) STRICT;";
    const SECOND: &str = "CREATE TABLE b (y INTEGER REFERENCES c(z)) STRICT; INSERT INTO a VALUES (2);";

    #[test]
    fn migrations_are_applied_once_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/x.db");
        drop(open_database(&path, &[FIRST], Creation::Synced).unwrap());
        drop(open_database(&path, &[FIRST, SECOND], Creation::Unsynced).unwrap());
        let connection = open_database(&path, &[FIRST, SECOND], Creation::Unsynced).unwrap();
        let rows: i64 = connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn a_database_of_a_newer_rote_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        drop(open_database(&path, &[FIRST, SECOND], Creation::Unsynced).unwrap());
        let error = open_database(&path, &[FIRST], Creation::Synced).unwrap_err();
        assert!(matches!(error, HomeError::NewerDatabase { found: 2, supported: 1, .. }), "{error}");
    }

    #[test]
    fn a_failing_migration_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        drop(open_database(&path, &[FIRST], Creation::Synced).unwrap());
        assert!(open_database(&path, &[FIRST, "CREATE TABLE b (y) ; nonsense"], Creation::Synced).is_err());
        drop(open_database(&path, &[FIRST, SECOND], Creation::Unsynced).unwrap());
    }

    #[test]
    fn foreign_bytes_are_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        crate::write_atomic(&path, &[b'x'; 4096], crate::FileMode::Private).unwrap();
        let error = open_database(&path, &[FIRST], Creation::Synced).unwrap_err();
        assert!(error.to_string().contains("x.db"), "{error}");
    }

    #[test]
    fn a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join("y.db"), dir.path().join("x.db")).unwrap();
        assert!(matches!(
            open_database(&dir.path().join("x.db"), &[], Creation::Synced),
            Err(HomeError::Symlink { .. })
        ));
    }

    #[test]
    fn many_processes_may_create_it_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| open_database(&path, &[FIRST, SECOND], Creation::Unsynced).unwrap());
            }
        });
    }
}
