//! The plan: parameters, steps, result; and the checks that make it safe to run.
//!
//! Every key is known: an unknown one is refused, because it may mean something to a newer rote. Later versions
//! of the format add keys and raise `version`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Expression, PlanError};

/// The version of the format that this crate reads and writes.
pub const VERSION: u64 = 1;
/// Most bytes of a plan as JSON text.
pub const MAX_PLAN_BYTES: usize = 4 << 20;
/// Most steps of a plan.
pub const MAX_STEPS: usize = 1_000;
/// Most parameters of a plan.
pub const MAX_PARAMETERS: usize = 200;
/// Deepest nesting of an expression.
pub const MAX_DEPTH: usize = 64;
/// Most bytes of one jq program.
pub const MAX_PROGRAM_BYTES: usize = 16 << 10;

/// A program over tools, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the format: [`VERSION`].
    pub version: u64,
    /// What a run can be given, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// The calls, in the order in which independent ones start.
    pub steps: Vec<Step>,
    /// What a run returns.
    pub result: Expression,
}

/// One parameter. Its type is declared in the flow's frontmatter and checked there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Whether a run without it is refused. A default makes it optional whatever this says.
    #[serde(default)]
    pub required: bool,
    /// The value when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub default: Option<Value>,
}

/// One call of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name in the plan.
    pub id: String,
    /// The adapter.
    pub adapter: String,
    /// The tool of that adapter.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Expression,
    /// Steps that must be done first although no value of theirs is used, such as a write before a read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// Keeps `"default": null` apart from no default.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Step {
    /// Returns the ids of all steps that must be done first: the explicit needs and those whose responses the
    /// arguments use.
    #[must_use]
    pub fn all_needs(&self) -> BTreeSet<&str> {
        let derived = self.arguments.references().into_iter().map(|reference| reference.step.as_str());
        self.needs.iter().map(String::as_str).chain(derived).collect()
    }
}

impl Plan {
    /// Reads and validates a plan.
    ///
    /// # Errors
    /// See [`PlanError`]; the author of the text is to blame.
    pub fn parse(bytes: &[u8]) -> Result<Self, PlanError> {
        if bytes.len() > MAX_PLAN_BYTES {
            return Err(PlanError::TooLarge { what: "bytes", limit: MAX_PLAN_BYTES });
        }
        check_version(bytes)?;
        let plan: Self =
            serde_json::from_slice(bytes).map_err(|error| PlanError::Syntax { message: error.to_string() })?;
        plan.validate()?;
        Ok(plan)
    }

    /// Checks everything that [`Plan::parse`] promises.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.version != VERSION {
            return Err(PlanError::Version { found: self.version });
        }
        if self.steps.len() > MAX_STEPS {
            return Err(PlanError::TooLarge { what: "steps", limit: MAX_STEPS });
        }
        if self.parameters.len() > MAX_PARAMETERS {
            return Err(PlanError::TooLarge { what: "parameters", limit: MAX_PARAMETERS });
        }
        if let Some(name) = self.parameters.keys().find(|name| !is_name(name)) {
            return Err(PlanError::Name { name: name.clone() });
        }
        let steps = self.step_ids()?;
        for step in &self.steps {
            if !step.arguments.is_object() {
                return Err(PlanError::Arguments { step: step.id.clone() });
            }
            if let Some(unknown) = step.needs.iter().find(|id| !steps.contains(id.as_str())) {
                return Err(PlanError::UnknownStep { by: step.id.clone(), step: unknown.clone() });
            }
            self.check_expression(&step.id, &step.arguments, &steps)?;
        }
        self.check_expression("result", &self.result, &steps)?;
        self.check_cycles()
    }

    fn step_ids(&self) -> Result<BTreeSet<&str>, PlanError> {
        let mut ids = BTreeSet::new();
        for step in &self.steps {
            if !is_name(&step.id) {
                return Err(PlanError::Name { name: step.id.clone() });
            }
            if !ids.insert(step.id.as_str()) {
                return Err(PlanError::DuplicateStep { step: step.id.clone() });
            }
        }
        Ok(ids)
    }

    fn check_expression(&self, by: &str, expression: &Expression, steps: &BTreeSet<&str>) -> Result<(), PlanError> {
        if expression.depth() > MAX_DEPTH {
            return Err(PlanError::TooLarge { what: "levels of nesting", limit: MAX_DEPTH });
        }
        if let Some(unknown) = expression.parameters().into_iter().find(|name| !self.parameters.contains_key(*name)) {
            return Err(PlanError::UnknownParameter { by: by.to_owned(), parameter: unknown.to_owned() });
        }
        for reference in expression.references() {
            if !steps.contains(reference.step.as_str()) {
                return Err(PlanError::UnknownStep { by: by.to_owned(), step: reference.step.clone() });
            }
            if reference.jq.len() > MAX_PROGRAM_BYTES {
                return Err(PlanError::TooLarge { what: "bytes in a jq program", limit: MAX_PROGRAM_BYTES });
            }
        }
        Ok(())
    }

    /// Takes away steps whose needs are met until nothing changes; what is left is in or behind a cycle.
    fn check_cycles(&self) -> Result<(), PlanError> {
        let needs: Vec<(&str, BTreeSet<&str>)> =
            self.steps.iter().map(|step| (step.id.as_str(), step.all_needs())).collect();
        let mut done: BTreeSet<&str> = BTreeSet::new();
        loop {
            let before = done.len();
            for (id, needs) in &needs {
                if !done.contains(id) && needs.is_subset(&done) {
                    done.insert(id);
                }
            }
            if done.len() == self.steps.len() {
                return Ok(());
            }
            if done.len() == before {
                let steps = needs.iter().filter(|(id, _)| !done.contains(id)).map(|(id, _)| (*id).to_owned());
                return Err(PlanError::Cycle { steps: steps.collect() });
            }
        }
    }
}

/// Reads the version alone first, so that a plan of a newer format is named as such and not as a typing error.
fn check_version(bytes: &[u8]) -> Result<(), PlanError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    let Versioned { version } =
        serde_json::from_slice(bytes).map_err(|error| PlanError::Syntax { message: error.to_string() })?;
    if version == VERSION { Ok(()) } else { Err(PlanError::Version { found: version }) }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}
