//! A dry run: every call that a run would make, with what the gate would say, and nothing sent.
//!
//! A step whose arguments come from earlier responses is shown with placeholders and gets the write guard's
//! verdict only; what its request would be is not known before those responses are.

use std::fmt;

use rote_gate::Preview;
use rote_govern::Verdict;
use rote_home::Home;
use rote_plan::{Reference, Step, Values, evaluate};
use rote_types::{AdapterId, FlowName, ToolCall, WorkspaceName};
use rote_workspace::Workspace;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{RunContext, RunRequest};
use crate::{FlowError, Flows, Package};

/// One call that a run would make.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DryRunCall {
    /// The step.
    pub step: String,
    /// The adapter.
    pub adapter: AdapterId,
    /// The tool.
    pub tool: String,
    /// The arguments; `<s1 .id>` stands for what is not known yet.
    pub arguments: Value,
    /// Whether all arguments are known.
    pub known: bool,
    /// The steps that it waits for.
    pub needs: Vec<String>,
    /// The strictest verdict that is known.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The request, when all arguments are known and it can be made.
    pub preview: Option<Preview>,
}

impl fmt::Display for DryRunCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{} {} {}", self.step, self.adapter, self.tool, self.verdict, self.arguments)?;
        match (self.known, self.needs.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => f.write_str(" (when the flow calls it)"),
            (false, false) => write!(f, " (after {})", self.needs.join(", ")),
        }
    }
}

/// All calls that a run would make, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DryRun {
    /// The flow.
    pub flow: FlowName,
    /// Its version.
    pub version: String,
    /// The parameters, typed.
    pub parameters: Map<String, Value>,
    /// The calls.
    pub calls: Vec<DryRunCall>,
}

impl Flows {
    /// Lists what a run would do. Sends nothing, leaves no workspace.
    ///
    /// # Errors
    /// What the preflight of a run would find.
    pub async fn dry_run(&self, request: &RunRequest) -> Result<DryRun, FlowError> {
        let Some(flow) = &request.flow else {
            return Err(FlowError::Usage { message: "a dry run needs the name of a flow".to_owned() });
        };
        let (package, parameters) = self.preflight(flow, &request.parameters)?;
        let root = self.scratch("dry-run-")?;
        let home = Home::open(root.path())?;
        let name = WorkspaceName::try_from("dry-run".to_owned())
            .map_err(|error| FlowError::Usage { message: error.to_string() })?;
        let workspace = Workspace::create(&home, &name, self.parts.clock.now())?;
        let context = RunContext::plain(workspace, &package.frontmatter);
        let calls = match package.plan() {
            Some(plan) => {
                let mut calls = Vec::with_capacity(plan.steps.len());
                for step in &plan.steps {
                    calls.push(self.describe(&context, step, &parameters).await?);
                }
                calls
            }
            None => self.declared(&package)?,
        };
        let frontmatter = package.frontmatter;
        Ok(DryRun { flow: frontmatter.name, version: frontmatter.version, parameters, calls })
    }

    /// The tools that a program declares. Which of them it calls, and how often, is known only when it runs.
    fn declared(&self, package: &Package) -> Result<Vec<DryRunCall>, FlowError> {
        let mut calls = Vec::new();
        for (adapter, pin) in &package.frontmatter.adapters {
            for tool in pin.tools.keys() {
                let arguments = Value::Object(Map::new());
                let call = ToolCall { adapter: adapter.clone(), tool: tool.clone(), arguments: arguments.clone() };
                let (verdict, reason) = self.parts.tools.verdict(&call)?;
                let (step, needs) = ("declared".to_owned(), Vec::new());
                let ToolCall { adapter, tool, .. } = call;
                calls.push(DryRunCall {
                    step,
                    adapter,
                    tool,
                    arguments,
                    known: false,
                    needs,
                    verdict,
                    reason,
                    preview: None,
                });
            }
        }
        Ok(calls)
    }

    async fn describe(
        &self,
        context: &RunContext,
        step: &Step,
        parameters: &Map<String, Value>,
    ) -> Result<DryRunCall, FlowError> {
        let mut holes = Holes { parameters, known: true };
        let arguments = match evaluate(&step.arguments, &mut holes) {
            Ok(arguments) => arguments.unwrap_or_else(|| Value::Object(Map::new())),
            Err(absent) => {
                return Err(FlowError::Usage { message: format!("parameter `{absent}` is needed by `{}`", step.id) });
            }
        };
        let known = holes.known;
        let adapter: AdapterId = step
            .adapter
            .parse()
            .map_err(|error: rote_types::IdError| FlowError::Malformed { what: "plan", message: error.to_string() })?;
        let call = ToolCall { adapter: adapter.clone(), tool: step.tool.clone(), arguments: arguments.clone() };
        let (mut verdict, mut reason) = self.parts.tools.verdict(&call)?;
        let mut preview = None;
        if known {
            match self.parts.tools.preview(context, &call).await {
                Ok(seen) => {
                    verdict = verdict.max(seen.verdict);
                    let decisive = seen
                        .stages
                        .iter()
                        .find(|stage| stage.verdict == seen.verdict && seen.verdict != Verdict::Allow);
                    reason = decisive.map_or(reason, |stage| stage.message.to_string());
                    preview = Some(seen);
                }
                Err(error) => reason = error.to_string(),
            }
        }
        let needs = step.all_needs().into_iter().map(ToOwned::to_owned).collect();
        let (step, tool) = (step.id.clone(), step.tool.clone());
        Ok(DryRunCall { step, adapter, tool, arguments, known, needs, verdict, reason, preview })
    }
}

/// Parameters as they are; parts of responses as placeholders.
struct Holes<'a> {
    parameters: &'a Map<String, Value>,
    known: bool,
}

impl Values for Holes<'_> {
    type Error = String;

    fn parameter(&mut self, name: &str) -> Result<Option<Value>, String> {
        Ok(self.parameters.get(name).cloned())
    }

    fn reference(&mut self, reference: &Reference) -> Result<Value, String> {
        self.known = false;
        Ok(Value::String(format!("<{} {}>", reference.step, reference.jq)))
    }

    fn item(&mut self, program: &str) -> Result<Value, String> {
        self.known = false;
        Ok(Value::String(format!("<item {program}>")))
    }

    fn index(&mut self) -> Result<Value, String> {
        self.known = false;
        Ok(Value::String("<index>".to_owned()))
    }

    fn absent(&mut self, name: &str) -> String {
        name.to_owned()
    }
}
