//! The calls of a run, made by `rote-adapter` and so through the gate.
//!
//! Before a number is spent a call must be pinned by the flow, and a write must be among its permissions. The gate
//! checks both again from the stamp and the pin that go with each call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rote_adapter::{Adapter, AdapterError, Adapters, CallOptions, Caller, Checked, Reservation};
use rote_gate::{FlowStamp, Pin, Preview, ToolPermission};
use rote_govern::{ToolFacts, Verdict, guard};
use rote_runtime::{CallOutcome, Reserved, RunError, ToolHost};
use rote_types::{AdapterId, Manifest, ResponseId, ResponseRef, Tool, ToolCall};

use super::{RunContext, ToolSource};
use crate::{FlowError, Frontmatter, Surface};

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

    fn open_adapter(&self, id: &AdapterId) -> Result<Option<Arc<Adapter>>, FlowError> {
        match self.adapters.open(id) {
            Ok(adapter) => Ok(Some(adapter)),
            Err(AdapterError::NotInstalled { .. }) => Ok(None),
            Err(error) => Err(FlowError::adapter(id, &error)),
        }
    }
}

impl Surface for AdapterTools {
    fn manifest(&self, adapter: &AdapterId) -> Result<Option<Manifest>, FlowError> {
        Ok(self.open_adapter(adapter)?.map(|adapter| Manifest::clone(adapter.manifest())))
    }

    fn tool(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Tool>, FlowError> {
        let Some(opened) = self.open_adapter(adapter)? else {
            return Ok(None);
        };
        match opened.tool(tool) {
            Ok(tool) => Ok(Some(Tool::clone(&tool))),
            Err(AdapterError::UnknownTool { .. }) => Ok(None),
            Err(error) => Err(FlowError::adapter(adapter, &error)),
        }
    }
}

#[async_trait]
impl ToolSource for AdapterTools {
    fn open(&self, context: RunContext) -> Arc<dyn ToolHost> {
        let tokens = Mutex::new(context.confirm.iter().cloned().collect());
        Arc::new(LiveTools { caller: Arc::clone(&self.caller), context, tokens, reserved: Mutex::default() })
    }

    fn verdict(&self, call: &ToolCall) -> Result<(Verdict, String), FlowError> {
        let denied = |reason: String| Ok((Verdict::Deny, reason));
        let Some(adapter) = self.open_adapter(&call.adapter)? else {
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

    async fn preview(&self, context: &RunContext, call: &ToolCall) -> Result<Preview, RunError> {
        if rote_workspace::has_template(&call.arguments) {
            let message = "its arguments look like a template, so it is only checked when it is made".to_owned();
            return Err(RunError::Host { message });
        }
        let options = options(&context.frontmatter, call, None, true)?;
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
        hints: tool.hints,
        tier: manifest.sensitivity_tier,
    }
}

/// The error of the adapter layer as a run's: the call's own error, or what kept it from being made.
fn run_error(error: AdapterError) -> RunError {
    RunError::from(error)
}

/// The pin and the stamp that go with a call.
fn options(
    frontmatter: &Frontmatter,
    call: &ToolCall,
    confirm: Option<String>,
    dry_run: bool,
) -> Result<CallOptions, RunError> {
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
        pin: Some(Pin { fingerprint: adapter.fingerprint.clone(), tool_digest: tool.digest.clone() }),
        flow: Some(FlowStamp {
            name: flow.clone(),
            version: frontmatter.version.clone(),
            write_permissions: frontmatter.write_permissions.iter().map(permission).collect(),
        }),
        confirm,
        dry_run,
        ..CallOptions::default()
    })
}

/// The calls of one run.
struct LiveTools {
    caller: Arc<Caller>,
    context: RunContext,
    tokens: Mutex<VecDeque<String>>,
    reserved: Mutex<BTreeMap<ResponseId, (Checked, CallOptions)>>,
}

impl LiveTools {
    fn check(&self, call: &ToolCall) -> Result<(Checked, CallOptions), RunError> {
        let frontmatter = &self.context.frontmatter;
        let mut options = options(frontmatter, call, None, false)?;
        let checked = self.caller.check(call).map_err(run_error)?;
        let tool = checked.tool();
        let permitted = |one: &crate::WritePermission| one.adapter == call.adapter && one.tool == call.tool;
        if !tool.method.is_read() && !frontmatter.write_permissions.iter().any(permitted) {
            let (flow, adapter, tool) = (frontmatter.name.clone(), call.adapter.clone(), call.tool.clone());
            return Err(RunError::nested(&FlowError::NotPermitted { flow, adapter, tool }));
        }
        let policy = checked.adapter().policy();
        let needs_token = policy
            .as_ref()
            .as_ref()
            .is_ok_and(|policy| guard(policy, &facts(checked.adapter().manifest(), tool)).verdict == Verdict::Confirm);
        if needs_token {
            options.confirm = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        }
        Ok((checked, options))
    }
}

#[async_trait]
impl ToolHost for LiveTools {
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        let checked: Vec<(Checked, CallOptions)> =
            calls.iter().map(|call| self.check(call)).collect::<Result<_, _>>()?;
        let Some((_, options)) = checked.first() else {
            return Ok(Vec::new());
        };
        let only: Vec<Checked> = checked.iter().map(|(checked, _)| checked.clone()).collect();
        let places = self.caller.reserve(&self.context.workspace, &only, options).map_err(run_error)?;
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = Vec::with_capacity(calls.len());
        for ((call, checked), place) in calls.iter().zip(checked).zip(places) {
            reserved.insert(place.response, checked);
            answer.push(Reserved { call: call.clone(), command: place.command, response: place.response });
        }
        Ok(answer)
    }

    async fn perform(&self, one: Reserved) -> Result<ResponseRef, RunError> {
        let known = self.reserved.lock().unwrap_or_else(PoisonError::into_inner).remove(&one.response);
        let Some((checked, options)) = known else {
            return Err(RunError::Host { message: format!("`{}` was not reserved", one.response) });
        };
        let place = Reservation { command: one.command, response: one.response };
        match self.caller.perform(&self.context.workspace, &checked, place, &options).await.map_err(run_error)? {
            CallOutcome::Response(response) => Ok(response),
            CallOutcome::Preview(_) => Err(RunError::Host { message: "a call was only previewed".to_owned() }),
        }
    }
}
