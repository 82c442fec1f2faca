//! Listing workspaces and cleaning them up; only ever below the workspaces folder.

use std::time::Duration;

use jiff::Timestamp;
use rote_home::{Home, HomeError, LockGuard, discard_dir, lock, sweep_staging};
use rote_types::{ResponseId, WorkspaceName};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde::Serialize;

use crate::store::{database_file, from_i64, from_time};
use crate::{ResponseState, Result, Workspace, WorkspaceError};

/// A workspace in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceSummary {
    /// Its name.
    pub name: WorkspaceName,
    /// Response numbers allocated.
    pub responses: u64,
    /// Commands in its log.
    pub commands: u64,
    /// Numbers without an outcome whose process is gone.
    pub unfinished: u64,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When its last command was logged.
    pub last_used_at: Option<Timestamp>,
    /// `active`, `empty` or `needs attention`.
    pub state: String,
}

/// Which workspaces to remove; all given conditions must hold. At least one must be given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanFilter {
    /// Not used for at least so long.
    pub older_than: Option<Duration>,
    /// Without a command.
    pub empty: bool,
    /// Name pattern with `*` and `?`.
    pub pattern: Option<String>,
    /// Every workspace.
    pub all: bool,
}

impl Workspace {
    /// Returns what a listing shows of this workspace.
    ///
    /// # Errors
    /// The database refused.
    pub fn overall(&self) -> Result<WorkspaceSummary> {
        let sql = "SELECT (SELECT value FROM counter WHERE name = 'response'), (SELECT count(*) FROM commands), \
                   (SELECT value FROM meta WHERE key = 'created_at'), (SELECT max(timestamp) FROM commands)";
        let time = |column, text: Option<String>| text.map(|text| from_time(column, &text)).transpose();
        let (responses, commands, created_at, last) = self.with("read the totals", |connection| {
            connection.query_row(sql, [], |row| {
                let (responses, commands) = (from_i64(row.get(0)?), from_i64(row.get(1)?));
                Ok((responses, commands, time(2, row.get(2)?)?, time(3, row.get(3)?)?))
            })
        })?;
        let unfinished = self.unfinished()?;
        let state = match (unfinished, commands) {
            (1.., _) => "needs attention",
            (0, 0) => "empty",
            (0, _) => "active",
        };
        Ok(WorkspaceSummary {
            name: self.name().clone(),
            responses,
            commands,
            unfinished,
            created_at,
            last_used_at: last.or(created_at),
            state: state.to_owned(),
        })
    }

    /// Counts numbers whose process is gone.
    fn unfinished(&self) -> Result<u64> {
        let states = self.open_states()?;
        let gone = states.iter().filter(|state| matches!(state, ResponseState::Lost | ResponseState::InDoubt)).count();
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }

    /// Whether it is still needed: another process is in the middle of a call here, or a write is in doubt.
    fn is_needed(&self) -> Result<bool> {
        let needed = |state: &ResponseState| matches!(state, ResponseState::Pending | ResponseState::InDoubt);
        Ok(self.open_states()?.iter().any(needed))
    }

    /// Returns the states of the numbers without a recorded outcome.
    fn open_states(&self) -> Result<Vec<ResponseState>> {
        let ids = self.with("find open responses", open_numbers)?;
        ids.into_iter().map(|id| Ok(self.summary(ResponseId(from_i64(id)))?.state)).collect()
    }

    /// Removes it, unless its run goes on or a call has begun since it was seen that none is under way; returns whether
    /// it is gone. A call of another process that begins while this one removes waits for the database, finds that it
    /// gives out no numbers any more, and sends nothing.
    fn remove(&self) -> Result<bool> {
        let Some(_run) = self.lock_run()? else { return Ok(false) };
        let folder = self.home.workspaces_dir().join(self.name().as_str());
        self.home.contained(&folder)?;
        let open = self.with("find open responses", open_numbers)?;
        if self.is_needed()? {
            return Ok(false);
        }
        let refused = |source| self.refused("remove the workspace", source);
        let connection = self.connection();
        let removal = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate).map_err(refused)?;
        if open_numbers(&removal).map_err(refused)? != open {
            return Ok(false);
        }
        removal.execute_batch("DROP TABLE counter").map_err(refused)?;
        // What cannot be removed keeps its table: the transaction is taken back.
        discard_dir(&folder)?;
        removal.commit().map_err(refused)?;
        Ok(true)
    }

    /// Takes the run of the workspace, where it has one, so that nobody goes on with it; `None` when somebody does.
    fn lock_run(&self) -> Result<Option<Option<LockGuard>>> {
        let file = self.run_lock_file();
        if !file.exists() {
            return Ok(Some(None));
        }
        match lock(&file, Duration::ZERO) {
            Ok(guard) => Ok(Some(Some(guard))),
            Err(HomeError::Busy { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn open_numbers(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT id FROM responses WHERE state = 'pending' ORDER BY id";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Returns all workspaces below `home` by name.
///
/// # Errors
/// The folder or a database refused.
pub fn list_workspaces(home: &Home) -> Result<Vec<WorkspaceSummary>> {
    workspace_names(home)?.iter().map(|name| Workspace::open(home, name)?.overall()).collect()
}

/// Removes the workspaces that `filter` selects and returns their names; with `dry_run` only names them. One in
/// which a call is under way stays, and so does one whose run is going on, and one with a write in doubt, until a
/// person has settled it.
///
/// # Errors
/// `BadFilter` when nothing is asked for, or a folder refused.
pub fn clean_workspaces(
    home: &Home,
    filter: &CleanFilter,
    now: Timestamp,
    dry_run: bool,
) -> Result<Vec<WorkspaceName>> {
    if !filter.all && !filter.empty && filter.older_than.is_none() && filter.pattern.is_none() {
        let message = "say which workspaces to remove: --older-than, --empty, --pattern or --all".to_owned();
        return Err(WorkspaceError::BadFilter { message });
    }
    let mut removed = Vec::new();
    for name in workspace_names(home)? {
        let workspace = Workspace::open(home, &name)?;
        if !selects(filter, &workspace.overall()?, now) || workspace.is_needed()? {
            continue;
        }
        if dry_run || workspace.remove()? {
            removed.push(name);
        }
    }
    if !dry_run && home.workspaces_dir().is_dir() {
        // What an earlier removal left when it was killed.
        sweep_staging(&home.workspaces_dir())?;
    }
    Ok(removed)
}

/// Returns the names of the folders that hold a workspace, sorted; links are not followed.
/// Returns the names of all workspaces below `home`, in their order.
///
/// # Errors
/// The folder cannot be read.
pub fn workspace_names(home: &Home) -> Result<Vec<WorkspaceName>> {
    let dir = home.workspaces_dir();
    let failed = |source| WorkspaceError::Io { action: "list", path: dir.clone(), source };
    let entries = match dir.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let name = entry.file_name().to_str().and_then(|name| name.parse::<WorkspaceName>().ok());
        if let Some(name) = name.filter(|name| is_folder && database_file(&home.workspace_dir(name)).is_file()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn selects(filter: &CleanFilter, workspace: &WorkspaceSummary, now: Timestamp) -> bool {
    let old_enough = filter.older_than.is_none_or(|age| {
        let unused = workspace.last_used_at.map(|at| now.duration_since(at));
        unused.is_some_and(|unused| std::time::Duration::try_from(unused).is_ok_and(|unused| unused >= age))
    });
    let empty_enough = !filter.empty || workspace.commands == 0;
    let named = filter.pattern.as_deref().is_none_or(|pattern| matches(pattern, workspace.name.as_str()));
    old_enough && empty_enough && named
}

/// Whether `name` fits a pattern of `*` (any run) and `?` (any one character). Linear: remembers one star only.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let rows = [
            ("*", "", true),
            ("run-*", "run-1", true),
            ("run-*", "my-run-1", false),
            ("*-?", "run-1", true),
            ("a*b*c", "aXbbYc", true),
            ("a*b", "ac", false),
            ("abc", "abc", true),
            ("", "a", false),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
