//! What does the work with flows: each made of no more than it needs, so that listing flows opens nothing but the home.

use std::sync::Arc;

use rote_flow::{
    AdapterTools, Analytics, Author, Blessings, Crystallizer, Doctor, Library, Linter, Pins, Releases, Replayer,
    Runner, RunnerParts, Search,
};

use crate::{App, AppError};

impl App {
    pub(crate) fn library(&self) -> Result<Library, AppError> {
        Ok(Library::new(self.home()?.clone()))
    }

    pub(crate) fn analytics(&self) -> Result<Analytics, AppError> {
        Ok(Analytics::new(self.library()?, Arc::clone(self.clock())))
    }

    pub(crate) fn search(&self) -> Result<Search, AppError> {
        Ok(Search::new(self.library()?, self.analytics()?, self.adapters_of_home()?))
    }

    pub(crate) fn pins(&self) -> Result<Pins, AppError> {
        Ok(Pins::new(self.library()?, self.adapters_of_home()?))
    }

    pub(crate) fn blessings(&self) -> Result<Blessings, AppError> {
        Ok(Blessings::new(self.pins()?, self.journal()?, Arc::clone(self.clock()), Arc::clone(self.entropy())))
    }

    pub(crate) fn author(&self) -> Result<Author, AppError> {
        Ok(Author::new(self.pins()?, self.runtime()?))
    }

    pub(crate) fn replayer(&self) -> Result<Replayer, AppError> {
        Ok(Replayer::new(self.library()?, self.runtime()?, Arc::clone(self.clock())))
    }

    pub(crate) fn linter(&self) -> Result<Linter, AppError> {
        Ok(Linter::new(self.pins()?, self.replayer()?))
    }

    pub(crate) fn releases(&self) -> Result<Releases, AppError> {
        Ok(Releases::new(self.linter()?, self.journal()?, Arc::clone(self.clock())))
    }

    pub(crate) fn crystallizer(&self) -> Result<Crystallizer, AppError> {
        Ok(Crystallizer::new(self.pins()?, self.replayer()?, self.journal()?))
    }

    pub(crate) fn doctor(&self) -> Result<Doctor, AppError> {
        Ok(Doctor::new(self.blessings()?, self.analytics()?, self.tools()?))
    }

    pub(crate) fn runner(&self) -> Result<Runner, AppError> {
        Ok(Runner::new(RunnerParts {
            blessings: self.blessings()?,
            analytics: self.analytics()?,
            journal: self.journal()?,
            runtime: self.runtime()?,
            tools: self.tools()?,
            clock: Arc::clone(self.clock()),
            entropy: Arc::clone(self.entropy()),
            interrupt: Arc::clone(&self.config().interrupt),
        }))
    }

    fn tools(&self) -> Result<Arc<AdapterTools>, AppError> {
        Ok(Arc::new(AdapterTools::new(self.adapters_of_home()?, self.caller()?)))
    }
}
