//! The beginning of a run: a workspace of its own and an empty tape, or those of the run that it goes on with.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rote_home::Home;
use rote_types::{FlowName, ResponseId, WorkspaceIdentity, WorkspaceName};
use rote_workspace::{ResponseSummary, Workspace, WorkspaceError};
use serde_json::{Map, Value};

use super::earlier;
use super::earlier::{Earlier, Way};
use super::keyed::Keys;
use super::preflight::refuse_undecided;
use super::resume::{self, Done};
use super::same::{PREFIX, RANDOM_BYTES, TIME_DIGITS, newest, short};
use super::{RunContext, RunRequest, Runner};
use crate::error::RunnerError;
use crate::tape::{self, Ends, FileTape, Header, Recorded};
use crate::{FlowError, FlowReference, Package, ParameterInput, parameter};

/// Runs of a flow that are looked at for one that ended well.
const MAX_LAST: usize = 20;

/// What a new run begins in spite of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Despite {
    /// Open questions about what it writes.
    pub(super) questions: bool,
    /// The same run, which another process makes.
    pub(super) under_way: bool,
}

impl Despite {
    pub(super) fn of(request: &RunRequest) -> Self {
        Self { questions: request.anyway, under_way: request.another }
    }
}

/// Everything that a run starts from.
pub(crate) struct Begun {
    pub(crate) package: Package,
    /// The file that it was read from, for messages.
    pub(crate) path: PathBuf,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) workspace: Arc<Workspace>,
    /// The workspace of the run that a person started, which may be this one.
    pub(crate) root: WorkspaceIdentity,
    pub(crate) tape: Arc<FileTape>,
    pub(crate) done: Done,
    /// Writes in doubt that it may repeat.
    pub(crate) offered: BTreeSet<ResponseId>,
    /// The nested runs that it had begun.
    pub(crate) earlier: Earlier,
}

impl Runner {
    pub(crate) fn begin(&self, request: &RunRequest) -> Result<Begun, FlowError> {
        match (&request.resume, &request.flow) {
            (Some(name), flow) => self.go_on(name, flow.as_ref(), request),
            (None, Some(flow)) => {
                let despite = Despite::of(request);
                self.begin_new(flow, &request.parameters, None, despite)
            }
            (None, None) => Err(FlowError::Usage { message: "no flow was named".to_owned() }),
        }
    }

    /// Begins a new run; `parent` is the run that it is part of.
    pub(crate) fn begin_new(
        &self,
        flow: &FlowReference,
        input: &ParameterInput,
        parent: Option<&RunContext>,
        despite: Despite,
    ) -> Result<Begun, FlowError> {
        let (package, parameters) = self.preflight(flow, input)?;
        if !despite.questions {
            refuse_undecided(&package.frontmatter)?;
        }
        self.check_bindings(&package)?;
        // Until the run holds its own lock: of two that begin at once, the second one sees the first.
        let _alone = self.refuse_same(&package.frontmatter, &parameters, (parent, despite))?;
        let path = self.library().path_of(flow);
        let workspace = Arc::new(self.new_workspace(&package.frontmatter.name)?);
        let header = Header {
            parent: parent.map(|parent| parent.workspace.name().clone()),
            root: parent.map(|parent| parent.root.clone()),
            ..Header::new(&package, flow, &parameters)
        };
        let root = parent.map_or_else(|| workspace.identity(), |parent| &parent.root).clone();
        let tape = Arc::new(FileTape::begin(&workspace, &header)?);
        let (done, offered, earlier) = (Done::default(), BTreeSet::new(), Earlier::default());
        Ok(Begun { package, path, parameters, workspace, root, tape, done, offered, earlier })
    }

    /// Goes on with the run of a workspace, with the flow and the parameters that it had.
    pub(crate) fn go_on(
        &self,
        name: &WorkspaceName,
        flow: Option<&FlowReference>,
        request: &RunRequest,
    ) -> Result<Begun, FlowError> {
        let opened = Workspace::open(&self.library().home, name).map_err(|error| match error {
            WorkspaceError::NoWorkspace { name: workspace, lost: false } => {
                FlowError::Run(RunnerError::NoSuchRun { workspace })
            }
            other => other.into(),
        });
        let workspace = Arc::new(opened?);
        self.refuse_copy(&workspace)?;
        let not_a_run = || FlowError::Run(RunnerError::NotARun { workspace: name.clone() });
        // Before the tape is read: another process may be writing it, and end in between.
        let lock = if tape::is_there(&workspace) { tape::lock(&workspace)? } else { return Err(not_a_run()) };
        let mut recorded = Recorded::read(&workspace)?.ok_or_else(not_a_run)?;
        let header = recorded.header.clone();
        let reference = match flow {
            Some(flow) => flow.clone(),
            None => FlowReference::parse(&header.reference)?,
        };
        let input = match &request.parameters {
            ParameterInput::Words(words) if words.is_empty() => ParameterInput::Json(header.parameters.clone()),
            given => given.clone(),
        };
        let (package, parameters) = self.preflight(&reference, &input)?;
        let path = self.library().path_of(&reference);
        let other = |what: &'static str| {
            FlowError::Run(RunnerError::OtherRun { workspace: name.clone(), flow: header.flow.clone(), what })
        };
        if package.digest() != header.sha256 {
            return Err(other("the flow is not the one that began it"));
        }
        if parameter::digest(&parameters) != parameter::digest(&header.parameters) {
            return Err(other("it was begun with other parameters"));
        }
        self.check_bindings(&package)?;
        rote_gate::recover_run(&self.parts.journal, &workspace)?;
        rote_gate::sift(&self.parts.journal, &workspace)?;
        let now = self.parts.clock.now();
        rote_gate::settle(&self.parts.journal, &workspace, &request.settle, request.said.as_ref(), now)?;
        let nested = recorded.nested();
        earlier::cut(&self.library().home, &workspace, &mut recorded);
        let before = resume::before(&workspace, self.parts.runtime.redaction(), &Keys::new(self)?, recorded)?;
        self.refuse_open(&workspace, &before.open)?;
        self.refuse_open_within(&workspace, &nested, (Way::On, 0))?;
        for (id, until) in &before.keyed {
            workspace.offer_key(*id, *until)?;
        }
        let earlier = Earlier::of(nested, &before.frames);
        let tape = Arc::new(FileTape::go_on(&workspace, lock, &header, (earlier.left.clone(), before.frames))?);
        let root = header.root.unwrap_or_else(|| workspace.identity().clone());
        let offered = before.keyed.into_iter().map(|(id, _)| id).collect();
        Ok(Begun { package, path, parameters, workspace, root, tape, done: before.done, offered, earlier })
    }

    /// A copy of a run does not go on beside that: it would make the writes again that are behind it.
    fn refuse_copy(&self, workspace: &Workspace) -> Result<(), FlowError> {
        let Some(original) = workspace.made_as()?.filter(|name| name != workspace.name()) else { return Ok(()) };
        let id = &workspace.identity().id;
        match Workspace::open(&self.library().home, &original) {
            Ok(known) if id.is_some() && known.identity().id == *id => {
                Err(FlowError::Run(RunnerError::Copied { workspace: workspace.name().clone(), original }))
            }
            _ => Ok(()),
        }
    }

    /// A run does not go on while nobody knows what came of a write of it.
    pub(super) fn refuse_open(&self, workspace: &Workspace, open: &[ResponseSummary]) -> Result<(), FlowError> {
        let Some(first) = open.first() else { return Ok(()) };
        let doubt = self.doubt(workspace, first)?;
        Err(FlowError::Run(RunnerError::Unsettled { doubt: Box::new(doubt), others: open.len() - 1, outer: None }))
    }

    /// Makes the workspace of a run. Names sort by time.
    fn new_workspace(&self, flow: &FlowName) -> Result<Workspace, FlowError> {
        let now = self.parts.clock.now();
        let mut random = [0_u8; RANDOM_BYTES];
        self.parts.entropy.fill(&mut random);
        let digits: String = now.to_string().chars().filter(char::is_ascii_digit).take(TIME_DIGITS).collect();
        let flow = short(flow);
        let suffix: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = WorkspaceName::try_from(format!("{PREFIX}{flow}-{digits}-{suffix}"))
            .map_err(|error| FlowError::Usage { message: error.to_string() })?;
        Ok(Workspace::create(&self.library().home, &name, now)?)
    }
}

/// The parameters of the last run of a flow that ended well; empty when there was none among the last ones.
pub(crate) fn last_parameters(home: &Home, flow: &FlowName) -> Result<Map<String, Value>, FlowError> {
    for name in newest(home, flow)?.iter().take(MAX_LAST) {
        // A workspace that is cleaned away meanwhile, or a damaged tape, is not a reason not to look further.
        let Ok(Some(ends)) = Ends::read_in(&home.workspace_dir(name)) else { continue };
        if ends.header.flow == *flow && ends.is_complete() {
            return Ok(ends.header.parameters);
        }
    }
    Ok(Map::new())
}

impl Header {
    fn new(package: &Package, flow: &FlowReference, parameters: &Map<String, Value>) -> Self {
        Self {
            tape: tape::VERSION,
            flow: package.frontmatter.name.clone(),
            version: package.frontmatter.version.clone(),
            sha256: package.digest(),
            reference: match flow {
                FlowReference::Name(name) => name.to_string(),
                FlowReference::Path(path) => path.to_string_lossy().into_owned(),
            },
            parameters: parameters.clone(),
            parent: None,
            root: None,
        }
    }
}
