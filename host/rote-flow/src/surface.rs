//! What flows need to know of installed adapters, and what changed between a pin and what is installed.
//!
//! A change is judged for the flow at hand: an adapter may have changed a lot and still be compatible with the
//! arguments that this flow sends. The judgement only informs; a changed fingerprint stops a run either way.

use std::collections::BTreeSet;
use std::fmt;

use rote_plan::{Expression, Plan};
use rote_types::{AdapterId, Manifest, Tool};
use serde::Serialize;
use serde_json::Value;

use crate::error::Drift;
use crate::{AdapterPin, FlowError, ToolPin};

/// Installed adapters, as far as flows look at them.
pub trait Surface: Send + Sync {
    /// Returns the manifest of an installed adapter, `None` when it is not installed.
    ///
    /// # Errors
    /// It is installed and cannot be read.
    fn manifest(&self, adapter: &AdapterId) -> Result<Option<Manifest>, FlowError>;

    /// Returns one tool of an installed adapter, `None` when it has none of that name.
    ///
    /// # Errors
    /// The adapter cannot be read.
    fn tool(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Tool>, FlowError>;
}

/// What became of one pinned tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChange {
    /// The tool.
    pub tool: String,
    /// `identical`, `compatible` or `breaking`, for this flow.
    pub verdict: &'static str,
    /// What changed, in words.
    pub changes: Vec<String>,
}

impl fmt::Display for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tool, self.verdict)?;
        if self.changes.is_empty() { Ok(()) } else { write!(f, " ({})", self.changes.join("; ")) }
    }
}

/// Compares a pin with what is installed; `None` when the fingerprint is the pinned one.
pub(crate) fn drift(
    surface: &dyn Surface,
    adapter: &AdapterId,
    pin: &AdapterPin,
    installed: &Manifest,
    plan: &Plan,
) -> Result<Option<Drift>, FlowError> {
    if installed.fingerprint == pin.fingerprint {
        return Ok(None);
    }
    let mut tools = Vec::with_capacity(pin.tools.len());
    for (name, tool_pin) in &pin.tools {
        let same = installed.tool_digests.get(name) == Some(&tool_pin.digest);
        let change = if same {
            ToolChange { tool: name.clone(), verdict: "identical", changes: Vec::new() }
        } else {
            let sent = sent_arguments(plan, adapter, name);
            judge(name, tool_pin, surface.tool(adapter, name)?.as_ref(), &sent)
        };
        tools.push(change);
    }
    let (expected, installed) = (pin.fingerprint.clone(), installed.fingerprint.clone());
    Ok(Some(Drift { adapter: adapter.clone(), expected, installed, tools }))
}

/// The argument names of each step that calls the tool.
fn sent_arguments<'p>(plan: &'p Plan, adapter: &AdapterId, tool: &str) -> Vec<BTreeSet<&'p str>> {
    let steps = plan.steps.iter().filter(|step| step.adapter == adapter.as_str() && step.tool == tool);
    steps
        .map(|step| match &step.arguments {
            Expression::Object(members) => members.iter().map(|(key, _)| key.as_str()).collect(),
            Expression::Literal(Value::Object(members)) => members.keys().map(String::as_str).collect(),
            _ => BTreeSet::new(),
        })
        .collect()
}

/// Judges a changed tool by what the flow sends.
fn judge(name: &str, pin: &ToolPin, installed: Option<&Tool>, sent: &[BTreeSet<&str>]) -> ToolChange {
    let Some(tool) = installed else {
        return ToolChange { tool: name.to_owned(), verdict: "breaking", changes: vec!["it is gone".to_owned()] };
    };
    let mut breaking = Vec::new();
    let mut harmless = Vec::new();
    if tool.method != pin.method {
        breaking.push(format!("method {} is now {}", pin.method, tool.method));
    }
    if tool.path != pin.path {
        breaking.push(format!("path `{}` is now `{}`", pin.path, tool.path));
    }
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let open = tool.input_schema.get("additionalProperties") != Some(&Value::Bool(false));
    let known =
        |argument: &str| properties.is_some_and(|all| all.contains_key(argument)) || (open && properties.is_none());
    let required: BTreeSet<&str> = match tool.input_schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => BTreeSet::new(),
    };
    let all_sent: BTreeSet<&str> = sent.iter().flatten().copied().collect();
    breaking.extend(all_sent.iter().filter(|name| !known(name)).map(|name| format!("argument `{name}` is gone")));
    let lacking = required.iter().filter(|name| sent.iter().any(|step| !step.contains(*name)));
    breaking.extend(lacking.map(|name| format!("argument `{name}` is now required")));
    if breaking.is_empty() {
        harmless.push("its schema or hints changed, what this flow sends still fits by name".to_owned());
    }
    let verdict = if breaking.is_empty() { "compatible" } else { "breaking" };
    breaking.append(&mut harmless);
    ToolChange { tool: name.to_owned(), verdict, changes: breaking }
}
