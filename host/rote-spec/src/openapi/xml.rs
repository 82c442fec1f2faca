//! The XML object of a schema as the tree that writes it (OpenAPI 3.1 §4.8.26).

use rote_request::XmlNode;

use crate::openapi::documents::{Documents, Node};
use rote_types::unescape_token;

/// Deepest element that has a rule of its own; below, elements are named after their properties.
const MOST_DEPTH: usize = 8;
/// Most elements with a rule of their own in one body.
const MOST_NODES: usize = 2_000;

/// Returns how a body's root element and all below it are written.
pub(crate) fn root(documents: &Documents, schema: Option<&Node<'_>>) -> XmlNode {
    let Some(schema) = schema else {
        return XmlNode { name: "root".to_owned(), ..XmlNode::default() };
    };
    let target = documents.resolve(schema.clone()).unwrap_or_else(|_| schema.clone());
    // OpenAPI names a root after its component.
    let name = if schema.text("$ref").is_some() { component(&target.pointer) } else { "root".to_owned() };
    let mut left = MOST_NODES;
    node(documents, schema, &name, MOST_DEPTH, &mut left)
}

fn component(pointer: &str) -> String {
    let name = unescape_token(pointer.rsplit('/').next().unwrap_or(""));
    if name.is_empty() { "root".to_owned() } else { name.into_owned() }
}

fn node(documents: &Documents, schema: &Node<'_>, name: &str, depth: usize, left: &mut usize) -> XmlNode {
    let mut out = XmlNode { name: name.to_owned(), ..XmlNode::default() };
    let Ok(schema) = documents.resolve(schema.clone()) else {
        return out;
    };
    apply(&schema, &mut out);
    if depth == 0 || *left == 0 {
        return out;
    }
    *left -= 1;
    if let Some(items) = schema.get("items") {
        out.items = Some(Box::new(node(documents, &items, name, depth - 1, left)));
    }
    add_children(documents, &schema, &mut out, depth, left);
    out
}

fn add_children(documents: &Documents, schema: &Node<'_>, out: &mut XmlNode, depth: usize, left: &mut usize) {
    for (name, property) in schema.get("properties").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
        if *left == 0 {
            return;
        }
        let child = node(documents, &property, name, depth - 1, left);
        let plain = XmlNode { name: name.to_owned(), ..XmlNode::default() };
        if child != plain && !out.children.iter().any(|(known, _)| known == name) {
            out.children.push((name.to_owned(), child));
        }
    }
    for part in schema.get("allOf").iter().flat_map(|all| all.elements().collect::<Vec<_>>()) {
        if let (Ok(part), true) = (documents.resolve(part), *left > 0) {
            *left -= 1;
            if depth > 1 {
                add_children(documents, &part, out, depth - 1, left);
            }
        }
    }
}

/// Applies the schema's own `xml` object.
fn apply(schema: &Node<'_>, out: &mut XmlNode) {
    let Some(xml) = schema.get("xml") else {
        return;
    };
    if let Some(name) = xml.text("name") {
        name.clone_into(&mut out.name);
    }
    let prefix = xml.text("prefix").unwrap_or("");
    if !prefix.is_empty() {
        out.name = format!("{prefix}:{}", out.name);
    }
    if let Some(namespace) = xml.text("namespace") {
        out.namespace = Some((prefix.to_owned(), namespace.to_owned()));
    }
    out.attribute = xml.flag("attribute");
    out.wrapped = xml.flag("wrapped");
}
