//! What lies beside a crystallized flow: the same program as TypeScript and Rust sources to edit, and a replay
//! test made of the session that it came from.

use std::path::PathBuf;

use rote_home::{FileMode, create_private_dir, write_atomic};
use serde_json::Value;

use super::arguments::Sources;
use super::parameters::Parameters;
use super::select::Selection;
use crate::recording::{ExpectedOutput, RunRecording, exchange};
use crate::{FlowError, Flows, Package, ProjectLanguage};

/// The replay test in the flow's folder.
pub(crate) const RECORDING: &str = "test.rec";

impl Flows {
    /// Writes `main.ts`, `rust/` and `test.rec` into the flow's folder; returns their paths.
    pub(crate) async fn write_companions(
        &self,
        package: &Package,
        sources: &Sources<'_>,
        selection: &Selection,
        parameters: &Parameters,
        recorded: &Value,
    ) -> Result<Vec<PathBuf>, FlowError> {
        let folder = self.parts.home.flow_dir(&package.frontmatter.name);
        let mut written = Vec::new();
        for (language, below) in [(ProjectLanguage::TypeScript, "main.ts"), (ProjectLanguage::Rust, "rust")] {
            for (name, text) in self.sources(package, language)? {
                let path = if name.is_empty() { folder.join(below) } else { folder.join(below).join(name) };
                create_private_dir(path.parent().unwrap_or(&folder))?;
                write_atomic(&path, text.as_bytes(), FileMode::Private)?;
                written.push(path);
            }
        }
        let kept = selection.kept.iter().map(|position| &sources.trace.calls[*position]);
        let calls = kept.map(|call| exchange(sources.workspace, call)).collect::<Result<Vec<_>, _>>()?;
        let replayed = self.replay(package, parameters.examples(), &calls, None).await?;
        let outcome = replayed.outcome.map_err(|source| FlowError::ReplayFailed { source: Box::new(source) })?;
        let recording = RunRecording {
            expected: Some(ExpectedOutput { result: recorded.clone(), human: outcome.human, summary: outcome.summary }),
            tape: replayed.tape,
            ..RunRecording::new(package, parameters.examples(), calls)
        };
        let path = folder.join(RECORDING);
        recording.write(&path)?;
        written.push(path);
        Ok(written)
    }
}
