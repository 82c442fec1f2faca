//! JSON Schema (2020-12) to shapes, with one table of named types for all tools.
//!
//! Every tool brings its own `$defs`. Two definitions of different tools are one type when their names and their
//! text are the same and so are those of all definitions that they lead to; that is exact and holds for circular
//! ones. Otherwise the later one gets a number.
//!
//! Definitions are read from a queue and nesting is bounded, so no schema can exhaust the stack.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use crate::graph;
use crate::name::{self, Names};
use crate::shape::{Field, Note, Record, Shape, TypeIndex};

/// Levels of nesting that are read; what is deeper is anything.
const MAX_DEPTH: usize = 48;
/// Levels of JSON that a schema may have; a deeper one is anything as a whole.
const MAX_JSON_DEPTH: usize = 256;

/// One named type.
#[derive(Debug)]
pub(crate) struct Named {
    /// Its identifier.
    pub(crate) name: String,
    /// What it is.
    pub(crate) shape: Shape,
    /// What is known in words.
    pub(crate) note: Note,
}

/// Reads the schemas of one adapter's tools.
#[derive(Debug)]
pub(crate) struct Reader {
    types: Vec<Named>,
    names: Names,
    /// Types by identity.
    known: HashMap<u32, TypeIndex>,
    /// Numbers for what identities are made of.
    interned: HashMap<Part, u32>,
}

/// What an identity is made of.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Part {
    /// A pointer or the text of a definition.
    Text(String),
    /// Definitions that lead to each other (pointer and text), and the identities of all others they lead to.
    Circle(Vec<(u32, u32)>, BTreeSet<u32>),
    /// One definition: its circle and its pointer.
    Member(u32, u32),
}

/// The schema of one tool while it is read.
struct Document<'t> {
    root: &'t Value,
    root_type: TypeIndex,
    /// Identities of all definitions that the root leads to, by pointer.
    identities: HashMap<String, u32>,
    /// Definitions that have an entry in the table and are not read yet.
    queue: VecDeque<(TypeIndex, &'t Value)>,
}

impl Reader {
    /// Starts with the names that are taken.
    pub(crate) fn new(names: Names) -> Self {
        Self { types: Vec::new(), names, known: HashMap::new(), interned: HashMap::new() }
    }

    /// Reads the arguments of `tool` under a name that was claimed already.
    pub(crate) fn arguments(&mut self, name: &str, tool: &str, schema: &Value) -> TypeIndex {
        let index = self.root(name, format!("Arguments of `{tool}`."), schema);
        let shape = &mut self.types[index].shape;
        if !matches!(shape, Shape::Record(_) | Shape::Map(_) | Shape::All(_) | Shape::Named(_) | Shape::Union(_)) {
            *shape = Shape::Map(Box::new(Shape::Any));
        }
        index
    }

    /// Reads what `tool` answers under a name that was claimed already.
    pub(crate) fn answer(&mut self, name: &str, tool: &str, schema: &Value) -> TypeIndex {
        self.root(
            name,
            format!("What `{tool}` answers, as the description has it; the server may send more or less."),
            schema,
        )
    }

    /// Reads a whole schema.
    fn root(&mut self, name: &str, prose: String, schema: &Value) -> TypeIndex {
        let root_type = self.add(name.to_owned(), Note { prose, ..Note::default() });
        let schema = if is_deep(schema) { &Value::Null } else { schema };
        let identities = self.identities(schema);
        let mut document = Document { root: schema, root_type, identities, queue: VecDeque::new() };
        self.types[root_type].shape = self.shape(&mut document, schema, 0);
        while let Some((index, schema)) = document.queue.pop_front() {
            self.types[index].shape = self.shape(&mut document, schema, 0);
        }
        root_type
    }

    /// Returns the table, in which no alias consists of itself, and the names in use.
    pub(crate) fn finish(mut self) -> (Vec<Named>, Names) {
        break_alias_cycles(&mut self.types);
        (self.types, self.names)
    }

    fn add(&mut self, name: String, note: Note) -> TypeIndex {
        self.types.push(Named { name, shape: Shape::Any, note });
        self.types.len() - 1
    }

    fn intern(&mut self, part: Part) -> u32 {
        let next = u32::try_from(self.interned.len()).unwrap_or(u32::MAX);
        *self.interned.entry(part).or_insert(next)
    }

    fn shape<'t>(&mut self, document: &mut Document<'t>, schema: &'t Value, depth: usize) -> Shape {
        let schema = match schema {
            Value::Object(schema) if depth < MAX_DEPTH => schema,
            Value::Bool(false) => return Shape::Never,
            _ => return Shape::Any,
        };
        let mut parts = Vec::new();
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            parts.push(self.reference(document, reference));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = schema.get(key).filter(|members| is_filled(members)) {
                let members = members.iter().map(|member| self.shape(document, member, depth + 1)).collect();
                parts.push(Shape::union(members));
            }
        }
        if let Some(Value::Array(members)) = schema.get("allOf") {
            parts.extend(members.iter().map(|member| self.shape(document, member, depth + 1)));
        }
        let own = self.own(document, schema, depth);
        parts.retain(|part| *part != Shape::Any);
        // `type: object` beside the alternatives says nothing that they do not.
        if parts.is_empty() || own != Shape::Map(Box::new(Shape::Any)) {
            parts.insert(0, own);
        }
        Shape::all(parts)
    }

    /// Reads what the schema says without its subschemas' help.
    fn own<'t>(&mut self, document: &mut Document<'t>, schema: &'t Map<String, Value>, depth: usize) -> Shape {
        if let Some(literals) = literals(schema) {
            return literals;
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.typed(document, schema, kind, depth),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                Shape::union(kinds.map(|kind| self.typed(document, schema, kind, depth)).collect())
            }
            _ if ["properties", "additionalProperties", "patternProperties"]
                .iter()
                .any(|k| schema.contains_key(*k)) =>
            {
                self.typed(document, schema, "object", depth)
            }
            _ if schema.contains_key("items") => self.typed(document, schema, "array", depth),
            _ => Shape::Any,
        }
    }

    fn typed<'t>(
        &mut self,
        document: &mut Document<'t>,
        schema: &'t Map<String, Value>,
        kind: &str,
        depth: usize,
    ) -> Shape {
        match kind {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" => Shape::Text,
            "array" => {
                let items = schema.get("items").filter(|_| !schema.contains_key("prefixItems"));
                Shape::List(Box::new(items.map_or(Shape::Any, |items| self.shape(document, items, depth + 1))))
            }
            "object" => self.object(document, schema, depth),
            _ => Shape::Any,
        }
    }

    fn object<'t>(&mut self, document: &mut Document<'t>, schema: &'t Map<String, Value>, depth: usize) -> Shape {
        let required: HashSet<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => HashSet::new(),
        };
        let mut fields = Vec::new();
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                fields.push(Field {
                    name: name.clone(),
                    shape: self.shape(document, property, depth + 1),
                    required: required.contains(name.as_str()),
                    note: note(property),
                });
            }
        }
        let declared: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let mut undeclared: Vec<&str> = required.iter().copied().filter(|name| !declared.contains(name)).collect();
        undeclared.sort_unstable();
        let undeclared: Vec<Field> = undeclared
            .into_iter()
            .map(|name| Field { name: name.to_owned(), shape: Shape::Any, required: true, note: Note::default() })
            .collect();
        fields.extend(undeclared);
        let patterns = schema.contains_key("patternProperties");
        let further = schema.get("additionalProperties");
        match further {
            Some(Value::Bool(false)) if !patterns => Shape::Record(Record { fields, open: false }),
            Some(further @ Value::Object(_)) if fields.is_empty() && !patterns => {
                Shape::Map(Box::new(self.shape(document, further, depth + 1)))
            }
            _ if fields.is_empty() => Shape::Map(Box::new(Shape::Any)),
            _ => Shape::Record(Record { fields, open: patterns || further.is_some() }),
        }
    }

    /// Returns the type that a reference leads to; one that leads nowhere is anything.
    fn reference(&mut self, document: &mut Document<'_>, reference: &str) -> Shape {
        let Some(pointer) = reference.strip_prefix('#').map(percent_decoded) else { return Shape::Any };
        if pointer.is_empty() {
            return Shape::Named(document.root_type);
        }
        let root = document.root;
        let (Some(schema), Some(identity)) = (root.pointer(&pointer), document.identities.get(&pointer)) else {
            return Shape::Any;
        };
        if let Some(index) = self.known.get(identity) {
            return Shape::Named(*index);
        }
        let last = rote_types::unescape_token(pointer.rsplit('/').next().unwrap_or_default());
        let name = self.names.claim(&name::pascal(&last), "");
        let index = self.add(name, note(schema));
        self.known.insert(*identity, index);
        document.queue.push_back((index, schema));
        Shape::Named(index)
    }

    /// Gives every definition that a schema leads to its identity.
    fn identities(&mut self, root: &Value) -> HashMap<String, u32> {
        let mut pointers: Vec<String> = references(root).into_iter().collect();
        let mut places: HashMap<String, usize> = pointers.iter().cloned().zip(0..).collect();
        let (mut edges, mut definitions) = (Vec::new(), Vec::new());
        while let Some(pointer) = pointers.get(edges.len()) {
            let schema = root.pointer(pointer).unwrap_or(&Value::Null);
            definitions.push((self.intern(Part::Text(pointer.clone())), self.intern(Part::Text(schema.to_string()))));
            let targets = references(schema).into_iter().map(|target| {
                *places.entry(target).or_insert_with_key(|target| {
                    pointers.push(target.clone());
                    pointers.len() - 1
                })
            });
            edges.push(targets.collect::<Vec<usize>>());
        }
        let components = graph::components(&edges);
        let mut circles: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        components.iter().enumerate().for_each(|(node, circle)| circles.entry(*circle).or_default().push(node));
        let mut identities = vec![0; pointers.len()];
        // In the order of their numbers, so that what a circle leads to has its identities already.
        for (circle, nodes) in circles {
            let mut members: Vec<(u32, u32)> = nodes.iter().map(|node| definitions[*node]).collect();
            members.sort_unstable();
            let others = nodes.iter().flat_map(|node| &edges[*node]).filter(|target| components[**target] != circle);
            let others = others.map(|target| identities[*target]).collect();
            let circle = self.intern(Part::Circle(members, others));
            for node in nodes {
                identities[node] = self.intern(Part::Member(circle, definitions[node].0));
            }
        }
        pointers.into_iter().zip(identities).collect()
    }
}

/// Reads what a schema says in words.
fn note(schema: &Value) -> Note {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    Note {
        prose: text("description").or_else(|| text("title")).unwrap_or_default().to_owned(),
        format: text("format").map(str::to_owned),
        default: schema
            .get("default")
            .filter(|value| value.is_string() || value.is_number() || value.is_boolean())
            .map(Value::to_string),
        deprecated: schema.get("deprecated").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// Reads `const` and `enum`, unless one of the values is not a scalar.
fn literals(schema: &Map<String, Value>) -> Option<Shape> {
    let values = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return None,
    };
    if values.iter().any(|value| value.is_object() || value.is_array()) {
        return None;
    }
    Some(Shape::union(vec![Shape::Literals(values)]))
}

/// Returns the pointers of all references below a schema.
fn references(schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(members) => {
                let reference = members.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
                found.extend(reference.map(percent_decoded));
                stack.extend(members.values());
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    found
}

/// Whether a value is nested too deeply to be written or walked by recursion.
fn is_deep(schema: &Value) -> bool {
    let mut stack = vec![(schema, 0)];
    while let Some((value, depth)) = stack.pop() {
        match value {
            Value::Object(_) | Value::Array(_) if depth >= MAX_JSON_DEPTH => return true,
            Value::Object(members) => stack.extend(members.values().map(|member| (member, depth + 1))),
            Value::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    false
}

fn is_filled(members: &Value) -> bool {
    members.as_array().is_some_and(|members| !members.is_empty())
}

/// Decodes `%20` in the fragment of a reference (RFC 6901 §6).
fn percent_decoded(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Makes anything of the aliases that would consist of themselves: `type A = B | null; type B = A`.
fn break_alias_cycles(types: &mut [Named]) {
    let edges: Vec<Vec<TypeIndex>> = types.iter().map(|named| alias_targets(&named.shape)).collect();
    let mut done = vec![false; types.len()];
    let mut open = vec![false; types.len()];
    for start in 0..types.len() {
        let mut stack = if done[start] { Vec::new() } else { vec![(start, 0)] };
        while let Some((node, edge)) = stack.pop() {
            open[node] = true;
            let Some(&target) = edges[node].get(edge) else {
                open[node] = false;
                done[node] = true;
                continue;
            };
            stack.push((node, edge + 1));
            if open[target] {
                let shape = std::mem::replace(&mut types[node].shape, Shape::Any);
                types[node].shape = without_alias(shape, target);
            } else if !done[target] {
                stack.push((target, 0));
            }
        }
    }
}

/// Returns the types that an alias consists of without a field, an item or a key between.
fn alias_targets(shape: &Shape) -> Vec<TypeIndex> {
    match shape {
        Shape::Named(index) => vec![*index],
        Shape::Union(members) | Shape::All(members) => members.iter().flat_map(alias_targets).collect(),
        _ => Vec::new(),
    }
}

fn without_alias(shape: Shape, target: TypeIndex) -> Shape {
    match shape {
        Shape::Named(index) if index == target => Shape::Any,
        Shape::Union(members) => {
            Shape::union(members.into_iter().map(|member| without_alias(member, target)).collect())
        }
        Shape::All(parts) => Shape::all(parts.into_iter().map(|part| without_alias(part, target)).collect()),
        other => other,
    }
}
