//! The calls of a run, made by `rote-adapter` and so through the gate.
//!
//! Before a number is spent a call must be pinned by the flow, and a write must be among its permissions. The gate
//! checks both again from the stamp and the pin that go with each call.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rote_adapter::{AdapterError, Adapters, CallOptions, Caller, Checked, Reservation, SlotState};
use rote_gate::{FlowStamp, Pin, Preview, ToolPermission, Unbound};
use rote_govern::{ToolFacts, Verdict, guard};
use rote_runtime::{CallOutcome, Reserved, RunError, ToolHost};
use rote_types::{AdapterId, Manifest, ResponseId, ResponseRef, Tool, ToolCall};
use serde_json::{Value, json};

use super::{RunContext, ToolSource};
use crate::surface::{Surface, opened};
use crate::{FlowError, Frontmatter};

/// Installed adapters, as flows use them.
#[derive(Debug, Clone)]
pub struct AdapterTools {
    adapters: Arc<Adapters>,
    caller: Arc<Caller>,
}

impl AdapterTools {
    /// Makes the tools of flows from the adapter layer.
    #[must_use]
    pub fn new(adapters: Arc<Adapters>, caller: Arc<Caller>) -> Self {
        Self { adapters, caller }
    }
}

#[async_trait]
impl ToolSource for AdapterTools {
    fn open(&self, context: RunContext) -> Arc<dyn ToolHost> {
        let tokens = Mutex::new(context.confirm.iter().cloned().collect());
        Arc::new(LiveTools { tools: self.clone(), context, tokens, reserved: Mutex::default() })
    }

    fn credentials(&self, adapter: &AdapterId) -> Result<Vec<Value>, FlowError> {
        let slots = self.caller.credentials(adapter).map_err(|error| FlowError::adapter(adapter, &error))?;
        let state = |one: SlotState| json!({"slot": one.slot, "token": one.token, "present": one.place.is_present(), "source": one.place});
        Ok(slots.into_iter().map(state).collect())
    }

    fn unbound(&self, id: &AdapterId, tools: &[&str]) -> Result<BTreeSet<Unbound>, FlowError> {
        let Some(adapter) = opened(&self.adapters, id)? else { return Ok(BTreeSet::new()) };
        let tools: Vec<Tool> = tools
            .iter()
            .filter_map(|tool| Surface::tool(&*self.adapters, id, tool).transpose())
            .collect::<Result<_, _>>()?;
        self.caller.unbound(&adapter, &tools).map_err(|error| FlowError::adapter(id, &error))
    }

    fn verdict(&self, call: &ToolCall) -> Result<(Verdict, String), FlowError> {
        let denied = |reason: String| Ok((Verdict::Deny, reason));
        let Some(adapter) = opened(&self.adapters, &call.adapter)? else {
            return denied("the adapter is not installed".to_owned());
        };
        let tool = adapter.tool(&call.tool).map_err(|error| FlowError::adapter(&call.adapter, &error))?;
        match adapter.policy().as_ref() {
            Ok(policy) => {
                let decision = guard(policy, &facts(adapter.manifest(), &tool));
                Ok((decision.verdict, decision.reason.to_owned()))
            }
            Err(error) => denied(error.to_string()),
        }
    }

    fn look(&self, write: &ToolCall) -> Option<String> {
        // What cannot be found out must not hide what is known.
        self.adapters.look(write).unwrap_or_default()
    }

    async fn preview(&self, context: &RunContext, call: &ToolCall) -> Result<Preview, RunError> {
        if rote_workspace::has_template(&call.arguments) {
            let message = "its arguments look like a template, so it is only checked when it is made".to_owned();
            return Err(RunError::Host { message });
        }
        let options = options(context, call, None, true)?;
        match self.caller.call(&context.workspace, call, &options).await.map_err(run_error)? {
            CallOutcome::Preview(preview) => Ok(preview),
            CallOutcome::Response(_) => Err(RunError::Host { message: "a dry run was sent".to_owned() }),
        }
    }
}

fn facts<'t>(manifest: &Manifest, tool: &'t Tool) -> ToolFacts<'t> {
    ToolFacts {
        name: &tool.name,
        toolset: &tool.toolset,
        method: tool.method,
        access: tool.access,
        raised_by: None,
        tier: manifest.sensitivity_tier,
    }
}

/// The error of the adapter layer as a run's: the call's own error, or what kept it from being made.
fn run_error(error: AdapterError) -> RunError {
    RunError::from(error)
}

/// The pin and the stamp that go with a call.
fn options(
    context: &RunContext,
    call: &ToolCall,
    confirm: Option<String>,
    dry_run: bool,
) -> Result<CallOptions, RunError> {
    let frontmatter: &Frontmatter = &context.frontmatter;
    let flow = &frontmatter.name;
    let pinned = frontmatter.adapters.get(&call.adapter);
    let pin = pinned.and_then(|adapter| adapter.tools.get(&call.tool).map(|tool| (adapter, tool)));
    let Some((adapter, tool)) = pin else {
        let (flow, adapter, tool) = (flow.clone(), call.adapter.clone(), call.tool.clone());
        return Err(RunError::nested(&FlowError::NotPinned { flow, adapter, tool }));
    };
    let permission =
        |one: &crate::WritePermission| ToolPermission { adapter: one.adapter.clone(), tool: one.tool.clone() };
    Ok(CallOptions {
        pin: Some(Pin {
            fingerprint: adapter.fingerprint.clone(),
            tool_digest: tool.digest.clone(),
            goes_to: adapter.goes_to.clone(),
        }),
        flow: Some(FlowStamp {
            name: flow.clone(),
            version: frontmatter.version.clone(),
            write_permissions: frontmatter.write_permissions.iter().map(permission).collect(),
            blessing: context.blessing.clone(),
            root: context.root.clone(),
        }),
        confirm,
        dry_run,
        ..CallOptions::default()
    })
}

/// The calls of one run.
struct LiveTools {
    tools: AdapterTools,
    context: RunContext,
    tokens: Mutex<VecDeque<String>>,
    reserved: Mutex<BTreeMap<ResponseId, (ReadyCall, Reservation)>>,
}

impl LiveTools {
    /// Says whether a call may be made; spends nothing.
    fn check(&self, call: &ToolCall) -> Result<(Checked, CallOptions), RunError> {
        let frontmatter = &self.context.frontmatter;
        let options = options(&self.context, call, None, false)?;
        let checked = self.tools.caller.check(call).map_err(run_error)?;
        let tool = checked.tool();
        if tool.access.changes() && !frontmatter.permits_write(&call.adapter, &call.tool) {
            let (flow, adapter, tool) = (frontmatter.name.clone(), call.adapter.clone(), call.tool.clone());
            return Err(RunError::nested(&FlowError::NotPermitted { flow, adapter, tool }));
        }
        Ok((checked, options))
    }

    /// Counts the writes among calls that may be made, and gives them their tokens; all of them or none.
    fn spend(&self, calls: &mut [(Checked, CallOptions)]) -> Result<(), RunError> {
        let count = calls.iter().filter(|(call, _)| is_write(call)).count();
        self.context.budget.spend_writes(u32::try_from(count).unwrap_or(u32::MAX))?;
        for (call, options) in calls {
            if self.needs_token(call) {
                options.confirm = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            }
        }
        Ok(())
    }

    /// Whether the guard will ask for a token, so that one is kept for this call: a blessed one needs none.
    fn needs_token(&self, checked: &Checked) -> bool {
        let manifest = checked.adapter().manifest();
        let tool = checked.tool();
        let blessed = self.context.blessing.as_ref().is_some_and(|blessing| {
            blessing.permits(&manifest.id, &tool.name, &checked.adapter().trust(), checked.arguments())
        });
        let policy = checked.adapter().policy();
        let verdict = policy.as_ref().as_ref().map(|policy| guard(policy, &facts(manifest, tool)).verdict);
        !blessed && verdict == Ok(Verdict::Confirm)
    }

    /// Refuses what the flow does not pin.
    fn pinned(&self, adapter: &AdapterId) -> Result<&crate::AdapterPin, RunError> {
        let frontmatter = &self.context.frontmatter;
        frontmatter.adapters.get(adapter).ok_or_else(|| {
            let (flow, adapter) = (frontmatter.name.clone(), adapter.clone());
            RunError::nested(&FlowError::NotPinned { flow, adapter, tool: "*".to_owned() })
        })
    }
}

/// A checked call and how it is to be made.
type ReadyCall = (Checked, CallOptions);

fn is_write(call: &Checked) -> bool {
    call.tool().access.changes()
}

#[async_trait]
impl ToolHost for LiveTools {
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        let mut checked: Vec<(Checked, CallOptions)> =
            calls.iter().map(|call| self.check(call)).collect::<Result<_, _>>()?;
        self.spend(&mut checked)?;
        // The log has what was asked and what was sent.
        let arguments = calls.iter().map(|call| call.arguments.to_string().len() as u64);
        self.context.budget.spend_kept(arguments.sum::<u64>().saturating_mul(2))?;
        let Some((_, options)) = checked.first() else {
            return Ok(Vec::new());
        };
        let only: Vec<Checked> = checked.iter().map(|(checked, _)| checked.clone()).collect();
        let places = self.tools.caller.reserve(&self.context.workspace, &only, options).map_err(run_error)?;
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = Vec::with_capacity(calls.len());
        for ((call, checked), place) in calls.iter().zip(checked).zip(places) {
            let (command, response) = place.place();
            reserved.insert(response, (checked, place));
            answer.push(Reserved { call: call.clone(), command, response });
        }
        Ok(answer)
    }

    async fn perform(&self, one: Reserved) -> Result<ResponseRef, RunError> {
        let known = self.reserved.lock().unwrap_or_else(PoisonError::into_inner).remove(&one.response);
        let Some(((checked, options), place)) = known else {
            return Err(RunError::Host { message: format!("`{}` was not reserved", one.response) });
        };
        self.context.budget.check_response()?;
        let caller = &self.tools.caller;
        match caller.perform(&self.context.workspace, &checked, place, &options).await.map_err(run_error)? {
            CallOutcome::Response(response) => {
                self.context.budget.note_response(response.bytes);
                Ok(response)
            }
            CallOutcome::Preview(_) => Err(RunError::Host { message: "a call was only previewed".to_owned() }),
        }
    }

    fn release(&self) {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn probe(&self, adapter: &AdapterId, intent: &str, limit: u32) -> Result<Vec<Value>, RunError> {
        self.pinned(adapter)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let hits = self.tools.adapters.probe(adapter, intent, limit).map_err(run_error)?;
        let shown = |hit: rote_adapter::Hit| {
            json!({
                "tool": hit.tool.name,
                "description": hit.tool.description,
                "method": hit.tool.method,
                "score": hit.score,
                "input_schema": hit.tool.input_schema,
            })
        };
        Ok(hits.into_iter().map(shown).collect())
    }

    fn status(&self, adapter: &AdapterId) -> Result<Value, RunError> {
        let pin = self.pinned(adapter)?;
        let nested = |error: FlowError| RunError::nested(&error);
        let installed =
            Surface::manifest(&*self.tools.adapters, adapter).map_err(nested)?.map(|manifest| manifest.fingerprint);
        let credentials = match &installed {
            Some(_) => self.tools.credentials(adapter).map_err(nested)?,
            None => Vec::new(),
        };
        // Where a value is kept is not the flow's business.
        let shown = |state: Value| json!({"slot": state["slot"], "present": state["present"]});
        let credentials: Vec<Value> = credentials.into_iter().map(shown).collect();
        let matches = installed.as_ref() == Some(&pin.fingerprint);
        let drift = match (&installed, matches) {
            (_, true) => None,
            (Some(_), false) => Some("another surface is installed than the flow pins"),
            (None, false) => Some("it is not installed any more"),
        };
        Ok(json!({
            "adapter": adapter,
            "expected": pin.fingerprint,
            "installed": installed,
            "matches": matches,
            "drift": drift,
            "credentials": credentials,
        }))
    }
}
