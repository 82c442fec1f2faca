//! What flows need to know of installed adapters, and what changed between a pin and what is installed.
//!
//! A change is judged for the flow at hand: an adapter may have changed a lot and still be compatible with the
//! arguments that this flow sends ([`Usage`]). `compatible` is shown, never assumed: what cannot be shown to fit is
//! breaking. The judgement only informs; a used tool that is not the pinned one in every digest stops a run either way.

mod installed;

use std::collections::BTreeSet;

use rote_gate::Pin;
use rote_govern::{Verdict, reach};
use rote_types::{AdapterId, Manifest, Tool, TrustRoot};
use serde_json::Value;

pub(crate) use installed::opened;

use crate::drift::{Compatibility, Drift, Elsewhere, ToolChange};
use crate::usage::{Call, Sent, Usage};
use crate::{AdapterPin, FlowError, Frontmatter, ToolPin};

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

    /// Returns what the gate says of a call of one tool before it knows the arguments, `None` where there is no such tool.
    ///
    /// # Errors
    /// The adapter cannot be read.
    fn verdict(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Verdict>, FlowError>;

    /// Returns what a person's word about an installed adapter rests on, `None` when it is not installed.
    ///
    /// # Errors
    /// The adapter cannot be read.
    fn trust(&self, adapter: &AdapterId) -> Result<Option<TrustRoot>, FlowError>;
}

/// The origins that the pinned tools of an adapter go to as it is installed.
pub(crate) fn goes_to<'t>(
    surface: &dyn Surface,
    adapter: &AdapterId,
    installed: &Manifest,
    tools: impl IntoIterator<Item = &'t String>,
) -> Result<BTreeSet<String>, FlowError> {
    let mut origins = BTreeSet::new();
    for name in tools {
        if let Some(tool) = surface.tool(adapter, name)? {
            origins.extend(reach::origins(installed, &tool));
        }
    }
    Ok(origins)
}

/// Says when a pinned tool goes to an origin that is not pinned. A flow that was made before origins were pinned
/// goes wherever its adapter goes.
fn elsewhere(
    surface: &dyn Surface,
    adapter: &AdapterId,
    pin: &AdapterPin,
    installed: &Manifest,
) -> Result<Option<Elsewhere>, FlowError> {
    let Some(pinned) = &pin.goes_to else { return Ok(None) };
    let now = goes_to(surface, adapter, installed, pin.tools.keys())?;
    if !now.is_subset(pinned) {
        return Ok(Some(Elsewhere { expected: pinned.clone(), installed: now }));
    }
    for (name, pin) in &pin.tools {
        let (Some(pinned), Some(tool)) = (&pin.below, surface.tool(adapter, name)?) else { continue };
        let now = reach::below(installed, &tool);
        if !now.is_subset(pinned) {
            return Ok(Some(Elsewhere { expected: pinned.clone(), installed: now }));
        }
    }
    Ok(None)
}

/// What the gate is told of a pinned tool.
pub(crate) fn gate_pin(frontmatter: &Frontmatter, adapter: &AdapterId, pin: &AdapterPin, tool: &ToolPin) -> Pin {
    let slots = frontmatter.credentials.iter().filter(|slot| slot.adapter == *adapter);
    Pin {
        fingerprint: pin.fingerprint.clone(),
        tool_digest: tool.digest.clone(),
        goes_to: pin.goes_to.clone(),
        below: tool.below.clone(),
        credentials: slots.map(|slot| (slot.slot.clone(), slot.token_env.clone())).collect(),
    }
}

/// Whether nothing of an adapter with another fingerprint changed that the flow uses: all its pinned tools are what the
/// gate lets pass under that pin.
pub(crate) fn spares(
    surface: &dyn Surface,
    frontmatter: &Frontmatter,
    adapter: &AdapterId,
    installed: &Manifest,
) -> Result<bool, FlowError> {
    let Some(pin) = frontmatter.adapters.get(adapter) else { return Ok(false) };
    for (name, tool_pin) in &pin.tools {
        let tool = surface.tool(adapter, name)?;
        let pin = gate_pin(frontmatter, adapter, pin, tool_pin);
        if !tool.is_some_and(|tool| pin.spares(installed, &tool)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares a pin with what is installed; `None` when surface and origins are the pinned ones.
pub(crate) fn drift(
    surface: &dyn Surface,
    adapter: &AdapterId,
    pin: &AdapterPin,
    installed: &Manifest,
    usage: &Usage<'_>,
) -> Result<Option<Drift>, FlowError> {
    let elsewhere = elsewhere(surface, adapter, pin, installed)?;
    if installed.fingerprint == pin.fingerprint && elsewhere.is_none() {
        return Ok(None);
    }
    let mut tools = Vec::with_capacity(pin.tools.len());
    for (name, tool_pin) in &pin.tools {
        let same = installed.tool_digests.get(name) == Some(&tool_pin.digest);
        let change = if same {
            ToolChange { tool: name.clone(), verdict: Compatibility::Identical, changes: Vec::new() }
        } else {
            judge(adapter, name, tool_pin, surface.tool(adapter, name)?.as_ref(), usage)
        };
        tools.push(change);
    }
    let (expected, installed) = (pin.fingerprint.clone(), installed.fingerprint.clone());
    Ok(Some(Drift { adapter: adapter.clone(), expected, installed, elsewhere, tools }))
}

/// Judges a changed tool by what the flow sends.
fn judge(adapter: &AdapterId, name: &str, pin: &ToolPin, installed: Option<&Tool>, usage: &Usage<'_>) -> ToolChange {
    let Some(tool) = installed else {
        return ToolChange {
            tool: name.to_owned(),
            verdict: Compatibility::Breaking,
            changes: vec!["it is gone".to_owned()],
        };
    };
    let mut breaking = Vec::new();
    if tool.method != pin.method {
        breaking.push(format!("method {} is now {}", pin.method, tool.method));
    }
    if tool.path != pin.path {
        breaking.push(format!("path `{}` is now `{}`", pin.path, tool.path));
    }
    let sent = usage.calls(adapter, name);
    let names: BTreeSet<&str> = sent.iter().flat_map(|call| call.keys().copied()).collect();
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    breaking.extend(unknown(tool, &names).map(|name| format!("argument `{name}` is gone")));
    breaking.extend(lacking(tool, &sent).map(|name| format!("argument `{name}` is now required")));
    for (argument, schema) in properties.into_iter().flatten().filter(|(name, _)| names.contains(name.as_str())) {
        let places = sent.iter().filter_map(|call| call.get(argument.as_str()));
        let problem = places.flatten().find_map(|value| value.problem(&tool.input_schema, schema));
        breaking.extend(problem.map(|problem| format!("argument `{argument}` {problem}")));
    }
    if sent.is_empty() && breaking.is_empty() && !usage.calls_nothing_else() {
        breaking.push("what the flow sends to it cannot be seen; record a run with `--record`".to_owned());
    }
    if breaking.is_empty() {
        let changes = vec!["its schema or hints changed; all that this flow sends was checked and fits".to_owned()];
        return ToolChange { tool: name.to_owned(), verdict: Compatibility::Compatible, changes };
    }
    ToolChange { tool: name.to_owned(), verdict: Compatibility::Breaking, changes: breaking }
}

/// The arguments that are sent and that the tool does not take.
fn unknown<'a>(tool: &'a Tool, names: &'a BTreeSet<&'a str>) -> impl Iterator<Item = &'a str> {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let more = tool.input_schema.get("additionalProperties");
    let open = more.is_some_and(|more| *more == Value::Bool(true) || more.is_object());
    names.iter().copied().filter(move |name| !open && !properties.is_some_and(|all| all.contains_key(*name)))
}

/// The arguments that the tool demands and that a call does not have.
fn lacking<'a>(tool: &'a Tool, sent: &'a [Call<'a>]) -> impl Iterator<Item = &'a str> {
    let required = tool.input_schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).filter(|name| sent.iter().any(|call| !call.contains_key(name)))
}

/// Says what of the calls of a plan a tool is certain to refuse; what is known only during the run may fit.
pub(crate) fn misfits(tool: &Tool, sent: &[Call<'_>]) -> Vec<String> {
    let names: BTreeSet<&str> = sent.iter().flat_map(|call| call.keys().copied()).collect();
    let mut found: Vec<String> = unknown(tool, &names).map(|name| format!("it takes no argument `{name}`")).collect();
    found.extend(lacking(tool, sent).map(|name| format!("it needs argument `{name}`")));
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    for (argument, schema) in properties.into_iter().flatten() {
        let places = sent.iter().filter_map(|call| call.get(argument.as_str())).flatten();
        let literals = places.filter(|value| matches!(value, Sent::Value(_)));
        let problem = literals.into_iter().find_map(|value| value.problem(&tool.input_schema, schema));
        found.extend(problem.map(|problem| format!("argument `{argument}` {problem}")));
    }
    found
}
