//! The project that a client works in: the folder, the client's own or above it, that has `.orchestration/`.
//!
//! Invariant: looking for it and reading it changes nothing; what cannot be read lets nothing be changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rote_govern::intent::{
    Client, Ignore, Intent, IntentRefusal, IntentStatus, Intents, IntentsError, MAX_IGNORE_BYTES, MAX_INTENTS_BYTES,
    Mandate, Order,
};
use rote_home::read_capped;

/// The folder of a project's orchestration, as Roo Code's governance hooks name it.
const FOLDER: &str = ".orchestration";
/// The file of its intents.
const FILE: &str = "active_intents.yaml";
/// The file beside it that says which files no intent changes.
const IGNORE: &str = ".intentignore";

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    /// Its file of intents, which need not be there.
    file: PathBuf,
}

impl Project {
    /// The project of a directory: that of the nearest one, from it up, that has the folder.
    pub(crate) fn of(directory: &Path) -> Option<Self> {
        let folder = directory.ancestors().map(|one| one.join(FOLDER)).find(|folder| folder.is_dir())?;
        // The same by whichever link one comes to it.
        Some(Self { file: folder.canonicalize().unwrap_or(folder).join(FILE) })
    }

    /// The project with this file of intents.
    pub(crate) fn with_file(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The path of its file, as messages have it.
    pub(crate) fn path(&self) -> String {
        self.file.display().to_string()
    }

    /// Reads its intents.
    pub(crate) fn intents(&self) -> Result<Intents, IntentsError> {
        let unreadable = |problem: String| IntentsError { path: self.path(), line: None, problem };
        match self.file.metadata() {
            // A pipe would be waited for.
            Ok(found) if !found.is_file() => Err(unreadable("it is not a plain file".to_owned())),
            Err(error) => Err(unreadable(format!("it cannot be read: {error}"))),
            Ok(_) => {
                let bytes =
                    read_capped(&self.file, MAX_INTENTS_BYTES).map_err(|error| unreadable(error.to_string()))?;
                Intents::parse(&bytes, &self.path())
            }
        }
    }

    /// Reads which files no intent changes; all may be changed where no file says so.
    fn ignore(&self) -> Result<Ignore, IntentsError> {
        let file = self.file.with_file_name(IGNORE);
        let path = file.display().to_string();
        let unreadable = |problem: String| IntentsError { path: path.clone(), line: None, problem };
        match file.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Ignore::default()),
            Err(error) => Err(unreadable(format!("it cannot be read: {error}"))),
            Ok(_) if !file.is_file() => Err(unreadable("it is not a plain file".to_owned())),
            Ok(_) => {
                let bytes = read_capped(&file, MAX_IGNORE_BYTES).map_err(|error| unreadable(error.to_string()))?;
                Ignore::parse(&bytes, &path)
            }
        }
    }

    /// What a write is made for now, when this intent was selected, by a client that this model drives.
    pub(crate) fn mandate(&self, selected: Option<&str>, model: Option<&str>) -> Mandate {
        let path = self.path();
        let client = Arc::new(Client { file: path.clone(), model: model.map(str::to_owned) });
        let order = self.intents().map_err(IntentRefusal::Unreadable).and_then(|intents| {
            let id = selected.ok_or_else(|| IntentRefusal::Required { path: path.clone() })?;
            let intent = intents.get(id)?.active(&path)?.clone();
            let is_other = |one: &&Intent| one.status == IntentStatus::InProgress && one.id != intent.id;
            let others = intents.all().iter().filter(is_other).cloned().collect();
            let ignore = self.ignore().map_err(IntentRefusal::Unreadable)?;
            Ok(Order { intent, client: Arc::clone(&client), others, ignore })
        });
        match order {
            Ok(order) => Mandate::Of(Arc::new(order)),
            Err(refusal) => Mandate::Refused(Box::new(refusal), client),
        }
    }
}
