//! The calls of a script whose names and values stand in its sources, compared with the adapters that its frontmatter names: what a run
//! would be refused for is an error of the build.

use rote_adapter::check_argument;
use rote_script::LiteralCall;
use rote_types::{AdapterId, did_you_mean, nearest};

use super::{Author, SourceHeader};
use crate::FlowError;
use crate::error::AuthorError;

/// Most problems that are told of.
const MAX_PROBLEMS: usize = 20;

impl Author {
    /// Refuses adapters whose ids are misspelt, calls of tools that an adapter does not have, and arguments that a tool does not
    /// take, by their names or by their values.
    pub(super) fn check_calls(&self, header: &SourceHeader, calls: &[LiteralCall]) -> Result<(), FlowError> {
        let (mut problems, mut first) = (Vec::new(), None);
        for call in calls {
            let named = || header.adapters.keys();
            let known = named().find(|id| id.as_str() == call.adapter);
            let near = nearest(&call.adapter, named().map(AdapterId::as_str));
            let meant = || named().find(|id| near.first().is_some_and(|near| id.as_str() == near));
            // One that is not named and like none of those that are is told of by lint, with what to add.
            let Some(id) = known.or_else(meant) else { continue };
            let found = match known {
                Some(id) => self.problems_of(id, call)?,
                None => vec![unnamed(call, &near)],
            };
            let found: Vec<String> = found.into_iter().filter(|problem| !problems.contains(problem)).collect();
            if !found.is_empty() && first.is_none() {
                first = Some((id.clone(), call.tool.clone()));
            }
            problems.extend(found);
        }
        problems.truncate(MAX_PROBLEMS);
        first.map_or(Ok(()), |first| Err(FlowError::Author(AuthorError::Calls { problems, first })))
    }

    fn problems_of(&self, id: &AdapterId, call: &LiteralCall) -> Result<Vec<String>, FlowError> {
        let Some(tool) = self.pins.surface.tool(id, &call.tool)? else {
            let manifest = self.pins.surface.manifest(id)?;
            let known = manifest.iter().flat_map(|manifest| manifest.tool_digests.keys());
            let near = did_you_mean(&nearest(&call.tool, known.map(String::as_str)));
            return Ok(vec![format!("{}: adapter `{id}` has no tool `{}`{near}", place(&call.at), call.tool)]);
        };
        let wrong = call.arguments.iter().filter_map(|argument| {
            let problem = check_argument(&tool, &argument.name, argument.value.as_ref())?;
            Some(format!("{}: `{id}/{}`: {problem}", place(&argument.at), call.tool))
        });
        Ok(wrong.collect())
    }
}

/// What is said of an adapter whose id is like one that the frontmatter names.
fn unnamed(call: &LiteralCall, near: &[String]) -> String {
    let at = place(&call.adapter_at);
    format!("{at}: the frontmatter does not name adapter `{}`{}", call.adapter, did_you_mean(near))
}

fn place(at: &rote_script::Place) -> String {
    format!("{}:{}:{}", at.file, at.line, at.column)
}
