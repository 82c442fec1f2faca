//! Parameters inside jq programs: a string that equals the value becomes a variable that the plan binds.

use rote_plan::{Bound, Expression, Reference};
use serde_json::Value;

use super::super::context::Context;
use super::super::draft::Draft;
use super::super::parameters::Parameters;
use super::super::program::{names_variable, string_literals};
use super::super::words::by_text;

/// What is bound to what.
pub(super) struct Binding<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

impl Binding<'_> {
    /// Binds the parameter in the program of a reference, if the recorded answers stay what they were.
    pub(super) fn bind(
        &self,
        cx: &Context<'_>,
        draft: &Draft,
        parameters: &Parameters,
        reference: &Reference,
    ) -> Option<Reference> {
        let variable = self.variable(reference);
        let jq = self.rewritten(&reference.jq, &variable)?;
        let mut bound = Reference { jq, ..reference.clone() };
        bound.with.insert(variable, Bound::Param(self.name.to_owned()));
        let step = draft.steps.iter().find(|step| step.id == reference.step)?;
        let same = |call: &usize| {
            let response = cx.trace.calls[*call].response;
            let run = |reference: &Reference| {
                let values = reference
                    .with
                    .iter()
                    .map(|(name, bound)| Some((name.as_str(), self.known(cx, draft, parameters, bound)?)));
                let values: Vec<(&str, Value)> = values.collect::<Option<_>>()?;
                let program = rote_plan::bind(&reference.jq, values.iter().map(|(name, value)| (*name, value)));
                cx.outputs(response, &program).ok()
            };
            run(reference).is_some_and(|before| run(&bound) == Some(before))
        };
        step.calls.iter().all(same).then_some(bound)
    }

    /// A name for the variable that the program does not use otherwise.
    fn variable(&self, reference: &Reference) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut variable: String = self.name.chars().map(plain).collect();
        let taken = |variable: &str| {
            let own = reference.with.get(variable) == Some(&Bound::Param(self.name.to_owned()));
            !own && (reference.with.contains_key(variable) || names_variable(&reference.jq, variable))
        };
        while taken(&variable) {
            variable.push('_');
        }
        variable
    }

    fn rewritten(&self, program: &str, variable: &str) -> Option<String> {
        let mut text = program.to_owned();
        let mut changed = false;
        for literal in string_literals(program).into_iter().rev() {
            let new = match by_text(&Value::from(literal.text.as_str()), self.name, self.value) {
                None => continue,
                Some(Expression::Text(parts)) => {
                    let part = |part: &Expression| match part {
                        Expression::Literal(text) => text.to_string(),
                        _ => format!("${variable}"),
                    };
                    format!("({})", parts.iter().map(part).collect::<Vec<_>>().join(" + "))
                }
                Some(_) => format!("${variable}"),
            };
            text.replace_range(literal.range, &new);
            changed = true;
        }
        changed.then_some(text)
    }

    /// What a variable had in the recording.
    fn known(&self, cx: &Context<'_>, draft: &Draft, parameters: &Parameters, bound: &Bound) -> Option<Value> {
        match bound {
            Bound::Param(name) if name == self.name => Some(Value::from(self.value)),
            other => known(cx, draft, parameters, other),
        }
    }
}

/// What a variable of a program had in the recording.
pub(in crate::crystallize) fn known(
    cx: &Context<'_>,
    draft: &Draft,
    parameters: &Parameters,
    bound: &Bound,
) -> Option<Value> {
    match bound {
        Bound::Param(name) => parameters.example(name).cloned(),
        Bound::From(inner) => {
            let step = draft.steps.iter().find(|step| step.id == inner.step)?;
            let response = step.call(cx.trace).response;
            cx.result(response, &inner.jq).ok().filter(|_| inner.with.is_empty())
        }
    }
}
