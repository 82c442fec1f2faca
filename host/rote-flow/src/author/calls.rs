//! The calls of a script whose names stand in its sources, compared with the adapters that its frontmatter names: what a run
//! would be refused for is an error of the build.

use rote_adapter::unknown_argument;
use rote_script::LiteralCall;
use rote_types::{AdapterId, did_you_mean, nearest};

use super::{Author, SourceHeader};
use crate::FlowError;
use crate::error::AuthorError;

/// Most problems that are told of.
const MAX_PROBLEMS: usize = 20;

impl Author {
    /// Refuses calls of tools that an adapter does not have, and arguments that a tool does not take.
    pub(super) fn check_calls(&self, header: &SourceHeader, calls: &[LiteralCall]) -> Result<(), FlowError> {
        let (mut problems, mut first) = (Vec::new(), None);
        for call in calls {
            // One that is not named is told of by lint, with what to add.
            let Some((id, _)) = header.adapters.iter().find(|(id, _)| id.as_str() == call.adapter) else { continue };
            let found = self.problems_of(id, call)?;
            if !found.is_empty() && first.is_none() {
                first = Some((id.clone(), call.tool.clone()));
            }
            problems.extend(found);
        }
        problems.truncate(MAX_PROBLEMS);
        first.map_or(Ok(()), |first| Err(FlowError::Author(AuthorError::Calls { problems, first })))
    }

    fn problems_of(&self, id: &AdapterId, call: &LiteralCall) -> Result<Vec<String>, FlowError> {
        let place = |at: &rote_script::Place| format!("{}:{}:{}", at.file, at.line, at.column);
        let Some(tool) = self.pins.surface.tool(id, &call.tool)? else {
            let manifest = self.pins.surface.manifest(id)?;
            let known = manifest.iter().flat_map(|manifest| manifest.tool_digests.keys());
            let near = did_you_mean(&nearest(&call.tool, known.map(String::as_str)));
            return Ok(vec![format!("{}: adapter `{id}` has no tool `{}`{near}", place(&call.at), call.tool)]);
        };
        let unknown = call.arguments.iter().filter_map(|(name, at)| {
            let problem = unknown_argument(&tool, name)?;
            Some(format!("{}: `{id}/{}`: {problem}", place(at), call.tool))
        });
        Ok(unknown.collect())
    }
}
