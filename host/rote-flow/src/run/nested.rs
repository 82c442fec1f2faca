//! Runs within runs: a composite flow starts flows that it pins by digest, each in a workspace of its own.

use std::sync::Arc;

use rote_runtime::{NoObserver, RunError};
use rote_types::{FlowName, WorkspaceName};
use serde_json::Value;

use super::{Resume, RunContext, RunRequest};
use crate::{FlowError, FlowReference, FlowStatus, Flows, ParameterInput};

/// What a run needs to start others.
pub(crate) struct Nested {
    flows: Flows,
    context: RunContext,
    depth: u32,
}

impl Nested {
    pub(crate) fn new(flows: Flows, context: RunContext, depth: u32) -> Self {
        Self { flows, context, depth }
    }

    /// Makes the workspace of a nested run; nothing runs yet.
    pub(crate) fn begin(&self, name: &str, parameters: &Value) -> Result<String, RunError> {
        self.try_begin(name, parameters).map_err(|error| RunError::nested(&error))
    }

    fn try_begin(&self, name: &str, parameters: &Value) -> Result<String, FlowError> {
        let reference = self.pinned(name)?;
        let begun = self.flows.begin_new(&reference, &input(parameters)?)?;
        Ok(begun.workspace.name().to_string())
    }

    /// Returns the flow of that name when the running flow pins it and it is still that one, and released.
    fn pinned(&self, name: &str) -> Result<FlowReference, FlowError> {
        let flow = self.context.frontmatter.name.clone();
        let refused = |reason: String| FlowError::NestedFlow { flow: flow.clone(), name: name.to_owned(), reason };
        let named: FlowName = name.parse().map_err(|_| refused("that is no flow's name".to_owned()))?;
        let Some(pin) = self.context.frontmatter.flows.get(&named) else {
            return Err(refused("its frontmatter does not pin it".to_owned()));
        };
        let reference = FlowReference::Name(named);
        let (_, package) = self.flows.load(&reference)?;
        if package.digest() != pin.sha256 {
            return Err(refused(format!("it pins version {} of another digest", pin.version)));
        }
        if package.frontmatter.status != FlowStatus::Released {
            return Err(refused("it is not released".to_owned()));
        }
        Ok(reference)
    }

    /// Runs a flow whose workspace was made, or goes on with it there.
    pub(crate) async fn finish(&self, workspace: &str, name: &str, parameters: &Value) -> Result<Value, RunError> {
        let result = Box::pin(self.try_finish(workspace, name, parameters)).await;
        result.map_err(|error| RunError::nested(&error))
    }

    async fn try_finish(&self, workspace: &str, name: &str, parameters: &Value) -> Result<Value, FlowError> {
        let reference = self.pinned(name)?;
        let workspace = WorkspaceName::try_from(workspace.to_owned())
            .map_err(|error| FlowError::Usage { message: error.to_string() })?;
        let request = RunRequest {
            flow: Some(reference.clone()),
            parameters: input(parameters)?,
            resume: Some(Resume::Workspace(workspace.clone())),
            retry: Vec::new(),
            confirm: self.context.confirm.clone(),
            limits: self.context.limits,
            record: None,
        };
        let begun = self.flows.go_on(&workspace, Some(&reference), &request)?;
        let report = self.flows.execute(&request, begun, Arc::new(NoObserver), self.depth + 1).await?;
        Ok(report.result)
    }
}

fn input(parameters: &Value) -> Result<ParameterInput, FlowError> {
    match parameters {
        Value::Object(members) => Ok(ParameterInput::Json(members.clone())),
        _ => Err(FlowError::Usage { message: "the parameters of a flow are an object".to_owned() }),
    }
}
