//! Parameters inside jq programs: a string that equals the value becomes a variable that the plan binds.

use rote_plan::{Bound, Expression, Reference, text_of};
use serde_json::Value;

use super::super::context::Context;
use super::super::draft::Draft;
use super::super::parameters::Parameters;
use super::super::program::{names_variable, string_literals};
use super::super::words::by_text;
use super::by_name_only;
use crate::literals::{DAY, looks_like, walk_scalars};

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
        let jq = self.rewritten(cx, &reference.jq, &variable)?;
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

    fn rewritten(&self, cx: &Context<'_>, program: &str, variable: &str) -> Option<String> {
        let mut text = program.to_owned();
        let mut changed = false;
        for literal in string_literals(program).into_iter().rev() {
            let new = match by_text(&Value::from(literal.text.as_str()), self.name, self.value) {
                None => continue,
                // A time that an answer has is that of a thing, whatever day the parameter is: it is asked.
                Some(Expression::Text(_)) if is_of_an_answer(cx, &literal.text) => continue,
                Some(Expression::Text(parts)) => spliced(&parts, variable),
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

/// Whether a text is a time that stands in a recorded answer.
fn is_of_an_answer(cx: &Context<'_>, text: &str) -> bool {
    let mut found = false;
    if looks_like(&Value::from(text)) == Some(DAY) {
        for body in cx.trace.calls.iter().filter_map(|call| cx.body(call.response)) {
            walk_scalars(&body, String::new(), &mut |_, value| found |= *value == *text);
        }
    }
    found
}

/// A text as a program that puts it together: what stands around a parameter, and that.
pub(in crate::crystallize) fn spliced(parts: &[Expression], variable: &str) -> String {
    let part = |part: &Expression| match part {
        Expression::Literal(text) => text.to_string(),
        _ => format!("${variable}"),
    };
    format!("({})", parts.iter().map(part).collect::<Vec<_>>().join(" + "))
}

/// The parameters that a value in a program may be, or may have as a part: these were not bound, since a number means something
/// only under a name, and a time may be that of a thing.
pub(in crate::crystallize) fn given_as(
    parameters: &Parameters,
    value: &Value,
) -> Vec<(String, Option<Vec<Expression>>)> {
    let fits = |(name, example): (&str, &Value)| {
        if text_of(example) == text_of(value) {
            return Some((name.to_owned(), None));
        }
        let text = example.as_str().filter(|text| !text.is_empty() && !by_name_only(text))?;
        match by_text(value, name, text)? {
            Expression::Text(parts) => Some((name.to_owned(), Some(parts))),
            _ => Some((name.to_owned(), None)),
        }
    };
    parameters.longest_first().into_iter().filter_map(fits).collect()
}

/// The reference with every parameter bound in its program; a number or a boolean means something only under a name.
pub(in crate::crystallize) fn with_parameters(
    cx: &Context<'_>,
    draft: &Draft,
    parameters: &Parameters,
    reference: Reference,
) -> Reference {
    let texts = parameters.longest_first().into_iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    texts.filter(|(_, value)| !value.is_empty()).fold(reference, |reference, (name, value)| {
        let bound = Binding { name, value }.bind(cx, draft, parameters, &reference);
        bound.unwrap_or(reference)
    })
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
            let value = |(name, bound): (&String, &Bound)| Some((name.clone(), known(cx, draft, parameters, bound)?));
            let values: Vec<(String, Value)> = inner.with.iter().map(value).collect::<Option<_>>()?;
            let program = rote_plan::bind(&inner.jq, values.iter().map(|(name, value)| (name.as_str(), value)));
            cx.result(response, &program).ok()
        }
    }
}
