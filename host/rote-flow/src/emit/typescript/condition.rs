//! Conditions in TypeScript.

use rote_plan::{Condition, Expression, Operator, Reference};

use super::super::condition::joined;
use super::super::outline::steps_of;
use super::value::program;
use super::{Scope, Writer};

impl Writer<'_> {
    /// A condition; in parentheses where it stands beside others and needs them.
    pub(super) fn condition(&self, condition: &Condition, scope: Scope<'_>, alone: bool) -> String {
        let exists = |left: &Expression, negated: bool| self.exists(left, scope, negated);
        joined(condition, alone, &|left, op, right| self.comparison(left, op, right, scope), &exists)
    }

    fn comparison(&self, left: &Expression, op: Operator, right: &Expression, scope: Scope<'_>) -> String {
        let (mine, other) = (self.side(left, scope), self.side(right, scope));
        let ordered = |sign: &str| format!("{}({mine}, {other}) {sign} 0", self.helper("compare"));
        let is_scalar =
            |one: &Expression| matches!(one, Expression::Literal(value) if !value.is_array() && !value.is_object());
        let scalar = is_scalar(left) || is_scalar(right);
        match op {
            Operator::Eq if scalar => format!("{mine} === {other}"),
            Operator::Ne if scalar => format!("{mine} !== {other}"),
            Operator::Eq => format!("{}({mine}, {other})", self.helper("same")),
            Operator::Ne => format!("!{}({mine}, {other})", self.helper("same")),
            Operator::Lt => ordered("<"),
            Operator::Le => ordered("<="),
            Operator::Gt => ordered(">"),
            Operator::Ge => ordered(">="),
            Operator::Contains => format!("{}({mine}, {other})", self.helper("contains")),
            Operator::Exists => self.exists(left, scope, false),
        }
    }

    /// A side; a parameter that was not given is null.
    fn side(&self, side: &Expression, scope: Scope<'_>) -> String {
        let text = self.inline(side, scope);
        match side {
            Expression::Param(name) if self.parameters.get(name).is_some_and(|one| one.is_optional) => {
                format!("({text} ?? null)")
            }
            Expression::Default(..) => format!("({text})"),
            _ => text,
        }
    }

    fn exists(&self, left: &Expression, scope: Scope<'_>, negated: bool) -> String {
        let mut missing: Vec<&str> = steps_of(left).filter(|step| self.is_missing(step, scope)).collect();
        missing.sort_unstable();
        missing.dedup();
        let present = scope.present.iter().copied().chain(missing.iter().copied()).collect();
        let there = self.is_there(left, Scope { present: &present, ..scope });
        let mut parts: Vec<String> =
            missing.iter().map(|step| format!("{} !== undefined", self.names.step(step))).collect();
        parts.push(there);
        match (parts.len(), negated) {
            (1, false) => parts.concat(),
            (1, true) if parts[0].contains("!==") => format!("!({})", parts[0]),
            (1, true) => format!("!{}", parts[0]),
            (_, true) => format!("!({})", parts.join(" && ")),
            (_, false) => format!("({})", parts.join(" && ")),
        }
    }

    fn is_there(&self, left: &Expression, scope: Scope<'_>) -> String {
        if let Expression::Param(name) = left
            && self.parameters.get(name).is_some_and(|one| one.is_optional && !one.is_nullable && one.default.is_none())
        {
            return format!("{} !== undefined", self.param(name));
        }
        let Expression::From(Reference { step, jq, with, .. }) = left else {
            return format!("{} !== null", self.side(left, scope));
        };
        let values = self.values(with, scope);
        let more = if values.is_empty() { String::new() } else { format!(", {values}") };
        let name = self.names.step(step);
        if self.is_list(step) {
            let all = self.helper("allOfPages");
            return format!("(await {all}({name}, {}{more})).some((output) => output !== null)", program(jq));
        }
        let exists = self.helper("exists");
        if self.step_of(step).is_some_and(|step| step.for_each.is_some()) {
            let answer = self.names.answer(step);
            return format!("{name}.some(({answer}) => {exists}({answer}, {}{more}))", program(jq));
        }
        format!("{exists}({name}, {}{more})", program(jq))
    }
}
