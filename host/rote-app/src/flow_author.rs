//! What authors of flows are given: bindings, and files where they want them.

use std::path::Path;

use rote_bind::BindOptions;
use rote_types::{ErrorKind, Language};

use crate::{AppError, Session, Written};

impl Session {
    /// Returns typed bindings of an adapter's tools.
    ///
    /// # Errors
    /// `NotFound` when there is no such adapter or tool.
    pub fn bind(&self, adapter: &str, language: Language, tools: &[String]) -> Result<String, AppError> {
        let adapter = self.host.adapters()?.open(&self.adapter_id(adapter)?)?;
        let all: Vec<_> = adapter.all_tools()?.iter().map(|tool| (**tool).clone()).collect();
        let shapes = adapter.answers()?;
        let answers = all.iter().filter_map(|tool| Some((tool.name.clone(), shapes.of(&tool.name)?))).collect();
        let options = BindOptions { tools: tools.to_vec(), answers, ..BindOptions::default() };
        let bound = match language {
            Language::TypeScript => rote_bind::typescript(adapter.manifest(), &all, &options),
            Language::Rust => rote_bind::rust(adapter.manifest(), &all, &options),
        };
        bound.map_err(|error| AppError::new(ErrorKind::NotFound, error.to_string()))
    }

    /// Writes a text for a person.
    ///
    /// # Errors
    /// As [`Session::written_file`]; General when the disk refuses.
    pub fn write_source(&self, path: &Path, text: &str, what: Written<'_>) -> Result<(), AppError> {
        let path = self.written_file(path, what)?;
        Ok(rote_home::write_atomic(&path, text.as_bytes(), rote_home::FileMode::Shared)?)
    }
}
