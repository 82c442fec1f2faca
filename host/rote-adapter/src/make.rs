//! What is made of the tools of a description: their file, digests, sensitivity, search index and component.
//!
//! Each tool is looked at on its own, so all processors take part. Invariants: the outcome does not depend on how many
//! there are; a schema is a value only while its own tool is looked at, and a digest is that of what a reader of the
//! written line gets.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;

use rote_find::{Builder, Row};
use rote_govern::tool_digest;
use rote_request::Operation;
use rote_spec::GeneratedTool;
use rote_types::{AdapterId, AuthKind, Authentication, SchemaText, Sha256Digest, Tool, ToolDigest, sha256};
use serde_json::{Value, json};

use crate::package::{self, ToolsFile};
use crate::sensitivity::{Known, Sensitivity, ToolSensitivity, classify};
use crate::{AdapterError, AnswerShapes, generate};

/// Fewest tools for which a thread is worth it.
const LEAST: usize = 200;
/// Most threads.
const MOST_THREADS: usize = 8;

/// All that is made of the tools.
pub(crate) struct Made {
    /// The tools without their schemas.
    pub(crate) listed: Vec<Tool>,
    pub(crate) digests: BTreeMap<String, ToolDigest>,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) answers: AnswerShapes,
    pub(crate) tools: Vec<u8>,
    pub(crate) offsets: Vec<u8>,
    pub(crate) search: Vec<u8>,
    pub(crate) component: Vec<u8>,
}

/// Makes it.
pub(crate) fn make(id: &AdapterId, auth: &Authentication, tools: Vec<GeneratedTool>) -> Result<Made, AdapterError> {
    let mut all = Part::default();
    for part in in_parallel(tools, |tools| Part::of(id, auth, tools)) {
        all.append(part?);
    }
    let Part { listed, operations, digests, sensitivity, answers, file, rows } = all;
    let failed = |source| AdapterError::Generate { id: id.clone(), source };
    let (search, component) = std::thread::scope(|scope| {
        let search = scope.spawn(|| {
            let mut builder = Builder::new();
            rows.into_iter().for_each(|row| builder.push(row));
            builder.finish()
        });
        let component = generate(&operations).map_err(failed);
        (search.join().unwrap_or_else(|panic| resume_unwind(panic)), component)
    });
    let (tools, offsets) = file.finish();
    Ok(Made {
        listed,
        digests,
        sensitivity: Sensitivity::of(sensitivity),
        answers: AnswerShapes::collect(&answers),
        tools,
        offsets,
        search,
        component: component?,
    })
}

/// What is made of some of the tools, in their order.
#[derive(Default)]
struct Part {
    listed: Vec<Tool>,
    operations: Vec<Operation>,
    digests: BTreeMap<String, ToolDigest>,
    sensitivity: BTreeMap<String, ToolSensitivity>,
    /// What the description says that each tool answers.
    answers: Vec<(String, Arc<SchemaText>)>,
    file: ToolsFile,
    /// What the search index has of each tool.
    rows: Vec<Row>,
}

impl Part {
    fn of(id: &AdapterId, auth: &Authentication, tools: Vec<GeneratedTool>) -> Result<Self, AdapterError> {
        let mut part = Self::default();
        let mut known = Known::default();
        for mut tool in tools {
            tool.tool.request = Some(request_digest(&tool, auth));
            part.push(tool, &mut known).map_err(|(name, error)| match error {
                Failure::Json(error) => AdapterError::Damaged {
                    id: id.clone(),
                    file: package::TOOLS.into(),
                    problem: format!("cannot hold tool `{name}`: {error}"),
                },
                Failure::Identity(error) => error.into(),
            })?;
        }
        Ok(part)
    }

    fn push(&mut self, generated: GeneratedTool, known: &mut Known) -> Result<(), (String, Failure)> {
        let name = generated.tool.name.clone();
        let json = |error| (name.clone(), Failure::Json(error));
        self.file.push(&generated.tool).map_err(json)?;
        let (tool, schema) = generated.tool.with_schema(Value::Null);
        let (tool, _) = tool.with_schema(schema.value().map_err(json)?);
        let digest = tool_digest(&tool).map_err(|error| (name.clone(), Failure::Identity(error)))?;
        self.digests.insert(name.clone(), digest);
        let found = classify(&tool.input_schema, &generated.response_fields, &generated.scopes, known);
        self.answers.extend(generated.answer.map(|shape| (name.clone(), shape)));
        self.sensitivity.insert(name, found);
        self.rows.push(Row::of(&tool, &tool.input_schema));
        self.listed.push(tool.with_schema(Value::Null).0);
        self.operations.push(generated.operation);
        Ok(())
    }

    fn append(&mut self, mut other: Self) {
        self.listed.append(&mut other.listed);
        self.operations.append(&mut other.operations);
        self.digests.append(&mut other.digests);
        self.sensitivity.append(&mut other.sensitivity);
        self.answers.append(&mut other.answers);
        self.file.append(other.file);
        self.rows.append(&mut other.rows);
    }
}

/// Digest of all that the component knows of a tool (places, styles, encodings of the body) and of how each credential
/// that it may send travels. The text of neither depends on anything but its content.
fn request_digest(tool: &GeneratedTool, auth: &Authentication) -> Sha256Digest {
    let kind = |slot: &String| -> Option<(String, AuthKind, bool)> {
        auth.schemes.get(slot).map(|scheme| (slot.clone(), scheme.kind.clone(), scheme.parameter))
    };
    let credentials: Vec<Vec<_>> = tool.tool.security.iter().map(|way| way.iter().filter_map(kind).collect()).collect();
    sha256(json!({"operation": tool.operation, "credentials": credentials}).to_string().as_bytes())
}

/// Why a tool cannot be part of a package.
enum Failure {
    Json(serde_json::Error),
    Identity(rote_govern::IdentityError),
}

/// Cuts a list into one piece for each processor, works on all at once and returns what came of them, in order.
fn in_parallel<T: Send, R: Send>(mut list: Vec<T>, work: impl Fn(Vec<T>) -> R + Sync) -> Vec<R> {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    let size = list.len().div_ceil(processors).max(LEAST);
    let mut pieces = Vec::with_capacity(processors);
    while list.len() > size {
        let rest = list.split_off(size);
        pieces.push(std::mem::replace(&mut list, rest));
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = pieces.into_iter().map(|piece| scope.spawn(|| work(piece))).collect();
        let last = work(list);
        let mut done: Vec<R> =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
        done.push(last);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_in_order_and_none_is_lost() {
        for length in [0, 1, LEAST, LEAST + 1, 10 * LEAST + 7] {
            let pieces = in_parallel((0..length).collect(), |piece| piece);
            assert_eq!(pieces.concat(), (0..length).collect::<Vec<_>>(), "{length}");
        }
    }
}
