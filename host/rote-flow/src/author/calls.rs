//! The calls of a script whose names and values stand in its sources, compared with the adapters that its frontmatter names: what a run
//! would be refused for is an error of the build. A read that the frontmatter does not permit is a note of it, since a script may
//! expect the refusal and go another way; a write that it does not permit is an error, since nobody has looked at it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rote_adapter::{check_argument, missing_arguments};
use rote_script::{ImportedCall, LiteralCall};
use rote_types::{AdapterId, Tool, did_you_mean, nearest};

use super::{Author, SourceHeader};
use crate::FlowError;
use crate::error::AuthorError;

/// Most problems that are told of.
const MAX_PROBLEMS: usize = 20;

impl Author {
    /// Refuses adapters whose ids are misspelt, calls of tools that an adapter does not have, arguments that a tool does not take, by
    /// their names or by their values, or needs and is not given, and writes that the frontmatter does not permit.
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
                Some(id) => self.problems_of(header, id, call)?,
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

    /// Says of reads that the frontmatter does not permit which line it lacks: a run is refused where it comes to one.
    pub(super) fn unpermitted(&self, header: &SourceHeader, calls: &[LiteralCall]) -> Result<Vec<String>, FlowError> {
        let mut notes = Vec::new();
        for call in calls {
            let Some(id) = header.adapters.keys().find(|id| id.as_str() == call.adapter) else { continue };
            let Some(tool) = self.pins.surface.tool(id, &call.tool)? else { continue };
            notes.extend(lacking(header, id, &tool, call).filter(|_| !tool.access.changes()));
        }
        notes.truncate(MAX_PROBLEMS);
        Ok(notes)
    }

    fn problems_of(&self, header: &SourceHeader, id: &AdapterId, call: &LiteralCall) -> Result<Vec<String>, FlowError> {
        let Some(tool) = self.pins.surface.tool(id, &call.tool)? else {
            let manifest = self.pins.surface.manifest(id)?;
            let known = manifest.iter().flat_map(|manifest| manifest.tool_digests.keys());
            let near = did_you_mean(&nearest(&call.tool, known.map(String::as_str)));
            return Ok(vec![format!("{}: adapter `{id}` has no tool `{}`{near}", place(&call.at), call.tool)]);
        };
        let given = &call.arguments;
        let wrong = given.named.iter().filter_map(|argument| {
            let problem = check_argument(&tool, &argument.name, argument.value.as_ref())?;
            Some(format!("{}: `{id}/{}`: {problem}", place(&argument.at), call.tool))
        });
        let is_given = |name: &str| !given.whole || given.named.iter().any(|argument| argument.name == name);
        let missing = missing_arguments(&tool, &is_given).into_iter();
        let missing = missing.map(|problem| format!("{}: `{id}/{}`: {problem}", place(&call.at), call.tool));
        let lacks = lacking(header, id, &tool, call).filter(|_| tool.access.changes());
        Ok(wrong.chain(missing).chain(lacks).collect())
    }
}

/// What the frontmatter lacks for a call, if it does not permit it.
fn lacking(header: &SourceHeader, id: &AdapterId, tool: &Tool, call: &LiteralCall) -> Option<String> {
    let named = format!("{id}/{}", call.tool);
    let permits = header.adapters.get(id).is_some_and(|adapter| adapter.tools.contains(&call.tool));
    let lacks = if !permits {
        format!("add `{}` to the `tools` of adapter `{id}`", call.tool)
    } else if tool.access.changes() && !header.write_permissions.contains(&named) {
        format!("add `{named}` to `write_permissions`")
    } else {
        return None;
    };
    Some(format!("{}: a run may not call `{named}`: {lacks} in the frontmatter", place(&call.at)))
}

/// The calls of functions that bindings have, as calls of their tools; `bindings` are the files of a flow, by their places.
pub(super) fn bound_calls(calls: Vec<ImportedCall>, bindings: &BTreeMap<String, Bound>) -> Vec<LiteralCall> {
    let stem = |path: &Path| path.with_extension("");
    let bound = |call: ImportedCall| {
        let folder = Path::new(&call.at.file).parent().unwrap_or(Path::new(""));
        let imported = stem(&joined(folder, &call.specifier));
        let (_, (adapter, functions)) = bindings.iter().find(|(place, _)| stem(Path::new(place)) == imported)?;
        let tool = match call.tool {
            Some(tool) => Some(tool).filter(|_| call.function == rote_bind::CONNECT)?,
            None => functions.get(&call.function)?.clone(),
        };
        let (adapter, at) = (adapter.clone(), call.at);
        Some(LiteralCall { adapter, adapter_at: at.clone(), tool, at, arguments: call.arguments })
    };
    calls.into_iter().filter_map(bound).collect()
}

/// The adapter of a binding file, and the tool of each of its functions.
pub(super) type Bound = (String, BTreeMap<String, String>);

/// A relative specifier seen from a folder.
fn joined(folder: &Path, specifier: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in specifier.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path
}

/// What is said of an adapter whose id is like one that the frontmatter names.
fn unnamed(call: &LiteralCall, near: &[String]) -> String {
    let at = place(&call.adapter_at);
    format!("{at}: the frontmatter does not name adapter `{}`{}", call.adapter, did_you_mean(near))
}

fn place(at: &rote_script::Place) -> String {
    format!("{}:{}:{}", at.file, at.line, at.column)
}
