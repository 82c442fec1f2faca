//! Listing workspaces and cleaning them up; only ever below the workspaces folder.

use std::time::Duration;

use jiff::Timestamp;
use rote_home::{Home, HomeError, LockGuard, discard_dir, lock, sweep_staging, write_to};
use rote_types::{ResponseId, WorkspaceName};
use rusqlite::Connection;
use serde::Serialize;

use crate::store::{database_file, from_i64, from_time};
use crate::{ResponseState, Result, Workspace, WorkspaceError};

/// A workspace in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceSummary {
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

/// All workspaces of a home.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WorkspaceList {
    /// Those that can be read, by name.
    pub workspaces: Vec<WorkspaceSummary>,
    /// The others, by name.
    pub unreadable: Vec<WorkspaceProblem>,
}

/// A workspace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceProblem {
    pub name: WorkspaceName,
    /// What is wrong.
    pub problem: String,
}

/// What a cleaning did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Cleaning {
    /// The removed ones, by name; with a dry run those that would be.
    #[serde(rename = "workspaces")]
    pub removed: Vec<WorkspaceName>,
    /// Those that were selected and are still there.
    pub kept: Vec<Kept>,
    /// Those of which nobody knows what is in them; they are still there.
    pub unreadable: Vec<WorkspaceProblem>,
}

/// A workspace that was selected and is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub name: WorkspaceName,
    /// Why.
    pub because: KeptFor,
}

/// Why a workspace is not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptFor {
    /// A write in it is in doubt.
    InDoubt,
    /// Its run, or a call in it, is going on.
    GoingOn,
    /// Its run stopped after it wrote and can be resumed.
    Stopped,
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

    /// What it is still needed for: a write is in doubt, or another process is in the middle of a call or of its run.
    fn needed_for(&self) -> Result<Option<KeptFor>> {
        match self.needed_by_calls()? {
            None if matches!(self.run_lock()?, RunLock::Elsewhere) => Ok(Some(KeptFor::GoingOn)),
            needed => Ok(needed),
        }
    }

    fn needed_by_calls(&self) -> Result<Option<KeptFor>> {
        let states = self.open_states()?;
        let has = |state: &ResponseState| states.contains(state);
        let in_doubt = has(&ResponseState::InDoubt).then_some(KeptFor::InDoubt);
        Ok(in_doubt.or(has(&ResponseState::Pending).then_some(KeptFor::GoingOn)))
    }

    /// Returns the states of the numbers without a recorded outcome.
    fn open_states(&self) -> Result<Vec<ResponseState>> {
        let ids = self.with("find open responses", open_numbers)?;
        ids.into_iter().map(|id| Ok(self.summary(ResponseId(from_i64(id)))?.state)).collect()
    }

    /// Removes it, unless its run goes on or a call has begun since it was seen that none is under way; returns why it is
    /// still there. A call of another process that begins while this one removes waits for the database, finds that it
    /// gives out no numbers any more, and sends nothing.
    fn remove(&self) -> Result<Option<KeptFor>> {
        let _run = match self.run_lock()? {
            RunLock::Elsewhere => return Ok(Some(KeptFor::GoingOn)),
            held => held,
        };
        let folder = self.home.workspaces_dir().join(self.name().as_str());
        self.home.contained(&folder)?;
        // Before the look at what is needed: what begins behind this line is seen to be new.
        let open = self.with("find open responses", open_numbers)?;
        if let Some(needed) = self.needed_by_calls()? {
            return Ok(Some(needed));
        }
        let refused = |source| self.refused("remove the workspace", source);
        let connection = self.connection()?;
        write_to(&connection, refused, |connection| {
            if open_numbers(connection).map_err(refused)? != open {
                return Ok(Some(KeptFor::GoingOn));
            }
            connection.execute_batch("DROP TABLE counter").map_err(refused)?;
            // What cannot be removed keeps its table: the transaction is taken back.
            discard_dir(&folder)?;
            Ok(None)
        })
    }

    /// Takes the run of the workspace, where it has one, so that nobody goes on with it.
    fn run_lock(&self) -> Result<RunLock> {
        let file = self.run_lock_file();
        if !file.exists() {
            return Ok(RunLock::NoRun);
        }
        match lock(&file, Duration::ZERO) {
            Ok(guard) => Ok(RunLock::Held(guard)),
            Err(HomeError::Busy { .. }) => Ok(RunLock::Elsewhere),
            Err(error) => Err(error.into()),
        }
    }
}

/// Who makes the run of a workspace.
enum RunLock {
    /// It has none.
    NoRun,
    /// Nobody, as long as this is held.
    Held(#[expect(dead_code, reason = "held until it is dropped")] LockGuard),
    /// Another process.
    Elsewhere,
}

fn open_numbers(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT id FROM responses WHERE state = 'pending' ORDER BY id";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Returns all workspaces below `home` by name. One that cannot be read hides no other.
///
/// # Errors
/// The folder refused.
pub fn list_workspaces(home: &Home) -> Result<WorkspaceList> {
    let mut list = WorkspaceList::default();
    for name in workspace_names(home)? {
        match Workspace::open(home, &name).and_then(|workspace| workspace.overall()) {
            Ok(summary) => list.workspaces.push(summary),
            // Removed since its name was read.
            Err(WorkspaceError::NoWorkspace { .. }) => {}
            Err(error) => list.unreadable.push(WorkspaceProblem { name, problem: rote_types::with_causes(&error) }),
        }
    }
    Ok(list)
}

/// Removes the workspaces that `filter` selects; with `dry_run` only names them. One in which a call is under way stays,
/// and so does one whose run is under way, and one with a write in doubt, until a person has settled it. `look` is asked
/// about each before it is removed: it completes what the workspace knows, and may say why it is kept.
///
/// # Errors
/// `BadFilter` when nothing is asked for, or the folder of all workspaces refused.
pub fn clean_workspaces(
    home: &Home,
    filter: &CleanFilter,
    now: Timestamp,
    dry_run: bool,
    look: impl Fn(&Workspace) -> std::result::Result<Option<KeptFor>, String>,
) -> Result<Cleaning> {
    if !filter.all && !filter.empty && filter.older_than.is_none() && filter.pattern.is_none() {
        let message = "say which workspaces to remove: --older-than, --empty, --pattern or --all".to_owned();
        return Err(WorkspaceError::BadFilter { message });
    }
    let mut cleaning = Cleaning::default();
    for name in workspace_names(home)? {
        match clean(home, &name, |summary| selects(filter, summary, now), dry_run, &look) {
            Ok(Cleaned::NotSelected) => {}
            Ok(Cleaned::Removed) => cleaning.removed.push(name),
            Ok(Cleaned::Kept(because)) => cleaning.kept.push(Kept { name, because }),
            Err(problem) => cleaning.unreadable.push(WorkspaceProblem { name, problem }),
        }
    }
    if !dry_run && home.workspaces_dir().is_dir() {
        // What an earlier removal left when it was killed.
        sweep_staging(&home.workspaces_dir())?;
    }
    Ok(cleaning)
}

/// What came of one workspace.
enum Cleaned {
    NotSelected,
    Removed,
    Kept(KeptFor),
}

fn clean(
    home: &Home,
    name: &WorkspaceName,
    selects: impl Fn(&WorkspaceSummary) -> bool,
    dry_run: bool,
    look: impl Fn(&Workspace) -> std::result::Result<Option<KeptFor>, String>,
) -> std::result::Result<Cleaned, String> {
    let said = |error: WorkspaceError| rote_types::with_causes(&error);
    let workspace = match Workspace::open(home, name) {
        // Removed since its name was read.
        Err(WorkspaceError::NoWorkspace { .. }) => return Ok(Cleaned::NotSelected),
        opened => opened.map_err(said)?,
    };
    if !selects(&workspace.overall().map_err(said)?) {
        return Ok(Cleaned::NotSelected);
    }
    let spared = look(&workspace)?;
    let kept = match workspace.needed_for().map_err(said)?.or(spared) {
        None if !dry_run => workspace.remove().map_err(said)?,
        kept => kept,
    };
    Ok(kept.map_or(Cleaned::Removed, Cleaned::Kept))
}

/// Returns the names of the folders that hold a workspace, sorted; links are not followed.
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
