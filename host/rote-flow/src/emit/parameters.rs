//! The parameters of a plan as its sources declare them.

use rote_plan::{Expression, Plan, Step};
use serde_json::Value;

use crate::Frontmatter;

/// What a parameter holds, as far as its schema says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Text; one of these, when there are any.
    Text(Vec<String>),
    Integer,
    Number,
    Boolean,
    List(Box<Kind>),
    Object,
    Any,
}

/// One parameter.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_nullable: bool,
    /// A run may be without it. The host fills in the default of the schema before.
    pub(super) is_optional: bool,
    /// What the plan has in place of one that is not given, where the schema has no default.
    pub(super) default: Option<Value>,
}

impl Parameter {
    /// Whether it is text, a number or a boolean in every run.
    pub(super) fn is_scalar(&self) -> bool {
        !self.is_optional && !self.is_nullable && !matches!(self.kind, Kind::List(_) | Kind::Object | Kind::Any)
    }
}

/// The parameters of a plan.
pub(super) struct Parameters(Vec<Parameter>);

impl Parameters {
    pub(super) fn of(frontmatter: &Frontmatter, plan: &Plan) -> Self {
        let root = &frontmatter.parameters;
        let parameter = |(name, declared): (&String, &rote_plan::Parameter)| {
            let schema = frontmatter.parameter_schemas().find(|(known, _)| known == name).map(|(_, schema)| schema);
            let types = schema.map(|schema| crate::parameter::types_of(root, schema)).unwrap_or_default();
            let is_filled = schema.is_some_and(|schema| schema.get("default").is_some());
            Parameter {
                name: name.clone(),
                kind: schema.map_or(Kind::Any, |schema| kind(root, schema)),
                is_nullable: types.is_empty() || types.iter().any(|one| ["null", "any"].contains(one)),
                is_optional: !declared.required && !is_filled,
                default: declared.default.clone().filter(|_| !is_filled),
            }
        };
        Self(plan.parameters.iter().map(parameter).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Parameter> {
        self.0.iter()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Parameter> {
        self.0.iter().find(|one| one.name == name)
    }

    /// Whether a value is a parameter that a run may be without, or has nothing else to fall back to.
    pub(super) fn may_be_absent(&self, value: &Expression) -> bool {
        match value {
            Expression::Param(name) => self.get(name).is_some_and(|one| one.is_optional && one.default.is_none()),
            Expression::Default(_, fallback) => self.may_be_absent(fallback),
            _ => false,
        }
    }

    /// Whether the items of a loop are texts, numbers or booleans of a list that a run is given.
    pub(super) fn has_scalar_items(&self, step: &Step) -> bool {
        let Some(Expression::Param(name)) = &step.for_each else { return false };
        self.get(name).is_some_and(|one| {
            let is_scalar = |kind: &Kind| matches!(kind, Kind::Text(_) | Kind::Integer | Kind::Number | Kind::Boolean);
            !one.is_optional && !one.is_nullable && matches!(&one.kind, Kind::List(inner) if is_scalar(inner))
        })
    }
}

fn kind(root: &Value, schema: &Value) -> Kind {
    let mut types = crate::parameter::types_of(root, schema);
    types.retain(|one| *one != "null");
    match types.as_slice() {
        ["string"] => {
            let allowed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            Kind::Text(allowed.filter_map(|one| one.as_str().map(str::to_owned)).collect())
        }
        ["integer"] => Kind::Integer,
        ["number"] | ["integer", "number"] | ["number", "integer"] => Kind::Number,
        ["boolean"] => Kind::Boolean,
        ["array"] => {
            let items = schema.get("items").map_or(Kind::Any, |items| kind(root, items));
            let is_nullable =
                schema.get("items").is_some_and(|items| crate::parameter::types_of(root, items).contains(&"null"));
            Kind::List(Box::new(if is_nullable { Kind::Any } else { items }))
        }
        ["object"] => Kind::Object,
        _ => Kind::Any,
    }
}
