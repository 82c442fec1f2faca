//! SQLite files: how each is opened, and how its schema moves forward.
//!
//! WAL, so that readers never wait for a writer; 0600; no checkpoint at close, since a short command must not
//! pay for two fsyncs at its end (the next writer checkpoints when the log has grown).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::HomeError;
use crate::below::refuse_link;
use crate::error::is_busy;
use crate::file::{create_private_dir, no_follow, parent, write_new};

/// How long a statement waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Pages in the write-ahead log from which a checkpoint, which costs two fsyncs, is due: 4 MB, which the next process
/// recovers in well under 1 ms. A connection that writes much leaves up to [`MOST_PAGES`].
const CHECKPOINT_PAGES: i32 = 1_000;
/// How long a connection waits with its next checkpoint while it writes that much all the time, so that its calls do not wait
/// for a disk each few milliseconds.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(500);
/// Pages in the log from which nothing is waited for: 32 MB.
const MOST_PAGES: i32 = 8_000;

/// What SQLite adds to the name of a database for its write-ahead log, and for the index of that.
const LOG: &str = "-wal";
const INDEX: &str = "-shm";

/// What puts the first rows into a database.
pub type Fill<'f> = dyn Fn(&Connection) -> rusqlite::Result<()> + 'f;

/// What a power cut may take of a database that was just created. Later commits are not synced either way, unless the
/// writer asks for it.
#[derive(Clone, Copy)]
pub enum Creation<'f> {
    /// Nothing: synced commits that follow are there afterwards. Costs five syncs, once.
    Synced,
    /// The whole of it, with everything that was not synced since. A run makes a database of its own, and five syncs
    /// are half of what a short run takes.
    Unsynced,
    /// As [`Creation::Unsynced`], with what a database has from its first moment: it stands in the file itself, never in a
    /// log that may be lost.
    Filled {
        /// Puts it in, behind the migrations.
        fill: &'f Fill<'f>,
        /// Whether a power cut takes nothing of that. Costs one sync, once.
        synced: bool,
    },
}

impl<'f> Creation<'f> {
    fn fill(self) -> Option<&'f Fill<'f>> {
        match self {
            Self::Filled { fill, .. } => Some(fill),
            Self::Synced | Self::Unsynced => None,
        }
    }
}

/// Opens the database at `path`, creating it with mode 0600, and applies the migrations that it lacks.
///
/// `migrations[n]` brings schema `n` to `n + 1`; the number is kept in `user_version`. Each migration is one
/// transaction. An entry that was ever released is never edited.
///
/// # Errors
/// [`HomeError::NewerDatabase`] when a later rote wrote it, [`HomeError::Symlink`] when `path` is a link,
/// [`HomeError::Database`] otherwise.
pub fn open_database(path: &Path, migrations: &[&str], creation: Creation<'_>) -> Result<Connection, HomeError> {
    create_private_dir(parent(path))?;
    let has_leftover = refuse_links_beside(path)?;
    let is_new = !refuse_link(path)?;
    match creation {
        _ if !is_new => {}
        // Beside an empty file SQLite removes the log of a database that is gone; into a full one it would put that.
        Creation::Unsynced | Creation::Filled { .. } if !has_leftover => {
            let _by_another_one = create_full(path, migrations, creation)?;
        }
        _ => create_empty(path)?,
    }
    connect(path, migrations, (creation, is_new))
}

/// Makes the database at `path` as [`Creation::Filled`] does, not synced, and opens it for nobody: a run that makes no call
/// needs no connection, which costs more than the file. Whoever opens it finds it whole, with an empty log. Returns `false`
/// where one is there, or something of one: nothing is made then.
///
/// # Errors
/// As [`open_database`].
pub fn make_database(path: &Path, migrations: &[&str], fill: &Fill<'_>) -> Result<bool, HomeError> {
    create_private_dir(parent(path))?;
    let is_in_the_way = refuse_links_beside(path)? | refuse_link(path)?;
    if is_in_the_way || !create_full(path, migrations, Creation::Filled { fill, synced: false })? {
        return Ok(false);
    }
    // Where nothing can be made any more, as on a disk that became read-only, SQLite reads only beside these.
    for log in [LOG, INDEX] {
        create_empty(&beside(path, log))?;
    }
    Ok(true)
}

/// Opens for the first time what [`make_database`] made.
///
/// # Errors
/// As [`open_database`]; one that was removed meanwhile is not made anew.
pub fn open_made(path: &Path, migrations: &[&str]) -> Result<Connection, HomeError> {
    refuse_links_beside(path)?;
    refuse_link(path)?;
    connect(path, migrations, (Creation::Unsynced, true))
}

/// Whether nobody has written to a database since [`make_database`] made it: whoever does has written to its log.
#[must_use]
pub fn is_as_made(path: &Path) -> bool {
    beside(path, LOG).symlink_metadata().is_ok_and(|log| log.is_file() && log.len() == 0)
}

/// The name of a file that SQLite has beside a database.
fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(what);
    name.into()
}

/// SQLite opens these as it finds them; returns whether there are any.
fn refuse_links_beside(path: &Path) -> Result<bool, HomeError> {
    [LOG, INDEX, "-journal"].iter().try_fold(false, |found, what| Ok(refuse_link(&beside(path, what))? || found))
}

fn connect(
    path: &Path,
    migrations: &[&str],
    (creation, is_new): (Creation<'_>, bool),
) -> Result<Connection, HomeError> {
    let failed = |action| move |source| HomeError::Database { action, path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed("open"))?;
    configure(&mut connection, creation).map_err(failed("configure"))?;
    if migrate(&connection, path, migrations, creation.fill())? && creation.fill().is_some() {
        // The next one may lose the log.
        connection.execute_batch("PRAGMA wal_checkpoint").map_err(failed("configure"))?;
    }
    if is_new && !matches!(creation, Creation::Synced) {
        // The first commit begins the write-ahead log, which is synced for that as long as anything is.
        let version = migrations.len() as u64;
        connection.pragma_update(None, "user_version", version.cast_signed()).map_err(failed("configure"))?;
    }
    connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(failed("configure"))?;
    Ok(connection)
}

/// Makes an empty file: SQLite would create it with the umask's mode; its -wal and -shm files take over the mode of this one.
fn create_empty(path: &Path) -> Result<(), HomeError> {
    let opened =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(no_follow()).open(path);
    opened.map(drop).map_err(|source| HomeError::io("open the database", path, source))
}

/// Makes the file with all migrations applied, in one step; `false` where another process was faster. The migrations run, and
/// the schema is parsed, once per process: each run of a flow has a database of its own, and they were most of what a short one took.
fn create_full(path: &Path, migrations: &[&str], creation: Creation<'_>) -> Result<bool, HomeError> {
    static TEMPLATES: Mutex<BTreeMap<String, Connection>> = Mutex::new(BTreeMap::new());
    let failed = |source| HomeError::Database { action: "create", path: path.to_owned(), source };
    let mut bytes = match TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner).entry(migrations.concat()) {
        Entry::Occupied(template) => filled(template.into_mut(), creation.fill()),
        Entry::Vacant(place) => {
            let template = Connection::open_in_memory().map_err(failed)?;
            migrate(&template, path, migrations, None)?;
            filled(place.insert(template), creation.fill())
        }
    }
    .map_err(failed)?;
    // Versions for writing and reading: 2 says WAL (SQLite, "Database File Format" §1.3.3). One in memory has none.
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(2);
    }
    write_new(path, &bytes, matches!(creation, Creation::Filled { synced: true, .. }))
}

/// The bytes of a template with what is put into it, in a transaction that is never committed.
fn filled(template: &mut Connection, fill: Option<&Fill<'_>>) -> rusqlite::Result<Vec<u8>> {
    // Here and not at the end, so that one that failed or panicked leaves nothing either.
    if !template.is_autocommit() {
        template.execute_batch("ROLLBACK")?;
    }
    template.execute_batch("BEGIN")?;
    fill.map_or(Ok(()), |fill| fill(template))?;
    Ok(template.serialize(MAIN_DB)?.to_vec())
}

/// Runs `work` in one transaction that has the write lock from its beginning.
///
/// # Errors
/// Those of `work`, and what `refused` makes of SQLite's; nothing has changed then.
pub fn write_to<T, E>(
    connection: &Connection,
    refused: impl Fn(rusqlite::Error) -> E,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    // Parsed once per connection.
    let say = |sql| connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(&refused);
    say("BEGIN IMMEDIATE")?;
    let _unless_committed = Undo(connection);
    let value = work(connection)?;
    say("COMMIT")?;
    Ok(value)
}

/// Does several pieces of work in one transaction, each of which stands or falls for itself. Where the transaction as a whole
/// is refused, each is done in one of its own, so that it is told of its own failure.
///
/// # Errors
/// Each has that of [`write_to`].
pub fn write_all_to<A, T, E>(
    connection: &Connection,
    refused: impl Fn(rusqlite::Error) -> E,
    asks: &[A],
    mut work: impl FnMut(&Connection, &A) -> Result<T, E>,
) -> Vec<Result<T, E>> {
    if asks.len() > 1
        && let Ok(results) = write_to(connection, |error| error, |connection| apart(connection, asks, &mut work))
    {
        return results;
    }
    asks.iter().map(|ask| write_to(connection, &refused, |connection| work(connection, ask))).collect()
}

/// Does pieces of work within a transaction; one that fails leaves nothing in it.
pub(crate) fn apart<A, T, E>(
    connection: &Connection,
    asks: &[A],
    work: &mut impl FnMut(&Connection, &A) -> Result<T, E>,
) -> rusqlite::Result<Vec<Result<T, E>>> {
    let say = |sql| connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
    let each = |ask| {
        say("SAVEPOINT apart")?;
        let done = work(connection, ask);
        if done.is_err() {
            // Refused where SQLite gave the whole transaction up.
            say("ROLLBACK TO apart")?;
        }
        say("RELEASE apart")?;
        Ok(done)
    };
    asks.iter().map(each).collect()
}

/// Takes back what was not committed, also when the work panics.
struct Undo<'c>(&'c Connection);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            self.0.execute_batch("ROLLBACK").ok();
        }
    }
}

fn configure(connection: &mut Connection, creation: Creation<'_>) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Else a statement whose values a partial index might be about is parsed anew for each of them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    let synchronous = if matches!(creation, Creation::Synced) { "FULL" } else { "OFF" };
    connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
    enter_wal(connection)?;
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")?;
    let mut last: Option<Instant> = None;
    connection.wal_hook(Some(move |wal: &mut Wal, pages| {
        if is_checkpoint_due(pages, last.map(|last| last.elapsed())) {
            // One that fails now is made good by a later one; the commit stands.
            wal.checkpoint().ok();
            last = Some(Instant::now());
        }
        Ok(())
    }))
}

/// Whether the log, so many pages long, goes into the database now; `since` is how long ago the last checkpoint was.
fn is_checkpoint_due(pages: i32, since: Option<Duration>) -> bool {
    pages >= MOST_PAGES || pages >= CHECKPOINT_PAGES && since.is_none_or(|since| since >= BETWEEN_CHECKPOINTS)
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

/// Brings the schema forward, and fills a database that had none yet; returns whether it was such a one.
fn migrate(
    connection: &Connection,
    path: &Path,
    migrations: &[&str],
    fill: Option<&Fill<'_>>,
) -> Result<bool, HomeError> {
    let failed = |source| HomeError::Database { action: "migrate", path: path.to_owned(), source };
    let supported = migrations.len() as u64;
    if schema_version(connection).map_err(failed)? == supported {
        return Ok(false);
    }
    write_to(connection, failed, |connection| {
        // Read again under the write lock: another process may have migrated meanwhile.
        let found = schema_version(connection).map_err(failed)?;
        if found > supported {
            return Err(HomeError::NewerDatabase { path: path.to_owned(), found, supported });
        }
        let done = usize::try_from(found).expect("found is at most the number of migrations");
        for migration in &migrations[done..] {
            connection.execute_batch(migration).map_err(failed)?;
        }
        if let Some(fill) = fill.filter(|_| found == 0) {
            fill(connection).map_err(failed)?;
        }
        connection.pragma_update(None, "user_version", supported.cast_signed()).map_err(failed)?;
        Ok(found == 0)
    })
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
    fn what_an_older_database_left_behind_does_not_come_back() {
        for creation in [Creation::Synced, Creation::Unsynced] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.db");
            let old = open_database(&path, &[FIRST], Creation::Unsynced).unwrap();
            old.execute("INSERT INTO a VALUES (7)", []).unwrap();
            drop(old);
            assert!(dir.path().join("x.db-wal").metadata().unwrap().len() > 0);
            crate::remove_file(&path).unwrap();
            let connection = open_database(&path, &[FIRST], creation).unwrap();
            let rows: i64 = connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap();
            let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!((rows, sound.as_str()), (0, "ok"));
        }
    }

    #[test]
    fn what_a_database_is_filled_with_is_there_without_its_log() {
        for leftover in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.db");
            let fill = |connection: &Connection| connection.execute("INSERT INTO a VALUES (7)", []).map(drop);
            if leftover {
                let old = open_database(&path, &[FIRST], Creation::Unsynced).unwrap();
                old.execute("INSERT INTO a VALUES (1), (2)", []).unwrap();
                drop(old);
                crate::remove_file(&path).unwrap();
            }
            for synced in [true, false] {
                let connection = open_database(&path, &[FIRST], Creation::Filled { fill: &fill, synced }).unwrap();
                connection.execute("INSERT INTO a VALUES (8)", []).unwrap();
            }
            for name in ["x.db-wal", "x.db-shm"] {
                crate::remove_file(&dir.path().join(name)).unwrap();
            }
            let connection = open_database(&path, &[FIRST], Creation::Filled { fill: &fill, synced: false }).unwrap();
            let rows: (i64, i64) = connection
                .query_row("SELECT count(*), sum(x) FROM a", [], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            assert_eq!(rows, (1, 7), "{leftover}");
        }
    }

    #[test]
    fn what_is_made_is_whole_before_anybody_opens_it_and_opened_by_whom_it_was_made_for() {
        let dir = tempfile::tempdir().unwrap();
        for value in [7, 8] {
            let path = dir.path().join(format!("{value}.db"));
            let fill = |connection: &Connection| connection.execute("INSERT INTO a VALUES (?1)", [value]).map(drop);
            assert!(make_database(&path, &[FIRST], &fill).unwrap());
            assert!(is_as_made(&path));
            assert!(!make_database(&path, &[FIRST], &fill).unwrap(), "it is there");
            let rows = |connection: &Connection| -> (i64, i64, String) {
                let sql = "SELECT count(*), sum(x), (SELECT integrity_check FROM pragma_integrity_check) FROM a";
                connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
            };
            let other = open_database(&path, &[FIRST], Creation::Unsynced).unwrap();
            assert_eq!(rows(&other), (1, value, "ok".to_owned()), "nothing of the one before");
            assert!(is_as_made(&path), "it was only read");
            other.execute("INSERT INTO a VALUES (1)", []).unwrap();
            assert!(!is_as_made(&path));
            assert_eq!(rows(&open_made(&path, &[FIRST]).unwrap()), (2, value + 1, "ok".to_owned()));
        }
    }

    #[test]
    fn what_was_made_and_removed_is_not_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        assert!(make_database(&path, &[FIRST], &|_| Ok(())).unwrap());
        crate::remove_file(&path).unwrap();
        let error = open_made(&path, &[FIRST]).unwrap_err();
        assert!(error.to_string().contains("x.db"), "{error}");
        assert!(!path.exists());
        assert!(!make_database(&path, &[FIRST], &|_| Ok(())).unwrap(), "something of it is there");
    }

    #[test]
    fn what_cannot_be_filled_leaves_nothing_behind_and_the_next_one_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let half = |connection: &Connection| connection.execute_batch("INSERT INTO a VALUES (1); nonsense");
        assert!(make_database(&path, &[FIRST], &half).is_err());
        assert!(!path.exists());
        assert!(make_database(&path, &[FIRST], &|_| Ok(())).unwrap());
        let connection = open_made(&path, &[FIRST]).unwrap();
        let rows: i64 = connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0);
    }

    #[test]
    fn a_checkpoint_waits_for_the_last_one_unless_the_log_is_long() {
        let ms = Duration::from_millis;
        for (pages, since, due) in [
            (999, None, false),
            (1_000, None, true),
            (1_000, Some(ms(499)), false),
            (7_999, Some(ms(499)), false),
            (1_000, Some(ms(500)), true),
            (8_000, Some(ms(0)), true),
        ] {
            assert_eq!(is_checkpoint_due(pages, since), due, "{pages} {since:?}");
        }
    }

    #[test]
    fn a_long_log_goes_into_the_database() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let connection = open_database(&path, &["CREATE TABLE a (x BLOB) STRICT;"], Creation::Unsynced).unwrap();
        let put = |bytes: u32| connection.execute("INSERT INTO a VALUES (zeroblob(?1))", [bytes]).unwrap();
        put(1 << 20);
        assert!(path.metadata().unwrap().len() < 1 << 20, "it is in the log");
        put(4 << 20);
        assert!(path.metadata().unwrap().len() > 5 << 20, "it is in the database");
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
