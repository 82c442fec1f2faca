//! Writes a JSON value as XML by OpenAPI's XML object.
//!
//! Invariant: no argument can add markup. Text and attribute values are escaped, names that come from arguments
//! must be XML names, and characters that XML 1.0 cannot carry are refused.

use serde_json::{Map, Value};

use crate::XmlNode;
use crate::problem::{Problem, pointer_to};
use crate::style;

/// Returns the document whose root element is written by `root`.
pub(super) fn document(root: &XmlNode, value: &Value, pointer: &str) -> Result<String, Problem> {
    let mut output = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    let name = if root.name.is_empty() { "root" } else { &root.name };
    if let (Value::Array(_), false) = (value, root.wrapped) {
        // A document has one root, so an array is wrapped even where the description forgot to say so.
        let wrapped = XmlNode { wrapped: true, ..root.clone() };
        push(&mut output, name, Some(&wrapped), value, pointer)?;
    } else {
        push(&mut output, name, Some(root), value, pointer)?;
    }
    Ok(output)
}

/// Depth is bounded by the check that `build` makes on the arguments as a whole.
fn push(output: &mut String, name: &str, node: Option<&XmlNode>, value: &Value, pointer: &str) -> Result<(), Problem> {
    match value {
        Value::Array(items) => push_array(output, name, node, items, pointer),
        Value::Object(members) => push_object(output, name, node, members, pointer),
        scalar => {
            open(output, name, node, pointer)?;
            output.push('>');
            push_escaped(output, &style::scalar(scalar), pointer)?;
            close(output, name);
            Ok(())
        }
    }
}

fn push_array(
    output: &mut String,
    name: &str,
    node: Option<&XmlNode>,
    items: &[Value],
    pointer: &str,
) -> Result<(), Problem> {
    let item_node = node.and_then(|node| node.items.as_deref());
    let item_name = item_node.map(|item| item.name.as_str()).filter(|item| !item.is_empty()).unwrap_or(name);
    let wrapped = node.is_some_and(|node| node.wrapped);
    if wrapped {
        open(output, name, node, pointer)?;
        output.push('>');
    }
    for (index, item) in items.iter().enumerate() {
        push(output, item_name, item_node, item, &pointer_to(pointer, &index.to_string()))?;
    }
    if wrapped {
        close(output, name);
    }
    Ok(())
}

fn push_object(
    output: &mut String,
    name: &str,
    node: Option<&XmlNode>,
    members: &Map<String, Value>,
    pointer: &str,
) -> Result<(), Problem> {
    open(output, name, node, pointer)?;
    for (key, member) in members {
        let child = child(node, key);
        if child.is_some_and(|child| child.attribute) && !member.is_null() {
            let pointer = pointer_to(pointer, key);
            let attribute = child_name(child, key);
            check_name(attribute, &pointer)?;
            output.push(' ');
            output.push_str(attribute);
            output.push_str("=\"");
            push_escaped(output, &style::scalar(member), &pointer)?;
            output.push('"');
        }
    }
    output.push('>');
    for (key, member) in members {
        let child = child(node, key);
        if !child.is_some_and(|child| child.attribute) && !member.is_null() {
            push(output, child_name(child, key), child, member, &pointer_to(pointer, key))?;
        }
    }
    close(output, name);
    Ok(())
}

fn child<'a>(node: Option<&'a XmlNode>, key: &str) -> Option<&'a XmlNode> {
    node?.children.iter().find(|(name, _)| name == key).map(|(_, child)| child)
}

fn child_name<'a>(child: Option<&'a XmlNode>, key: &'a str) -> &'a str {
    child.map(|child| child.name.as_str()).filter(|name| !name.is_empty()).unwrap_or(key)
}

/// Opens an element, without the closing `>`.
fn open(output: &mut String, name: &str, node: Option<&XmlNode>, pointer: &str) -> Result<(), Problem> {
    check_name(name, pointer)?;
    output.push('<');
    output.push_str(name);
    if let Some((prefix, namespace)) = node.and_then(|node| node.namespace.as_ref()) {
        output.push_str(" xmlns");
        if !prefix.is_empty() {
            check_name(prefix, pointer)?;
            output.push(':');
            output.push_str(prefix);
        }
        output.push_str("=\"");
        push_escaped(output, namespace, pointer)?;
        output.push('"');
    }
    Ok(())
}

fn close(output: &mut String, name: &str) {
    output.push_str("</");
    output.push_str(name);
    output.push('>');
}

/// A name of letters, digits and `-._:`, as XML 1.0 §2.3 has it for ASCII; letters beyond ASCII are let through.
fn check_name(name: &str, pointer: &str) -> Result<(), Problem> {
    let starts = |character: char| character.is_alphabetic() || character == '_' || character == ':';
    let continues = |character: char| starts(character) || character.is_numeric() || "-.".contains(character);
    let mut characters = name.chars();
    if characters.next().is_some_and(starts) && characters.all(continues) {
        return Ok(());
    }
    Err(Problem::new(pointer, format!("has the name `{name}`, which no XML element can have")))
}

fn push_escaped(output: &mut String, text: &str, pointer: &str) -> Result<(), Problem> {
    for character in text.chars() {
        match character {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '"' => output.push_str("&quot;"),
            // Written bare, a carriage return would be read back as a line feed (XML 1.0 §2.11).
            '\r' => output.push_str("&#13;"),
            '\t' | '\n' => output.push(character),
            other if other.is_control() && other < '\u{80}' || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                return Err(Problem::new(pointer, "has a character that XML cannot carry"));
            }
            other => output.push(other),
        }
    }
    Ok(())
}
