//! One workspace on disk: `workspace.db`, `responses/`, `artifacts/`.
//!
//! Every write is one `BEGIN IMMEDIATE` transaction, so several processes can work in one workspace; waiting for
//! each other is SQLite's busy timeout, set by `rote-home`.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::Timestamp;
use rote_home::{Creation, Folder, Home, is_as_made, make_database, open_database, open_made, write_to};
use rote_types::{AdapterId, FlowName, ResponseId, WorkspaceIdentity, WorkspaceName};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::filing::Filing;
use crate::write::Writing;
use crate::{CommandId, Result, WorkspaceError, response_file};

/// The schema, one entry per version.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("settled.sql"),
    include_str!("keys.sql"),
    include_str!("doubts.sql"),
    include_str!("small.sql"),
    include_str!("unfiled.sql"),
    include_str!("seen.sql"),
];

/// An open workspace. `Send + Sync`; one connection behind a lock, other processes are welcome.
#[derive(Debug)]
pub struct Workspace {
    identity: WorkspaceIdentity,
    folder: PathBuf,
    pub(crate) home: Home,
    /// Of a workspace that was made here it is opened when it is first needed: a run without calls never does.
    connection: OnceLock<Mutex<Connection>>,
    pub(crate) responses: OnceLock<Folder>,
    /// What is to be written, for whoever writes next.
    pub(crate) writing: Writing,
    pub(crate) filing: Filing,
    /// What was begun here and has no outcome yet, so that recording it need not ask.
    begun: Mutex<HashMap<ResponseId, Begun>>,
}

/// What the rows of a number say that was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) command: CommandId,
    pub(crate) adapter: AdapterId,
    pub(crate) tool: String,
    pub(crate) flow: Option<FlowName>,
    pub(crate) writes: bool,
}

impl Workspace {
    /// Opens workspace `name`, made first when it does not exist; a power cut may take it then with all that is in it.
    ///
    /// # Errors
    /// There is no room for another one ([`Home::check_room`]), or a folder or the database refused.
    pub fn create(home: &Home, name: &WorkspaceName, now: Timestamp) -> Result<Self> {
        Self::made(home, name, now, false)
    }

    /// As [`Workspace::create`]; no power cut takes it. Costs a sync, once.
    ///
    /// # Errors
    /// Those of [`Workspace::create`].
    pub fn create_synced(home: &Home, name: &WorkspaceName, now: Timestamp) -> Result<Self> {
        Self::made(home, name, now, true)
    }

    fn made(home: &Home, name: &WorkspaceName, now: Timestamp, synced: bool) -> Result<Self> {
        let file = database_file(&home.workspace_dir(name));
        if !file.is_file() {
            home.check_room(now)?;
        }
        let id = Cell::new(None);
        // One that is there keeps what it is: its events have the same id, or none from before there were ids.
        let fill = |connection: &Connection| {
            let sql = "INSERT INTO meta (key, value) \
                       VALUES ('id', lower(hex(randomblob(16)))), ('created_at', ?1), ('name', ?2)";
            connection.prepare_cached(sql)?.execute([now.to_string(), name.to_string()])?;
            id.set(id_in(connection)?);
            Ok(())
        };
        if !synced && make_database(&file, MIGRATIONS, &fill)? {
            return Ok(Self::of(home, name, (id.take(), OnceLock::new())));
        }
        Self::at(home, name, Creation::Filled { fill: &fill, synced })?.identified()
    }

    /// Returns when it was made; none where it does not know.
    ///
    /// # Errors
    /// The database refused.
    pub fn created_at(&self) -> Result<Option<Timestamp>> {
        Ok(self.meta("created_at")?.and_then(|text| text.parse().ok()))
    }

    /// Returns the name under which it was made, which its folder need not have any more; none where it does not know.
    ///
    /// # Errors
    /// The database refused.
    pub fn made_as(&self) -> Result<Option<WorkspaceName>> {
        Ok(self.meta("name")?.and_then(|name| name.parse().ok()))
    }

    /// Whether the folder still has the name under which it was made; false for one that does not know it.
    ///
    /// # Errors
    /// The database refused.
    pub fn is_where_it_was_made(&self) -> Result<bool> {
        Ok(self.made_as()?.as_ref() == Some(self.name()))
    }

    fn meta(&self, key: &str) -> Result<Option<String>> {
        self.with("read what it is", |connection| {
            let sql = "SELECT value FROM meta WHERE key = ?1";
            connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()
        })
    }

    /// Reads the id, and makes what a killed process left to make.
    fn identified(mut self) -> Result<Self> {
        let sql = "SELECT (SELECT value FROM meta WHERE key = 'id'), EXISTS (SELECT 1 FROM unfiled)";
        let (id, is_left) = self.with("read what it is", |connection| {
            connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        })?;
        self.identity.id = id;
        if is_left {
            self.file_all();
        }
        Ok(self)
    }

    /// Opens an existing workspace.
    ///
    /// # Errors
    /// [`crate::WorkspaceError::NoWorkspace`], or the database refused.
    pub fn open(home: &Home, name: &WorkspaceName) -> Result<Self> {
        if database_file(&home.workspace_dir(name)).is_file() {
            Self::at(home, name, Creation::Unsynced)?.identified()
        } else {
            Err(WorkspaceError::NoWorkspace { name: name.clone(), lost: home.workspace_dir(name).is_dir() })
        }
    }

    fn at(home: &Home, name: &WorkspaceName, creation: Creation<'_>) -> Result<Self> {
        let folder = home.workspace_dir(name);
        let connection = open_database(&database_file(&folder), MIGRATIONS, creation)?;
        Ok(Self::of(home, name, (None, OnceLock::from(Mutex::new(connection)))))
    }

    fn of(home: &Home, name: &WorkspaceName, (id, connection): (Option<String>, OnceLock<Mutex<Connection>>)) -> Self {
        let identity = WorkspaceIdentity { name: name.clone(), id };
        let (folder, home) = (home.workspace_dir(name), home.clone());
        let (responses, begun) = (OnceLock::new(), Mutex::default());
        let (writing, filing) = (Writing::default(), Filing::default());
        Self { identity, folder, home, connection, responses, writing, filing, begun }
    }

    /// Whether nobody has written to it since it was made here: it has no number and no command then.
    pub(crate) fn is_as_made(&self) -> bool {
        self.connection.get().is_none() && is_as_made(&database_file(&self.folder))
    }

    /// Says whether the disk has room for what comes next.
    ///
    /// # Errors
    /// [`rote_home::HomeError::DiskFull`] when it has not.
    pub fn check_disk(&self) -> Result<()> {
        Ok(self.home.check_disk()?)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &WorkspaceName {
        &self.identity.name
    }

    /// Returns how the journal knows it.
    #[must_use]
    pub fn identity(&self) -> &WorkspaceIdentity {
        &self.identity
    }

    /// Returns its folder (`…/workspaces/<name>/.rote`).
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file of one response.
    pub(crate) fn response_file(&self, id: ResponseId) -> PathBuf {
        self.responses_dir().join(response_file::name(id))
    }

    pub(crate) fn responses_dir(&self) -> PathBuf {
        self.folder.join("responses")
    }

    /// Returns the folder of binary bodies.
    #[must_use]
    pub fn artifacts_dir(&self) -> PathBuf {
        self.folder.join("artifacts")
    }

    /// Returns the file that whoever makes the run of this workspace keeps locked.
    #[must_use]
    pub fn run_lock_file(&self) -> PathBuf {
        self.folder.join("run.lock")
    }

    pub(crate) fn connection(&self) -> Result<MutexGuard<'_, Connection>> {
        let connection = match self.connection.get() {
            Some(connection) => connection,
            None => {
                let opened = self.opened()?;
                self.connection.get_or_init(|| Mutex::new(opened))
            }
        };
        // A panic elsewhere cannot leave the connection half-used: an open transaction rolls back when dropped.
        Ok(connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens what was made here. One that was removed since is not begun anew, and another one in its place is not this one.
    fn opened(&self) -> Result<Connection> {
        let file = database_file(&self.folder);
        let gone = || WorkspaceError::NoWorkspace { name: self.name().clone(), lost: self.folder.is_dir() };
        if !file.is_file() {
            return Err(gone());
        }
        let connection = open_made(&file, MIGRATIONS)?;
        let id = id_in(&connection).map_err(|source| self.refused("read what it is", source))?;
        if id == self.identity.id { Ok(connection) } else { Err(gone()) }
    }

    /// Runs single statements; `action` names them in an error.
    pub(crate) fn with<T>(
        &self,
        action: &'static str,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let connection = self.connection()?;
        run(&connection).map_err(|source| self.refused(action, source))
    }

    /// Runs statements that must stand or fall together and see no other writer in between.
    pub(crate) fn transact<T>(
        &self,
        action: &'static str,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let connection = self.connection()?;
        write_to(&connection, |source| source, run).map_err(|source| self.refused(action, source))
    }

    /// Keeps what the rows say of numbers that were just begun.
    pub(crate) fn note_begun(&self, numbers: impl Iterator<Item = (ResponseId, Begun)>) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).extend(numbers);
    }

    /// Takes what is kept of a number, once its outcome is to be written.
    pub(crate) fn take_begun(&self, id: ResponseId) -> Option<Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }

    pub(crate) fn refused(&self, action: &'static str, source: rusqlite::Error) -> WorkspaceError {
        WorkspaceError::Database { action, workspace: self.name().clone(), path: database_file(&self.folder), source }
    }

    /// Returns the highest response number given out.
    ///
    /// # Errors
    /// The database refused.
    pub fn highest(&self) -> Result<u64> {
        let sql = "SELECT value FROM counter WHERE name = 'response'";
        let value: Option<i64> = self.with("read the counter", |connection| {
            connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()
        })?;
        Ok(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
    }

    /// Says that `id` does not exist.
    pub(crate) fn no_response(&self, id: ResponseId) -> WorkspaceError {
        match self.highest() {
            Ok(highest) => WorkspaceError::NoResponse { workspace: self.name().clone(), id, highest },
            Err(error) => error,
        }
    }
}

/// The id that a workspace was made with; none of before there were any.
fn id_in(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.prepare_cached("SELECT value FROM meta WHERE key = 'id'")?.query_row([], |row| row.get(0)).optional()
}

pub(crate) fn database_file(folder: &Path) -> PathBuf {
    folder.join("workspace.db")
}

/// Raises a counter by `count` and returns the first of the new numbers.
pub(crate) fn allocate(connection: &Connection, counter: &str, count: u64) -> rusqlite::Result<u64> {
    let sql = "UPDATE counter SET value = value + ?2 WHERE name = ?1";
    connection.prepare_cached(sql)?.execute((counter, to_i64(count)))?;
    // Not by RETURNING, for which SQLite makes a table in memory.
    let sql = "SELECT value FROM counter WHERE name = ?1";
    let last: i64 = connection.prepare_cached(sql)?.query_row([counter], |row| row.get(0))?;
    Ok(from_i64(last).saturating_sub(count).saturating_add(1))
}

/// Returns a number as SQLite has it. Nothing here comes near 2^63.
pub(crate) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a stored number; a negative one was not written by this crate and reads as 0.
pub(crate) fn from_i64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Writes a unit-like enum as the word that serde gives it.
pub(crate) fn word<T: Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Reads a word back, or says which column is damaged.
pub(crate) fn from_word<T: DeserializeOwned>(column: usize, word: String) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::String(word)).map_err(|error| damaged(column, error))
}

/// Reads a timestamp column.
pub(crate) fn from_time(column: usize, text: &str) -> rusqlite::Result<Timestamp> {
    text.parse().map_err(|error: jiff::Error| damaged(column, error))
}

/// Reads a JSON column.
pub(crate) fn from_json(column: usize, text: &str) -> rusqlite::Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| damaged(column, error))
}

fn damaged(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
