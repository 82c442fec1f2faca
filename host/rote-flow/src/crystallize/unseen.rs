//! Files that a step changes: the gate changes none that the workspace has not read (`STALE_FILE`), and a run begins with an empty one.
//! So a read of the file stays before the change, although nothing of its answer is used.

use rote_types::SpecType;
use serde_json::Value;

use super::context::Context;
use super::draft::{Draft, DraftStep};

/// The tool that reads a file.
const READ: &str = "read_file";

/// Lets each change of a file rely on the last read of that file before it.
pub(crate) fn keep_reads(cx: &Context<'_>, draft: &mut Draft) {
    for position in 0..draft.steps.len() {
        let step = &draft.steps[position];
        if step.out.is_some() || !step.is_write(cx.trace) || !cx.is_of(&step.call(cx.trace).adapter, SpecType::Builtin)
        {
            continue;
        }
        let mut earlier = draft.steps[..position].iter().rev();
        if let Some(read) = earlier.find(|read| reads_file_of(cx, read, step)).map(|read| read.id.clone()) {
            draft.steps[position].relies.insert(read);
        }
    }
}

/// Whether a step read the file that another one changes, or one after the other the same files.
fn reads_file_of(cx: &Context<'_>, read: &DraftStep, change: &DraftStep) -> bool {
    let paths = |step: &DraftStep, names: &[&str]| -> Vec<Value> {
        let path = |call: &usize| {
            let arguments = &cx.trace.calls[*call].arguments;
            names.iter().find_map(|name| arguments.get(name).cloned()).unwrap_or_default()
        };
        step.calls.iter().map(path).collect()
    };
    let (one, other) = (read.call(cx.trace), change.call(cx.trace));
    read.out.is_none()
        && (&one.adapter, one.tool.as_str()) == (&other.adapter, READ)
        && paths(read, &["path"]) == paths(change, &["path", "source"])
}
