//! The kept calls as steps, and the order that effects impose on them.
//!
//! Values order steps by themselves. Beyond that a write waits for every kept call recorded before it, and a
//! read for every write before it: what was seen after a change must be seen after it again. Reads between two
//! writes are independent and run at once. Needs that others imply are left out.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Expression, OnError, Parameter, Plan, Step, VERSION};
use rote_types::ResponseId;

use super::arguments::Sources;
use super::report::{Report, StepOrigin};
use super::select::Selection;
use super::variables::Variables;
use crate::FlowError;
use crate::trace::{RecordedCall, Trace};

/// A step in the making.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftStep {
    pub(crate) id: String,
    /// Position of the call in the trace.
    pub(crate) call: usize,
    pub(crate) arguments: Expression,
    pub(crate) needs: Vec<String>,
}

/// A plan in the making.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) steps: Vec<DraftStep>,
    pub(crate) result: Expression,
    adapters: Vec<(String, String)>,
}

impl Draft {
    /// Makes steps of the kept calls; returns the variables that they used too.
    pub(crate) fn build(sources: &Sources<'_>, selection: &Selection) -> Result<(Self, Variables), FlowError> {
        let mut variables = Variables::default();
        let calls = &sources.trace.calls;
        let ids: BTreeMap<ResponseId, String> = selection
            .kept
            .iter()
            .enumerate()
            .map(|(number, position)| (calls[*position].response, format!("s{}", number + 1)))
            .collect();
        let step_of = |response: ResponseId| ids.get(&response).cloned();
        let mut steps = Vec::with_capacity(selection.kept.len());
        for position in &selection.kept {
            let call = &calls[*position];
            let arguments = sources.arguments(call, &step_of, &mut variables)?;
            let id = ids[&call.response].clone();
            steps.push(DraftStep { id, call: *position, arguments, needs: Vec::new() });
        }
        order_effects(&mut steps, calls);
        let response = calls[selection.result_call].response;
        let step = ids[&response].clone();
        let result = Expression::From(sources.reference(step, response, selection.result_jq.clone())?);
        let adapters =
            steps.iter().map(|step| (calls[step.call].adapter.to_string(), calls[step.call].tool.clone())).collect();
        Ok((Self { steps, result, adapters }, variables))
    }

    /// Returns the finished plan.
    pub(crate) fn plan(&self, parameters: BTreeMap<String, Parameter>) -> Plan {
        let steps = self.steps.iter().zip(&self.adapters);
        Plan {
            version: VERSION,
            parameters,
            steps: steps
                .map(|(step, (adapter, tool))| Step {
                    id: step.id.clone(),
                    adapter: adapter.clone(),
                    tool: tool.clone(),
                    arguments: step.arguments.clone(),
                    needs: step.needs.clone(),
                    when: None,
                    for_each: None,
                    max_concurrency: None,
                    on_error: OnError::Stop,
                })
                .collect(),
            result: self.result.clone(),
        }
    }

    /// Returns the commands that became steps.
    pub(crate) fn commands(&self, trace: &Trace) -> Vec<u64> {
        self.steps.iter().map(|step| trace.calls[step.call].command).collect()
    }

    /// Describes the flow by what it calls.
    pub(crate) fn description(&self, trace: &Trace) -> String {
        let mut tools: Vec<String> = Vec::new();
        for step in &self.steps {
            let call = &trace.calls[step.call];
            let name = format!("{}/{}", call.adapter, call.tool);
            if tools.last() != Some(&name) {
                tools.push(name);
            }
        }
        let more = tools.len().saturating_sub(8);
        tools.truncate(8);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("Calls {}{rest}", tools.join(", then "))
    }

    /// Says where each step came from and what it waits for.
    pub(crate) fn report(&self, trace: &Trace, report: &mut Report) {
        let origin = |step: &DraftStep| {
            let call = &trace.calls[step.call];
            let mut needs: BTreeSet<String> = step.needs.iter().cloned().collect();
            needs.extend(step.arguments.references().into_iter().map(|reference| reference.step.clone()));
            StepOrigin {
                step: step.id.clone(),
                response: call.response,
                command: call.command,
                call: format!("{}/{}", call.adapter, call.tool),
                needs: needs.into_iter().collect(),
            }
        };
        report.steps = self.steps.iter().map(origin).collect();
    }
}

/// Adds the needs that the order of effects imposes.
fn order_effects(steps: &mut [DraftStep], calls: &[RecordedCall]) {
    let mut reached: Vec<BTreeSet<usize>> = Vec::with_capacity(steps.len());
    for position in 0..steps.len() {
        let is_write = |earlier: usize| calls[steps[earlier].call].is_write();
        let derived: BTreeSet<String> =
            steps[position].arguments.references().into_iter().map(|one| one.step.clone()).collect();
        let mut behind: BTreeSet<usize> =
            (0..position).filter(|earlier| derived.contains(&steps[*earlier].id)).collect();
        for direct in behind.clone() {
            behind.extend(reached[direct].iter().copied());
        }
        let mut needs = Vec::new();
        // The latest first: what it waits for itself need not be named again.
        for earlier in (0..position).rev() {
            if (is_write(position) || is_write(earlier)) && !behind.contains(&earlier) {
                needs.push(steps[earlier].id.clone());
                behind.insert(earlier);
                behind.extend(reached[earlier].iter().copied());
            }
        }
        needs.reverse();
        steps[position].needs = needs;
        reached.push(behind);
    }
}
