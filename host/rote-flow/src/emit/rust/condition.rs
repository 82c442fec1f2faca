//! Conditions in Rust.

use rote_plan::{Condition, Expression, Operator, Reference};
use serde_json::Value;

use super::super::condition::joined;
use super::value::{of_scalar, program};
use super::{Scope, Seen, Writer};

impl Writer<'_> {
    /// A condition; in parentheses where it stands beside others and needs them.
    pub(super) fn condition(&self, condition: &Condition, scope: Scope<'_>, alone: bool) -> String {
        let exists = |left: &Expression, negated: bool| {
            let exists = self.exists(left, scope);
            if negated { format!("!{exists}") } else { exists }
        };
        joined(condition, alone, &|left, op, right| self.comparison(left, op, right, scope), &exists)
    }

    fn comparison(&self, left: &Expression, op: Operator, right: &Expression, scope: Scope<'_>) -> String {
        let ordered = |which: &str| {
            format!("{}(&{}, &{})?.{which}()", self.helper("compare"), self.side(left, scope), self.side(right, scope))
        };
        match op {
            Operator::Eq => self.equal(left, right, scope, false),
            Operator::Ne => self.equal(left, right, scope, true),
            Operator::Lt => ordered("is_lt"),
            Operator::Le => ordered("is_le"),
            Operator::Gt => ordered("is_gt"),
            Operator::Ge => ordered("is_ge"),
            Operator::Contains => {
                format!("{}(&{}, &{})?", self.helper("contains"), self.side(left, scope), self.side(right, scope))
            }
            Operator::Exists => self.exists(left, scope),
        }
    }

    fn equal(&self, left: &Expression, right: &Expression, scope: Scope<'_>, negated: bool) -> String {
        let sign = if negated { "!=" } else { "==" };
        let not = if negated { "!" } else { "" };
        match right {
            Expression::Literal(Value::Null) => format!("{not}{}.is_null()", self.side(left, scope)),
            Expression::Literal(value @ (Value::String(_) | Value::Bool(_))) => {
                format!("{} {sign} {}", self.side(left, scope), of_scalar(value))
            }
            // By value: `0` is `0.0`.
            Expression::Literal(Value::Number(number))
                if number.as_i64().is_some_and(|n| n.unsigned_abs() < 1 << 53) =>
            {
                format!("{}.as_f64() {sign} Some({number}.0)", self.side(left, scope))
            }
            right => {
                format!("{not}{}(&{}, &{})", self.helper("same"), self.side(left, scope), self.side(right, scope))
            }
        }
    }

    /// A side; a parameter that was not given is null.
    fn side(&self, side: &Expression, scope: Scope<'_>) -> String {
        match side {
            Expression::Param(name) if self.parameters.get(name).is_some_and(|one| one.default.is_none()) => {
                format!("json!({})", self.param(name))
            }
            Expression::Default(..) | Expression::Param(_) => format!("({})", self.expression(side, scope)),
            other => self.expression(other, scope),
        }
    }

    fn exists(&self, left: &Expression, scope: Scope<'_>) -> String {
        let missing = self.missing(left, scope);
        let mut present = scope.present.clone();
        present.extend(missing.iter().map(|step| (*step, Seen::Borrowed)));
        let there = self.is_there(left, Scope { present: &present, ..scope });
        if missing.is_empty() { there } else { format!("({})", self.matched(&missing, &there, "false")) }
    }

    fn is_there(&self, left: &Expression, scope: Scope<'_>) -> String {
        if let Expression::Param(name) = left
            && self.parameters.get(name).is_some_and(|one| one.is_optional && !one.is_nullable && one.default.is_none())
        {
            return format!("{}.is_some()", self.param(name));
        }
        let Expression::From(Reference { step, jq, with, .. }) = left else {
            return format!("!{}.is_null()", self.side(left, scope));
        };
        if self.is_several(step) {
            let all = Reference { step: step.clone(), jq: jq.clone(), each: true, with: with.clone() };
            return format!("{}.iter().any(|output| !output.is_null())", self.reference(&all, scope));
        }
        let values = self.values(with, scope).unwrap_or_else(|| "&[]".to_owned());
        if self.is_list(step) {
            let all = self.helper("all_of_pages");
            let all = format!("{all}(cx, {}, {}, {values})?", self.answer(step, scope), program(jq));
            return format!("{all}.iter().any(|output| !output.is_null())");
        }
        format!("{}({}, {}, {values})?", self.helper("exists"), self.answer(step, scope), program(jq))
    }
}
