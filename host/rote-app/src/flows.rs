//! What does the work with flows: each made of no more than it needs, so that listing flows opens nothing but the home.

use std::sync::Arc;

use rote_flow::{
    AdapterTools, Analytics, Author, Blessings, Crystallizer, Doctor, Library, Linter, Pins, Releases, Replayer,
    Runner, RunnerParts, Search,
};
use rote_govern::intent::MandateSource;

use crate::{AppError, Host};

impl Host {
    /// Returns the flow files.
    ///
    /// # Errors
    /// The home cannot be opened.
    pub fn library(&self) -> Result<Library, AppError> {
        let kept = self.library.get(|| Ok::<_, AppError>(Library::new(self.home()?.clone())))?;
        Ok(Library::clone(&kept))
    }

    /// Returns how the runs of flows went.
    ///
    /// # Errors
    /// The home cannot be opened.
    pub fn analytics(&self) -> Result<Analytics, AppError> {
        let kept =
            self.analytics.get(|| Ok::<_, AppError>(Analytics::new(self.library()?, Arc::clone(self.clock()))))?;
        Ok(Analytics::clone(&kept))
    }

    /// Returns the search for flows.
    ///
    /// # Errors
    /// The home cannot be opened.
    pub fn search(&self) -> Result<Search, AppError> {
        Ok(Search::new(self.library()?, self.analytics()?, self.adapters()?))
    }

    /// Returns what flows pin, beside what is installed.
    ///
    /// # Errors
    /// The home cannot be opened.
    pub fn pins(&self) -> Result<Pins, AppError> {
        Ok(Pins::new(self.library()?, self.adapters()?))
    }

    /// Returns what people allowed flows.
    ///
    /// # Errors
    /// The journal cannot be opened.
    pub fn blessings(&self) -> Result<Blessings, AppError> {
        Ok(Blessings::new(self.pins()?, self.journal()?, Arc::clone(self.clock()), Arc::clone(self.entropy())))
    }

    /// Returns what builds flows.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub fn author(&self) -> Result<Author, AppError> {
        Ok(Author::new(self.pins()?, self.runtime()?, self.gate()?, self.journal()?))
    }

    /// Returns what replays recordings.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub fn replayer(&self) -> Result<Replayer, AppError> {
        Ok(Replayer::new(self.library()?, self.runtime()?, Arc::clone(self.clock())))
    }

    /// Returns what looks for mistakes in flows.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub fn linter(&self) -> Result<Linter, AppError> {
        Ok(Linter::new(self.pins()?, self.replayer()?))
    }

    /// Returns what releases drafts.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub fn releases(&self) -> Result<Releases, AppError> {
        Ok(Releases::new(self.linter()?, self.journal()?, Arc::clone(self.clock())))
    }

    /// Returns what makes flows from workspaces.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub fn crystallizer(&self) -> Result<Crystallizer, AppError> {
        Ok(Crystallizer::new(self.pins()?, self.replayer()?, self.journal()?))
    }

    /// Returns what says how flows stand here.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub fn doctor(&self) -> Result<Doctor, AppError> {
        Ok(Doctor::new(self.blessings()?, self.analytics()?, self.tools(MandateSource::default())?))
    }

    /// Returns what runs flows; `mandate` says what their writes are made for.
    ///
    /// # Errors
    /// Journal, vault or gate cannot be opened.
    pub(crate) fn runner(&self, mandate: MandateSource) -> Result<Runner, AppError> {
        Ok(Runner::new(RunnerParts {
            blessings: self.blessings()?,
            analytics: self.analytics()?,
            journal: self.journal()?,
            runtime: self.runtime()?,
            tools: self.tools(mandate)?,
            clock: Arc::clone(self.clock()),
            entropy: Arc::clone(self.entropy()),
            interrupt: Arc::clone(self.interrupt()),
        }))
    }

    fn tools(&self, mandate: MandateSource) -> Result<Arc<AdapterTools>, AppError> {
        Ok(Arc::new(AdapterTools::new(self.adapters()?, self.caller()?, mandate)))
    }
}
