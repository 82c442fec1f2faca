//! Idempotency keys that were typed. One is for one write: in a flow it would have the server answer each further run with
//! what the first one did, and nothing would be done.

use rote_govern::idempotency::key_header;
use rote_types::names_idempotency_key;
use serde_json::Value;

use super::desk::Desk;
use super::draft::Draft;
use crate::error::CrystallizeError;
use crate::literals::{last_segment, walk_literals};
use crate::trace::{RecordedCall, Trace};
use crate::{FlowError, Surface};

/// Leaves a typed key out where rote sends one of its own, another one in each run.
pub(crate) fn leave_out(trace: &mut Trace, surface: &dyn Surface, desk: &mut Desk) -> Result<(), FlowError> {
    for call in trace.calls.iter_mut().filter(|call| call.is_write()) {
        let (manifest, tool) = (surface.manifest(&call.adapter)?, surface.tool(&call.adapter, &call.tool)?);
        let (Some(manifest), Some(tool)) = (manifest, tool) else { continue };
        let Some(header) = key_header(&manifest, &tool) else { continue };
        if let Some(name) = take(call, header) {
            let name_of_call = call.name();
            let text = format!("`{name}` of `{name_of_call}` is left out: each run sends a key of its own");
            desk.note(None, text, None);
        }
    }
    Ok(())
}

/// Takes the argument of that name, in any case, out of a call.
fn take(call: &mut RecordedCall, header: &str) -> Option<String> {
    let name = call.arguments.as_object()?.keys().find(|name| name.eq_ignore_ascii_case(header))?.clone();
    for arguments in [&mut call.arguments, &mut call.raw] {
        if let Value::Object(members) = arguments {
            members.shift_remove(&name);
        }
    }
    Some(name)
}

/// Refuses a key that would be the same in every run: what rote does not send itself is a parameter.
pub(crate) fn refuse_literals(trace: &Trace, draft: &Draft) -> Result<(), FlowError> {
    for step in &draft.steps {
        let call = step.call(trace);
        let mut found = None;
        walk_literals(&step.arguments, &mut |pointer, value| {
            if let Some(value) = value.as_str().filter(|value| !value.is_empty() && found.is_none())
                && names_idempotency_key(last_segment(pointer))
            {
                found = Some((pointer.to_owned(), value.to_owned()));
            }
        });
        if let Some((pointer, value)) = found.filter(|_| call.is_write()) {
            return Err(FlowError::Crystallize(CrystallizeError::FrozenKey { step: call.name(), pointer, value }));
        }
    }
    Ok(())
}
