//! Finding the fields that are credentials, counting how many operations ask for them, and taking them out of what an
//! agent fills.

use std::collections::{BTreeSet, HashMap};

use rote_request::Location;
use rote_types::{AuthKind, SecurityAlternative};

use super::{Field, Place, is_about, is_common};
use crate::notices::Notes;
use crate::openapi::body::{self, BodyPlan};
use crate::openapi::documents::Node;
use crate::openapi::media::{self, Class};
use crate::openapi::operation::Place as Operation;
use crate::openapi::parameters::{self, Declarations, Declared};
use crate::openapi::reader::Reader;

/// Most fields of one body that are looked at.
const MOST_FIELDS: usize = 500;
/// How deep `allOf` is followed.
const DEEPEST: u8 = 8;

/// One credential that an operation asks for in a parameter.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    kind: AuthKind,
    place: String,
    required: bool,
}

/// The names that most operations of the API ask for.
#[derive(Debug, Default)]
pub(crate) struct Common(BTreeSet<String>);

impl Common {
    /// Counts over all operations.
    pub(crate) fn count(reader: &Reader<'_>, operations: &[Operation<'_>]) -> Self {
        let mut asking: HashMap<String, usize> = HashMap::new();
        for operation in operations.iter().filter(|operation| !is_about(operation)) {
            for name in asked_names(reader, operation) {
                *asking.entry(name).or_default() += 1;
            }
        }
        let common = asking.into_iter().filter(|(_, count)| is_common(*count, operations.len()));
        Self(common.map(|(name, _)| name).collect())
    }

    fn is_credential(&self, field: &Field<'_>, about: bool) -> bool {
        field.is_credential(about, self.0.contains(&field.plain()))
    }
}

/// The names of what may be credentials in one operation. What is wrong with it is noted when it becomes a tool.
fn asked_names(reader: &Reader<'_>, operation: &Operation<'_>) -> BTreeSet<String> {
    let notes = Notes::default();
    let declarations = parameters::declared(reader, &operation.item, &operation.operation, &notes);
    let body = body::plan(reader, &operation.operation, &declarations, &notes);
    let of_wire = declarations.wire().filter_map(|(location, declared)| wire_field(*location, declared));
    let of_body = body.iter().flat_map(|plan| body_fields(reader, plan));
    let of_body = of_body.filter_map(|(place, one)| one.field(place).may_be().then(|| one.field(place).plain()));
    of_wire.filter(Field::may_be).map(|field| field.plain()).chain(of_body).collect()
}

/// Takes the credentials of one operation out of its parameters and its body.
pub(crate) fn take<'a>(
    reader: &Reader<'a>,
    common: &Common,
    operation: &Operation<'a>,
    declarations: &mut Declarations<'a>,
    body: Option<&mut BodyPlan<'a>>,
) -> Vec<Found> {
    let about = is_about(operation);
    let mut found = Vec::new();
    declarations.keep_wire(|location, declared| {
        let field = wire_field(location, declared).filter(|field| common.is_credential(field, about));
        let is_kept = field.is_none();
        found.extend(field.map(|field| Found::new(reader, &field, &declared.node)));
        is_kept
    });
    if let Some(plan) = body {
        for (place, one) in body_fields(reader, plan) {
            let field = one.field(place);
            if common.is_credential(&field, about) {
                found.push(Found::new(reader, &field, &one.node));
                plan.fill(one.name);
            }
        }
    }
    found
}

impl Found {
    fn new(reader: &Reader<'_>, field: &Field<'_>, node: &Node<'_>) -> Self {
        Self { kind: field.kind(), place: reader.place(node), required: field.required }
    }
}

fn wire_field<'d>(location: Location, declared: &'d Declared<'_>) -> Option<Field<'d>> {
    let place = match location {
        Location::Header => Place::Header,
        Location::Query => Place::Query,
        Location::Path | Location::Cookie => return None,
    };
    let required = declared.node.flag("required");
    Some(field(place, declared.name, required, &declared.node))
}

fn field<'d>(place: Place, name: &'d str, required: bool, node: &'d Node<'_>) -> Field<'d> {
    let kind = node.get("schema").as_ref().and_then(|schema| schema.text("type")).or_else(|| node.text("type"));
    let is_text = kind.is_none_or(|kind| kind == "string");
    Field { place, name, required, is_text, description: node.text("description").unwrap_or("") }
}

/// A field of a body.
struct BodyField<'a> {
    name: &'a str,
    node: Node<'a>,
    required: bool,
}

impl BodyField<'_> {
    fn field(&self, place: Place) -> Field<'_> {
        field(place, self.name, self.required, &self.node)
    }
}

/// The fields of a body that the gate can fill.
fn body_fields<'a>(reader: &Reader<'a>, plan: &BodyPlan<'a>) -> Vec<(Place, BodyField<'a>)> {
    let place = match plan.class {
        Class::Form => Place::Form,
        Class::Multipart if media::essence(&plan.content_type) == "multipart/form-data" => Place::Form,
        Class::Json => Place::Json,
        _ => return Vec::new(),
    };
    let mut fields = Vec::new();
    for declared in &plan.fields {
        let required = declared.node.flag("required");
        fields.push(BodyField { name: declared.name, node: declared.node.clone(), required });
    }
    if let Some(schema) = &plan.schema
        && collect(reader, schema.clone(), DEEPEST, &mut fields).is_none()
    {
        return Vec::new();
    }
    fields.into_iter().map(|field| (place, field)).collect()
}

/// Adds the properties of an object; `None` when it has variants, or cannot be read.
fn collect<'a>(reader: &Reader<'a>, schema: Node<'a>, depth: u8, fields: &mut Vec<BodyField<'a>>) -> Option<()> {
    let schema = reader.documents.resolve(schema).ok()?;
    let has_variants = ["anyOf", "oneOf", "not", "if"].iter().any(|key| schema.get(key).is_some());
    if has_variants || depth == 0 {
        return None;
    }
    let required: Vec<&str> = schema
        .get("required")
        .iter()
        .flat_map(|names| names.value.as_array().into_iter().flatten())
        .filter_map(serde_json::Value::as_str)
        .take(MOST_FIELDS)
        .collect();
    for (name, property) in schema.get("properties").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
        if fields.len() >= MOST_FIELDS {
            return None;
        }
        let node = reader.documents.resolve(property).ok()?;
        fields.push(BodyField { name, node, required: required.contains(&name) });
    }
    for part in schema.get("allOf").iter().flat_map(|parts| parts.elements().collect::<Vec<_>>()) {
        collect(reader, part, depth - 1, fields)?;
    }
    Some(())
}

/// How a required `Authorization` header travels, from what is said of it.
fn authorization(node: &Node<'_>, name: &str) -> AuthKind {
    let text = node.text("description").unwrap_or("").to_lowercase();
    match (text.contains("bearer"), text.contains("basic")) {
        (true, false) => AuthKind::Bearer,
        (false, true) => AuthKind::Basic,
        _ => AuthKind::ApiKeyHeader { name: name.to_owned() },
    }
}

/// Adds what an operation's own parameters want to each way to authenticate.
pub(crate) fn add_to(
    alternatives: &mut Vec<SecurityAlternative>,
    reader: &Reader<'_>,
    declarations: &Declarations<'_>,
    mut found: Vec<Found>,
) {
    if let (true, Some(declared)) = (alternatives.is_empty(), &declarations.authorization) {
        // OpenAPI asks to ignore such a header, in favour of a security section; here there is none.
        let kind = authorization(&declared.node, declared.name);
        found.push(Found { kind, place: reader.place(&declared.node), required: true });
    }
    let mut slots: (Vec<String>, Vec<String>) = Default::default();
    for one in found {
        let slot = reader.schemes.parameter(one.kind, &one.place);
        let side = if one.required { &mut slots.0 } else { &mut slots.1 };
        if !side.contains(&slot) {
            side.push(slot);
        }
    }
    let (required, optional) = slots;
    if required.is_empty() && optional.is_empty() {
        return;
    }
    let with = |way: &[String], more: &[String]| {
        let new = more.iter().filter(|slot| !way.contains(slot)).cloned();
        way.iter().cloned().chain(new).collect::<SecurityAlternative>()
    };
    let anonymous = alternatives.is_empty() || alternatives.iter().any(Vec::is_empty);
    let own = optional.iter().map(|slot| with(&required, std::slice::from_ref(slot)));
    let schemes = alternatives.iter().filter(|way| !way.is_empty()).map(|way| with(way, &required));
    let mut ways: Vec<SecurityAlternative> = schemes.chain(own).collect();
    if anonymous {
        ways.push(required);
    }
    let mut seen = BTreeSet::new();
    ways.retain(|way| seen.insert(way.clone()));
    *alternatives = ways;
}
