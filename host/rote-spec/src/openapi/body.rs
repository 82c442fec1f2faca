//! Request bodies: which media type is sent, which arguments it is made of, and how its bytes are made.
//!
//! A body is flattened into arguments only where that is unambiguous: an object with known properties, no
//! variants that matter ([`one_object`]), no open extras, no clash with a parameter and no field name that is unseen or looks like an option.
//! Else one argument holds all of it. Invariant: an operation that takes a body in the source takes one here,
//! whatever could not be read of it.

use rote_request::{Body, BodyArguments, BodyField, MediaKind, REQUEST_BODY_ARGUMENT};
use serde_json::{Map, Value, json};

use crate::names::is_plain_argument;
use crate::notices::Notes;
use crate::openapi::documents::Node;
use crate::openapi::form;
use crate::openapi::media::{self, Class};
use crate::openapi::parameters::{Declarations, Declared};
use crate::openapi::reader::Reader;
use crate::openapi::schema::SchemaWriter;
use crate::openapi::xml;

/// A body before its schema is written.
#[derive(Debug)]
pub(crate) struct BodyPlan<'a> {
    pub(crate) content_type: String,
    pub(crate) class: Class,
    pub(crate) schema: Option<Node<'a>>,
    /// Swagger 2's form fields, in place of a schema.
    pub(crate) fields: Vec<Declared<'a>>,
    /// OpenAPI's `encoding` by field.
    pub(crate) encoding: Option<Node<'a>>,
    pub(crate) required: bool,
    pub(crate) description: &'a str,
    /// Fields that the gate fills; they are not arguments.
    filled: Vec<&'a str>,
}

/// Finds the body of an operation.
pub(crate) fn plan<'a>(
    reader: &Reader<'a>,
    operation: &Node<'a>,
    declarations: &Declarations<'a>,
    notes: &Notes,
) -> Option<BodyPlan<'a>> {
    if reader.is_swagger() {
        return plan_swagger(reader, operation, declarations, notes);
    }
    let declared = operation.get("requestBody")?;
    let place = reader.place(&declared);
    let open = BodyPlan {
        content_type: "application/json".to_owned(),
        class: Class::Json,
        schema: None,
        fields: Vec::new(),
        encoding: None,
        required: false,
        description: "",
        filled: Vec::new(),
    };
    let Some(body) = reader.resolve(declared, "request body left open", notes) else {
        return Some(open);
    };
    let required = body.flag("required");
    let description = body.text("description").unwrap_or("");
    let content: Vec<(&str, Node<'a>)> = body.get("content").map_or_else(Vec::new, |all| all.members().collect());
    let choices = content.iter().map(|(name, media)| (*name, media.get("schema")));
    let Some(index) = media::preferred(choices) else {
        notes.add(&place, "request body without `content` taken as JSON");
        return Some(BodyPlan { required, description, ..open });
    };
    let (name, media) = &content[index];
    let media = reader.resolve(media.clone(), "media type left open", notes);
    Some(BodyPlan {
        content_type: media::concrete(name),
        class: media::class(name),
        schema: media.as_ref().and_then(|media| media.get("schema").or_else(|| media.get("itemSchema"))),
        fields: Vec::new(),
        encoding: media.as_ref().and_then(|media| media.get("encoding")),
        required,
        description,
        filled: Vec::new(),
    })
}

fn plan_swagger<'a>(
    reader: &Reader<'a>,
    operation: &Node<'a>,
    declarations: &Declarations<'a>,
    notes: &Notes,
) -> Option<BodyPlan<'a>> {
    let consumes = reader.swagger_media(operation, "consumes");
    if let Some(body) = &declarations.body {
        let schema = body.node.get("schema");
        let best = media::preferred(consumes.iter().map(|media| (*media, schema.clone())));
        let name = best.map_or("application/json", |index| consumes[index]);
        if !declarations.form.is_empty() {
            notes.add(&reader.place(&body.node), "form parameters beside a body were left out");
        }
        return Some(BodyPlan {
            content_type: media::concrete(name),
            class: media::class(name),
            schema,
            fields: Vec::new(),
            encoding: None,
            required: body.node.flag("required"),
            description: body.node.text("description").unwrap_or(""),
            filled: Vec::new(),
        });
    }
    if declarations.form.is_empty() {
        return None;
    }
    let has_file = declarations.form.iter().any(|field| field.node.text("type") == Some("file"));
    let offers = |class: Class| consumes.iter().any(|media| media::class(media) == class);
    let multipart = has_file || (offers(Class::Multipart) && !offers(Class::Form));
    let (content_type, class) = if multipart {
        ("multipart/form-data", Class::Multipart)
    } else {
        ("application/x-www-form-urlencoded", Class::Form)
    };
    Some(BodyPlan {
        content_type: content_type.to_owned(),
        class,
        schema: None,
        fields: declarations.form.clone(),
        encoding: None,
        required: declarations.form.iter().any(|field| field.node.flag("required")),
        description: "",
        filled: Vec::new(),
    })
}

/// The arguments of a tool while they are put together.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) properties: Map<String, Value>,
    pub(crate) required: Vec<String>,
    /// Field → fields that it needs beside it: an optional body with required fields.
    pub(crate) dependent: Map<String, Value>,
}

impl<'a> BodyPlan<'a> {
    /// Leaves a field to the gate.
    pub(crate) fn fill(&mut self, name: &'a str) {
        self.filled.push(name);
    }

    /// Whether there has to be a body: the gate needs one to put a field in.
    fn is_sent(&self) -> bool {
        self.required || !self.filled.is_empty()
    }

    /// Takes the filled fields out of the schema; an object of which nothing is left can only be empty.
    fn leave_out_filled(&self, schema: &mut Map<String, Value>) {
        if self.filled.is_empty() {
            return;
        }
        let is_filled = |name: &str| self.filled.contains(&name);
        let mut is_empty = false;
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !is_filled(name));
            is_empty = properties.is_empty();
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| !name.as_str().is_some_and(is_filled));
        }
        if let Some(Value::Object(dependent)) = schema.get_mut("dependentRequired") {
            dependent.retain(|name, _| !is_filled(name));
            for names in dependent.values_mut().filter_map(Value::as_array_mut) {
                names.retain(|name| !name.as_str().is_some_and(is_filled));
            }
        }
        if is_empty && !schema.contains_key("additionalProperties") {
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
    }

    /// Whether a list of arguments may be the body's fields.
    fn may_flatten(&self) -> bool {
        matches!(self.class, Class::Json | Class::Form | Class::Multipart | Class::Xml)
    }
}

/// Writes the body's arguments and how its bytes are made.
pub(crate) fn assemble<'a>(
    plan: &BodyPlan<'a>,
    writer: &mut SchemaWriter<'a, '_>,
    documents: &'a crate::openapi::documents::Documents,
    arguments: &mut Arguments,
) -> Body {
    let mut schema = body_schema(plan, writer);
    if plan.may_flatten() {
        one_object(&mut schema);
    }
    plan.leave_out_filled(&mut schema);
    let kind = match plan.class {
        Class::Json => MediaKind::Json { lines: false },
        Class::JsonLines => MediaKind::Json { lines: true },
        Class::Form => form::urlencoded(plan, &schema),
        Class::Multipart => form::multipart(plan, &mut schema),
        Class::Xml => MediaKind::Xml { root: Box::new(xml::root(documents, plan.schema.as_ref())) },
        Class::Text => MediaKind::Text,
        Class::Binary => MediaKind::Binary,
    };
    let fields = if plan.may_flatten() { fields(&schema, &arguments.properties) } else { None };
    let body_arguments = match fields {
        Some(names) => {
            flatten(plan, schema, arguments);
            let field = |name: String| BodyField { argument: name.clone(), name };
            BodyArguments::Fields(names.into_iter().map(field).collect())
        }
        None => BodyArguments::Whole { argument: whole(plan, schema, arguments) },
    };
    Body { content_type: plan.content_type.clone(), kind, arguments: body_arguments, required: plan.is_sent() }
}

fn body_schema<'a>(plan: &BodyPlan<'a>, writer: &mut SchemaWriter<'a, '_>) -> Map<String, Value> {
    if !plan.fields.is_empty() {
        return form_schema(plan, writer);
    }
    let written = plan.schema.as_ref().map(|schema| writer.body(schema));
    let mut schema = match written {
        Some(Value::Object(schema)) => schema,
        _ => Map::new(),
    };
    match plan.class {
        Class::JsonLines if schema.get("type") != Some(&json!("array")) => {
            schema = Map::from_iter([("type".into(), json!("array")), ("items".into(), Value::Object(schema))]);
        }
        Class::Text => {
            schema.retain(|key, _| matches!(key.as_str(), "description" | "examples" | "minLength" | "maxLength"));
            schema.insert("type".to_owned(), json!("string"));
        }
        Class::Binary => schema = form::file_schema(schema.remove("description")),
        _ => {}
    }
    schema
}

/// Takes the one object that a choice has beside what is not an object, such as a list of the same: its fields are
/// what an agent can fill. A choice that only says which fields go together is left to the server.
fn one_object(schema: &mut Map<String, Value>) {
    const SAID_OF_FIELDS: [&str; 4] = ["required", "type", "title", "description"];
    let Some(choices) = schema.get("anyOf").and_then(Value::as_array) else { return };
    let says_only = |choice: &Value, keys: &[&str]| {
        choice.as_object().is_some_and(|choice| choice.keys().all(|key| keys.contains(&key.as_str())))
    };
    if schema.contains_key("properties") {
        if choices.iter().all(|choice| says_only(choice, &SAID_OF_FIELDS)) {
            schema.remove("anyOf");
        }
        return;
    }
    if !schema.keys().all(|key| ["anyOf", "description", "title"].contains(&key.as_str())) {
        return;
    }
    let is_object = |choice: &Value| choice["type"] == "object" && choice["properties"].is_object();
    let is_other = |choice: &Value| choice["type"].as_str().is_some_and(|kind| kind != "object");
    let mut objects = choices.iter().filter(|choice| is_object(choice));
    let (Some(Value::Object(object)), None) = (objects.next(), objects.next()) else { return };
    if choices.iter().all(|choice| is_object(choice) || is_other(choice)) {
        let object = object.clone();
        schema.remove("anyOf");
        // What is said of the object itself is nearer.
        schema.extend(object);
    }
}

/// Swagger 2's form parameters as the object that they are.
fn form_schema<'a>(plan: &BodyPlan<'a>, writer: &mut SchemaWriter<'a, '_>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &plan.fields {
        properties.insert(field.name.to_owned(), writer.parameter(&field.node));
        if field.node.flag("required") {
            required.push(json!(field.name));
        }
    }
    let mut schema = Map::from_iter([("type".into(), json!("object")), ("properties".into(), json!(properties))]);
    if !required.is_empty() {
        schema.insert("required".into(), Value::Array(required));
    }
    schema
}

/// Returns the names of the fields that a body consists of, if it can be flattened.
fn fields(schema: &Map<String, Value>, taken: &Map<String, Value>) -> Option<Vec<String>> {
    // A closed object without properties can only be empty: it needs no argument at all.
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let none = Map::new();
    let properties = match schema.get("properties").and_then(Value::as_object) {
        Some(properties) if is_closed || !properties.is_empty() => properties,
        None if is_closed => &none,
        _ => return None,
    };
    let is_object = match schema.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    };
    let has_variants = ["anyOf", "allOf", "not", "if", "$ref", "patternProperties", "dependentSchemas", "enum"]
        .iter()
        .any(|key| schema.contains_key(*key));
    let is_open = match schema.get("additionalProperties") {
        None => false,
        Some(Value::Bool(open)) => *open,
        Some(_) => true,
    };
    let clashes = properties.keys().any(|name| taken.contains_key(name) || name == REQUEST_BODY_ARGUMENT);
    let odd = properties.keys().any(|name| !is_plain_argument(name));
    (is_object && !has_variants && !is_open && !clashes && !odd).then(|| properties.keys().cloned().collect())
}

fn flatten(plan: &BodyPlan<'_>, mut schema: Map<String, Value>, arguments: &mut Arguments) {
    let Some(Value::Object(properties)) = schema.remove("properties") else {
        return;
    };
    let required: Vec<String> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| properties.contains_key(*name))
        .map(str::to_owned)
        .collect();
    if let Some(Value::Object(dependent)) = schema.remove("dependentRequired") {
        arguments.dependent.extend(dependent);
    }
    if plan.required {
        arguments.required.extend(required);
    } else if !required.is_empty() {
        for name in properties.keys() {
            let others: Vec<&String> = required.iter().filter(|other| *other != name).collect();
            if !others.is_empty() && !arguments.dependent.contains_key(name) {
                arguments.dependent.insert(name.clone(), json!(others));
            }
        }
    }
    arguments.properties.extend(properties);
}

fn whole(plan: &BodyPlan<'_>, mut schema: Map<String, Value>, arguments: &mut Arguments) -> String {
    if plan.class == Class::Xml && !schema.is_empty() {
        schema = Map::from_iter([("anyOf".to_owned(), json!([schema, {"type": "string"}]))]);
    }
    if !schema.contains_key("description") {
        let said = crate::prose::capped(plan.description, 500);
        let text = if said.is_empty() { format!("The request body ({}).", plan.content_type) } else { said };
        schema.insert("description".to_owned(), json!(text));
    }
    let mut argument = REQUEST_BODY_ARGUMENT.to_owned();
    while arguments.properties.contains_key(&argument) {
        argument.push('_');
    }
    if plan.is_sent() {
        arguments.required.push(argument.clone());
    }
    arguments.properties.insert(argument.clone(), Value::Object(schema));
    argument
}
