//! Workspaces: which one is meant, and the commands about workspaces as wholes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rote_home::{Durability, FileMode, Journal, NewEvent, read_capped, write_atomic};
use rote_types::{ErrorKind, IdError, ResponseId, WorkspaceName, event};
use rote_workspace::{
    CleanFilter, Cleaning, KeptFor, ResponseSummary, Tokenizer, Workspace, WorkspaceList, WorkspaceStats,
    clean_workspaces, list_workspaces,
};
use serde::Serialize;
use serde_json::json;

use crate::{AppError, Session};

/// A file of this name holds the name of the workspace for its directory and everything below.
const MARKER: &str = ".rote-workspace";
/// The workspace that a call makes when there is none.
const DEFAULT: &str = "default";
/// The word for the workspace that was used last, be it that of a run.
const LATEST: &str = "latest";
/// Most workspaces that one event names.
const MAX_REMOVED_NAMED: usize = 100;
/// Most bytes of a file that holds a workspace's name.
const MAX_NAME_FILE: u64 = 256;

/// How it was decided which workspace is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceOrigin {
    /// By `-w` or `ROTE_WORKSPACE`.
    Asked,
    /// `-w latest`: none was used after it.
    Latest,
    /// The current directory belongs to it.
    Directory,
    /// It is the one of the last `rote init`.
    LastInit,
    /// It was made for this call.
    Created,
}

/// The workspace in use.
#[derive(Debug, Clone, Serialize)]
pub struct Where {
    pub name: WorkspaceName,
    /// Its folder.
    pub path: PathBuf,
    /// How it was found.
    pub origin: WorkspaceOrigin,
}

/// What `rote init` did.
#[derive(Debug, Clone, Serialize)]
pub struct Initialised {
    pub name: WorkspaceName,
    /// Its folder.
    pub path: PathBuf,
    /// It was not there before.
    pub created: bool,
    /// The file that makes it the one in use in its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<PathBuf>,
}

/// What is in a workspace.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    /// The workspace in use.
    pub workspace: Where,
    /// Its responses, oldest first.
    pub responses: Vec<ResponseSummary>,
    /// Figures over all of it.
    pub stats: WorkspaceStats,
    /// Why tokens of some responses are not counted yet, when they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
}

/// What `rote clean` removed.
#[derive(Debug, Clone, Serialize)]
pub struct Cleaned {
    /// What was removed and what was kept.
    #[serde(flatten)]
    pub cleaning: Cleaning,
    /// Nothing was removed.
    pub dry_run: bool,
}

impl Session {
    /// Makes a workspace, or finds it, and makes it the one in use: in the client's directory and below where `here` says
    /// so, else wherever nothing else says which.
    ///
    /// # Errors
    /// Usage for a bad name; General when it cannot be written.
    pub fn init(&self, text: &str, here: bool) -> Result<Initialised, AppError> {
        let name: WorkspaceName = text.parse()?;
        let created = !self.host.home()?.workspace_dir(&name).exists();
        if created && name.as_str() == LATEST {
            let message = format!("`{LATEST}` is the word for the workspace that was used last");
            return Err(AppError::new(ErrorKind::Usage, message).with_hint("rote init NAME"));
        }
        let workspace = Workspace::create_synced(self.host.home()?, &name, self.host.now())?;
        let file = if here { self.absolute(Path::new(MARKER)) } else { self.host.home()?.last_workspace_file() };
        write_atomic(&file, format!("{name}\n").as_bytes(), FileMode::Private)?;
        Ok(Initialised { path: workspace.folder().to_owned(), name, created, marker: here.then_some(file) })
    }

    /// Returns which workspace is in use.
    ///
    /// # Errors
    /// `NotFound` when none is, or when the one asked for does not exist.
    pub fn locate(&self) -> Result<Where, AppError> {
        // To ask where something is makes nothing.
        if !self.host.has_home() {
            return Err(no_workspace());
        }
        let (name, origin) = self.resolve()?.ok_or_else(no_workspace)?;
        let workspace = Workspace::open(self.host.home()?, &name)?;
        Ok(Where { path: workspace.folder().to_owned(), name, origin })
    }

    /// Returns the name of the workspace in use, be it there or not.
    ///
    /// # Errors
    /// `NotFound` when none is.
    pub fn named(&self) -> Result<WorkspaceName, AppError> {
        Ok(self.resolve()?.ok_or_else(no_workspace)?.0)
    }

    /// Returns all workspaces; one that cannot be read hides no other.
    ///
    /// # Errors
    /// General when the home cannot be read.
    pub fn workspaces(&self) -> Result<WorkspaceList, AppError> {
        Ok(list_workspaces(self.host.home()?)?)
    }

    /// Returns the responses of the workspace in use.
    ///
    /// # Errors
    /// As for [`Session::locate`].
    pub fn ls(&self) -> Result<Listing, AppError> {
        let workspace = self.workspace()?;
        // Counts are made when somebody wants to see them: the vocabulary is too slow to load for a call.
        // A full disk or a damaged file must not hide the list; what is not counted now is counted later.
        let uncounted = workspace.count_tokens(Tokenizer).err().map(|error| error.to_string());
        let stats = workspace.stats()?;
        Ok(Listing { workspace: self.locate()?, responses: workspace.ls()?, stats, uncounted })
    }

    /// Removes responses, all of them when none are named; numbers go on counting.
    ///
    /// # Errors
    /// `NotFound` when a number was never given.
    pub fn clear(&self, ids: &[ResponseId]) -> Result<u64, AppError> {
        Ok(self.workspace()?.clear(ids, self.host.now())?)
    }

    /// Removes whole workspaces, and writes down which. A run that stopped after it wrote is removed only where all, or
    /// its name, was asked for: without it somebody would begin anew and write twice.
    ///
    /// # Errors
    /// Usage when no filter is given; General when the journal refused, then what was removed is named.
    pub fn clean(&self, filter: &CleanFilter, dry_run: bool) -> Result<Cleaned, AppError> {
        let (home, journal) = (self.host.home()?, self.host.journal()?);
        let spares = !filter.all && filter.pattern.is_none();
        let look = |workspace: &Workspace| -> Result<Option<KeptFor>, AppError> {
            rote_gate::recover(&journal, workspace)?;
            // What is not ended now is in doubt and kept.
            rote_gate::sift(&journal, workspace).ok();
            let stopped = spares && rote_flow::stopped_after_writing(home, workspace)?;
            Ok(stopped.then_some(KeptFor::Stopped))
        };
        let look = |workspace: &Workspace| look(workspace).map_err(|error| error.in_a_line());
        let cleaning = clean_workspaces(home, filter, self.host.now(), dry_run, look)?;
        if !dry_run && !cleaning.removed.is_empty() {
            self.tell_removed(&journal, &cleaning.removed)?;
        }
        Ok(Cleaned { cleaning, dry_run })
    }

    /// Writes down which workspaces are gone; afterwards, since on a full disk there is room only then.
    fn tell_removed(&self, journal: &Journal, removed: &[WorkspaceName]) -> Result<(), AppError> {
        let named = removed.get(..MAX_REMOVED_NAMED).unwrap_or(removed);
        let body = json!({ "total": removed.len(), "workspaces": named, "by": self.user() });
        let event = NewEvent { kind: event::WORKSPACE_REMOVED, effect: None, body };
        match journal.append(self.host.now(), Durability::Disk, &[event]) {
            Ok(_) => Ok(()),
            Err(error) => {
                let names: Vec<&str> = named.iter().map(WorkspaceName::as_str).collect();
                let gone = format!("{} removed all the same: {}", removed.len(), names.join(", "));
                Err(AppError::from(error).with_cause(gone))
            }
        }
    }

    /// Opens the workspace in use.
    pub(crate) fn workspace(&self) -> Result<Arc<Workspace>, AppError> {
        self.open_workspace.get(|| {
            let (name, _) = self.resolve()?.ok_or_else(no_workspace)?;
            self.open_sifted(&name)
        })
    }

    /// Opens a workspace. Writes that a killed process never began have failed from then on; where the journal cannot be
    /// asked they stay in doubt, and the workspace can be read all the same.
    pub(crate) fn open_sifted(&self, name: &WorkspaceName) -> Result<Workspace, AppError> {
        let workspace = Workspace::open(self.host.home()?, name)?;
        if !workspace.doubts(1)?.is_empty()
            && let Ok(journal) = self.host.journal()
        {
            // What is not ended now is in doubt, which is true of it as far as anybody can tell.
            rote_gate::sift(&journal, &workspace).ok();
        }
        Ok(workspace)
    }

    /// Opens the workspace in use, if one is.
    pub(crate) fn workspace_if_any(&self) -> Result<Option<Arc<Workspace>>, AppError> {
        if self.resolve()?.is_some() { self.workspace().map(Some) } else { Ok(None) }
    }

    /// Opens the workspace in use, to make calls in it; when none is, makes the default one and says so.
    pub(crate) fn workspace_or_default(&self) -> Result<(Arc<Workspace>, Option<WorkspaceName>), AppError> {
        let made = match self.resolve()? {
            Some(_) => None,
            None => Some(self.init(DEFAULT, false)?.name),
        };
        let workspace = self.workspace()?;
        // Once: what is lost while it is open is seen when the number is begun (`refuse_begun`).
        if !self.recovered.load(Ordering::Acquire) {
            rote_gate::recover(&*self.host.journal()?, &workspace)?;
            self.recovered.store(true, Ordering::Release);
        }
        Ok((workspace, made))
    }

    /// Finds out which workspace is meant, in the order flag or variable, directory, last init.
    pub(crate) fn resolve(&self) -> Result<Option<(WorkspaceName, WorkspaceOrigin)>, AppError> {
        if let Some(asked) = &self.config.workspace {
            let name = asked.parse()?;
            if asked == LATEST && !self.host.home()?.workspace_dir(&name).exists() {
                let latest = self.latest.get(|| self.used_last())?;
                return Ok(Some((WorkspaceName::clone(&latest), WorkspaceOrigin::Latest)));
            }
            return Ok(Some((name, WorkspaceOrigin::Asked)));
        }
        if let Some(found) = self.workspace_of_directory()? {
            return Ok(Some((found, WorkspaceOrigin::Directory)));
        }
        let last = read_name(&self.host.home()?.last_workspace_file())?;
        // The file may name a workspace that has been cleaned away since.
        let last = last.filter(|name| self.host.home().is_ok_and(|home| home.workspace_dir(name).exists()));
        Ok(last.map(|name| (name, WorkspaceOrigin::LastInit)))
    }

    /// The workspace that was used last; one whose run is going on counts.
    fn used_last(&self) -> Result<WorkspaceName, AppError> {
        let all = list_workspaces(self.host.home()?)?.workspaces;
        let latest = all.into_iter().max_by_key(|one| (one.last_used_at, one.created_at));
        latest.map(|one| one.name).ok_or_else(no_workspace)
    }

    fn workspace_of_directory(&self) -> Result<Option<WorkspaceName>, AppError> {
        let Some(directory) = &self.config.directory else {
            return Ok(None);
        };
        let workspaces = self.host.home()?.workspaces_dir();
        for ancestor in directory.ancestors() {
            if ancestor.parent() == Some(workspaces.as_path())
                && let Some(text) = ancestor.file_name().and_then(|name| name.to_str())
            {
                return Ok(Some(text.parse()?));
            }
            if let Some(name) = read_name(&ancestor.join(MARKER))? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Reads a file with a workspace's name in it; a file that is not there names none.
fn read_name(path: &Path) -> Result<Option<WorkspaceName>, AppError> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read_capped(path, MAX_NAME_FILE)?;
    let text = String::from_utf8_lossy(&bytes);
    let named: Result<WorkspaceName, IdError> = text.trim().parse();
    named.map(Some).map_err(|error| AppError::from(error).with_cause(format!("it stands in `{}`", path.display())))
}

fn no_workspace() -> AppError {
    AppError::new(ErrorKind::NotFound, "no workspace is in use").with_hint("rote init NAME")
}
