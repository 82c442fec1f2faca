//! Parameters of a path item and its operation: merged, checked against the path, and given an encoding.
//!
//! Invariants: every placeholder of the path ends up with exactly one path parameter; no two parameters share
//! an argument; a name that two locations use keeps its plain form in the first of path, query, header, cookie.

use std::collections::HashSet;

use rote_request::{Encoding, Location, Parameter, Style};
use serde_json::Value;

use crate::names;
use crate::notices::Notes;
use crate::openapi::documents::Node;
use crate::openapi::reader::Reader;
use crate::openapi::template::Template;

/// Most parameters of one operation.
const MOST_PARAMETERS: usize = 500;
/// Most procedures of one operation that are looked at.
const MOST_PROCEDURES: usize = 2_000;

/// One parameter that was declared, reference followed.
#[derive(Debug, Clone)]
pub(crate) struct Declared<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) name: &'a str,
}

/// What an operation declares, by where it goes.
#[derive(Debug, Default)]
pub(crate) struct Declarations<'a> {
    wire: Vec<(Location, Declared<'a>)>,
    /// Swagger 2's `in: body`.
    pub(crate) body: Option<Declared<'a>>,
    /// Swagger 2's `in: formData`.
    pub(crate) form: Vec<Declared<'a>>,
    /// Headers that say nothing about the operation.
    reserved: Vec<Declared<'a>>,
    /// A required `Authorization` header.
    pub(crate) authorization: Option<Declared<'a>>,
}

/// One parameter with all that its argument's schema is made from.
#[derive(Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) parameter: Parameter,
    /// The schema, or the parameter itself where Swagger 2 writes the schema's keywords into it.
    pub(crate) schema: Option<Node<'a>>,
    pub(crate) declared: Option<Node<'a>>,
}

/// Reads the parameters of a path item and of its operation, which override the item's by location and name.
pub(crate) fn declared<'a>(
    reader: &Reader<'a>,
    item: &Node<'a>,
    operation: &Node<'a>,
    notes: &Notes,
) -> Declarations<'a> {
    let mut all = Declarations::default();
    for level in [item, operation] {
        let mut seen: HashSet<(String, String)> = HashSet::new();
        let Some(list) = level.get("parameters") else {
            continue;
        };
        if list.elements().nth(MOST_PARAMETERS).is_some() {
            notes
                .add(&reader.place(&list), format_args!("parameters behind the first {MOST_PARAMETERS} were left out"));
        }
        for node in list.elements().take(MOST_PARAMETERS) {
            let Some(node) = reader.resolve(node, "parameter left out", notes) else {
                continue;
            };
            let (Some(name), Some(place)) = (node.text("name"), node.text("in")) else {
                notes.add(&reader.place(&node), "parameter without `name` or `in` left out");
                continue;
            };
            if !seen.insert((place.to_owned(), name.to_owned())) {
                notes.add(&reader.place(&node), format_args!("`{name}` declared twice; the first one counts"));
                continue;
            }
            all.add(reader, Declared { node, name }, place, notes);
        }
    }
    all
}

impl<'a> Declarations<'a> {
    /// The parameters of path, query, header and cookie.
    pub(crate) fn wire(&self) -> impl Iterator<Item = &(Location, Declared<'a>)> {
        self.wire.iter()
    }

    /// The procedures that a query parameter `method` lists, such as `flickr.photos.delete`; a dot tells them from
    /// other methods.
    pub(crate) fn procedures(&self) -> Vec<&'a str> {
        let mut all = Vec::new();
        for (location, declared) in &self.wire {
            if *location == Location::Query && declared.name.eq_ignore_ascii_case("method") {
                let schema = declared.node.get("schema").unwrap_or_else(|| declared.node.clone());
                let listed = schema.value.get("enum").and_then(Value::as_array);
                all.extend(listed.into_iter().flatten().filter_map(Value::as_str).filter(|name| name.contains('.')));
            }
        }
        all.truncate(MOST_PROCEDURES);
        all
    }

    /// Leaves out the parameters for which `keep` says so.
    pub(crate) fn keep_wire(&mut self, mut keep: impl FnMut(Location, &Declared<'a>) -> bool) {
        self.wire.retain(|(location, declared)| keep(*location, declared));
    }

    /// Counts the headers that were left out.
    pub(crate) fn report_reserved(&self, reader: &Reader<'_>) {
        for declared in &self.reserved {
            if declared.name.eq_ignore_ascii_case("authorization") {
                let headers = &reader.schemes.authorization_headers;
                headers.set(headers.get() + 1);
            }
            reader.notices.tally(
                &reader.place(&declared.node),
                "header parameters named Accept, Content-Type or Authorization are ignored, as OpenAPI asks",
            );
        }
    }

    fn add(&mut self, reader: &Reader<'a>, declared: Declared<'a>, place: &str, notes: &Notes) {
        let location = match place {
            "path" => Location::Path,
            "query" => Location::Query,
            "header" => Location::Header,
            "cookie" => Location::Cookie,
            "body" => {
                self.body = Some(declared);
                return;
            }
            "formData" => {
                match self.form.iter_mut().find(|known| known.name == declared.name) {
                    Some(known) => *known = declared,
                    None => self.form.push(declared),
                }
                return;
            }
            other => {
                notes.add(&reader.place(&declared.node), format_args!("parameter in `{other}` left out"));
                return;
            }
        };
        if location == Location::Header && is_reserved(declared.name) {
            if declared.name.eq_ignore_ascii_case("authorization") && declared.node.flag("required") {
                self.authorization = Some(declared.clone());
            }
            self.reserved.push(declared);
            return;
        }
        let same = |known: &&mut (Location, Declared<'a>)| known.0 == location && known.1.name == declared.name;
        match self.wire.iter_mut().find(same) {
            Some(known) => known.1 = declared,
            None => self.wire.push((location, declared)),
        }
    }

    /// Matches the declarations with the path and plans each parameter.
    pub(crate) fn plan(
        &self,
        reader: &Reader<'a>,
        template: &Template,
        notes: &Notes,
        place: &str,
    ) -> Vec<Planned<'a>> {
        let mut planned = Vec::new();
        for (location, declared) in &self.wire {
            let mut wire_name = declared.name.to_owned();
            let mut location = *location;
            if location == Location::Path && !template.placeholders.iter().any(|known| known == declared.name) {
                let in_query = template.query_placeholders.iter().find(|(_, name)| name == declared.name);
                if let Some((name, _)) = in_query {
                    location = Location::Query;
                    wire_name.clone_from(name);
                } else {
                    let text = format!("path parameter `{}` is not in the path and was left out", declared.name);
                    notes.add(&reader.place(&declared.node), text);
                    continue;
                }
            }
            planned.push(plan_one(reader, declared, location, wire_name, notes));
        }
        for name in &template.placeholders {
            let known = |one: &Planned<'_>| one.parameter.location == Location::Path && one.parameter.name == *name;
            if !planned.iter().any(known) {
                notes.add(place, format_args!("path parameter `{name}` is not declared; taken as a string"));
                planned.push(undeclared(Location::Path, name));
            }
        }
        for (name, placeholder) in &template.query_placeholders {
            let known = |one: &Planned<'_>| one.parameter.location == Location::Query && one.parameter.name == *name;
            if !planned.iter().any(known) {
                notes.add(place, format_args!("`{{{placeholder}}}` in the path's query taken as parameter `{name}`"));
                planned.push(undeclared(Location::Query, name));
            }
        }
        name_arguments(&mut planned);
        planned
    }
}

/// OpenAPI 3 §4.8.12.2: these three say nothing about the operation.
fn is_reserved(name: &str) -> bool {
    ["accept", "authorization", "content-type"].iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

fn undeclared<'a>(location: Location, name: &str) -> Planned<'a> {
    let (style, explode) = default_style(location);
    let encoding = Encoding { style, explode, allow_reserved: false, content_type: None };
    let required = location == Location::Path;
    let parameter = Parameter { argument: name.to_owned(), name: name.to_owned(), location, encoding, required };
    Planned { parameter, schema: None, declared: None }
}

fn plan_one<'a>(
    reader: &Reader<'a>,
    declared: &Declared<'a>,
    location: Location,
    name: String,
    notes: &Notes,
) -> Planned<'a> {
    let node = &declared.node;
    let content = node.get("content").and_then(|content| {
        let mut members = content.members();
        let first = members.next()?;
        Some((first.0.to_owned(), first.1))
    });
    let (encoding, schema) = if reader.is_swagger() {
        (collection_encoding(node.text("collectionFormat"), location), Some(node.clone()))
    } else if let (Some((media, media_node)), None) = (content, node.get("schema")) {
        let (style, explode) = default_style(location);
        let encoding = Encoding { style, explode, allow_reserved: false, content_type: Some(media) };
        let media_node = reader.resolve(media_node, "media type left open", notes);
        (encoding, media_node.and_then(|media| media.get("schema")))
    } else {
        (styled(reader, node, location, notes), node.get("schema"))
    };
    let required = location == Location::Path || node.flag("required");
    let argument = declared.name.to_owned();
    let parameter = Parameter { argument, name, location, encoding, required };
    Planned { parameter, schema, declared: Some(node.clone()) }
}

fn default_style(location: Location) -> (Style, bool) {
    match location {
        Location::Path | Location::Header => (Style::Simple, false),
        Location::Query | Location::Cookie => (Style::Form, true),
    }
}

fn styled(reader: &Reader<'_>, node: &Node<'_>, location: Location, notes: &Notes) -> Encoding {
    let (default, _) = default_style(location);
    let style = match (node.text("style"), location) {
        (None, _) => default,
        (Some("simple"), Location::Path | Location::Header) => Style::Simple,
        (Some("label"), Location::Path) => Style::Label,
        (Some("matrix"), Location::Path) => Style::Matrix,
        (Some("form" | "cookie"), Location::Query | Location::Cookie) => Style::Form,
        (Some("spaceDelimited"), Location::Query) => Style::SpaceDelimited,
        (Some("pipeDelimited"), Location::Query) => Style::PipeDelimited,
        (Some("deepObject"), Location::Query) => Style::DeepObject,
        (Some(other), _) => {
            notes.add(&reader.place(node), format_args!("style `{other}` is not possible here; the default is used"));
            default
        }
    };
    let declared = node.value.get("explode").and_then(Value::as_bool);
    let explode = style == Style::DeepObject || declared.unwrap_or(style == Style::Form);
    Encoding { style, explode, allow_reserved: node.flag("allowReserved"), content_type: None }
}

/// Swagger 2's `collectionFormat`, `csv` unless it says otherwise.
pub(crate) fn collection_encoding(format: Option<&str>, location: Location) -> Encoding {
    let in_query = matches!(location, Location::Query | Location::Cookie);
    let (style, explode) = match format.unwrap_or("csv") {
        "ssv" if in_query => (Style::SpaceDelimited, false),
        "tsv" if in_query => (Style::TabDelimited, false),
        "pipes" if in_query => (Style::PipeDelimited, false),
        "multi" if in_query => (Style::Form, true),
        _ if in_query => (Style::Form, false),
        _ => (Style::Simple, false),
    };
    Encoding { style, explode, allow_reserved: false, content_type: None }
}

/// Gives each parameter its own argument: the plain name in the first location, a qualified one in later ones.
fn name_arguments(planned: &mut [Planned<'_>]) {
    let mut taken: HashSet<String> = HashSet::new();
    for (location, word) in [
        (Location::Path, "path"),
        (Location::Query, "query"),
        (Location::Header, "header"),
        (Location::Cookie, "cookie"),
    ] {
        for one in planned.iter_mut().filter(|one| one.parameter.location == location) {
            let mut argument = names::argument(&one.parameter.argument);
            if argument == rote_request::REQUEST_BODY_ARGUMENT || taken.contains(&argument) {
                argument = format!("{argument}_{word}");
            }
            while taken.contains(&argument) {
                argument.push('_');
            }
            taken.insert(argument.clone());
            one.parameter.argument = argument;
        }
    }
}
