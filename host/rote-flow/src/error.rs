//! What can go wrong with flows: an error for each kind of work, and one that is any of them.

mod author;
mod bless;
mod crystallize;
mod library;
mod package;
mod pins;
mod replay;
mod run;
mod text;
mod told;

use std::path::Path;

use rote_gate::{GateError, SecretError, UnboundError};
use rote_home::HomeError;
use rote_plan::PlanError;
use rote_runtime::LoadError;
use rote_types::{AdapterId, Classify, ErrorKind};
use rote_workspace::WorkspaceError;

pub(crate) use author::TARGET;
pub use author::{AuthorError, CargoSaid};
pub use bless::BlessError;
pub use crystallize::CrystallizeError;
pub use library::LibraryError;
pub use package::PackageError;
pub use pins::PinError;
pub use replay::{ReplayError, Stale};
pub use run::{Left, ParameterProblem, RunnerError, Stopped};
pub(crate) use told::install;
use told::{MAKE_A_FLOW, Told, classified};

/// A failed operation on flows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// A file that cannot be used as a flow.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A flow that is not there, or is not to be written.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Adapters that are not those that a flow was made for.
    #[error(transparent)]
    Pins(#[from] PinError),
    /// Sources that cannot become a flow, or a flow that cannot become sources or a release.
    #[error(transparent)]
    Author(#[from] AuthorError),
    /// A workspace that cannot become a flow.
    #[error(transparent)]
    Crystallize(#[from] CrystallizeError),
    /// A replay that failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A blessing that does not count, or cannot be given.
    #[error(transparent)]
    Bless(#[from] BlessError),
    /// A run that could not begin, or did not end well.
    #[error(transparent)]
    Run(#[from] RunnerError),
    /// A value of the vault would have been kept in the clear.
    #[error(transparent)]
    Known(#[from] SecretError),
    /// The run would need credentials that nobody bound.
    #[error(transparent)]
    Unbound(#[from] UnboundError),
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The component was refused.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file or the journal failed.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// What a person said of a write could not be written down.
    #[error(transparent)]
    Gate(Box<GateError>),
    /// The workspace failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A query that crystallize needed failed.
    #[error(transparent)]
    Query(#[from] rote_types::QueryError),
    /// An installed adapter cannot be read.
    #[error("cannot read adapter `{adapter}`: {message}")]
    Adapter {
        adapter: AdapterId,
        /// What its own error said.
        message: String,
        kind: ErrorKind,
        hint: Option<String>,
    },
    /// The words of a request are wrong.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
    },
}

classified!(FlowError);

impl FlowError {
    fn told(&self) -> Told {
        match self {
            Self::Load(error) => {
                let told = Told::of(error);
                Told { hint: told.hint.or_else(|| Some(MAKE_A_FLOW.to_owned())), ..told }
            }
            Self::Query(error) => Told::new(error.kind()).hint_if(error.hint()),
            Self::Known(error) => Told::new(error.kind()).hint_if(error.hint()),
            Self::Plan(_) => Told::new(ErrorKind::Conflict),
            Self::Adapter { kind, hint, .. } => Told::new(*kind).hint_if(hint.clone()),
            Self::Usage { .. } => Told::new(ErrorKind::Usage),
            Self::Package(error) => error.told(),
            Self::Library(error) => error.told(),
            Self::Pins(error) => error.told(),
            Self::Author(error) => error.told(),
            Self::Crystallize(error) => error.told(),
            Self::Replay(error) => error.told(),
            Self::Bless(error) => error.told(),
            Self::Run(error) => error.told(),
            Self::Unbound(error) => Told::of(error),
            Self::Home(error) => Told::of(error),
            Self::Workspace(error) => Told::of(error),
            Self::Gate(error) => Told::of(&**error),
        }
    }
}

impl From<GateError> for FlowError {
    fn from(error: GateError) -> Self {
        Self::Gate(Box::new(error))
    }
}

impl FlowError {
    /// Names the file that an error is about.
    pub(crate) fn of_file(path: &Path, source: impl Into<Self>) -> Self {
        LibraryError::File { path: path.to_owned(), source: Box::new(source.into()) }.into()
    }

    /// Adds to the error of a run why its end could not be written down: how it ended is what a person has to know.
    pub(crate) fn keep(&mut self, written: Result<(), Self>) {
        let (Self::Run(run), Err(error)) = (self, written) else { return };
        if let RunnerError::Stopped(Stopped { unkept, .. }) | RunnerError::EndedInDoubt { unkept, .. } = run {
            unkept.push(rote_types::with_causes(&error));
        }
    }

    /// Wraps an error of the adapter layer.
    pub(crate) fn adapter(adapter: &AdapterId, error: &dyn Classify) -> Self {
        let message = rote_types::with_causes(error);
        Self::Adapter { adapter: adapter.clone(), message, kind: error.kind(), hint: error.hint() }
    }
}
