//! Builds one request: URL, headers, body.
//!
//! The URL starts with `/`, for the host to append to the adapter's base URL, unless the operation has a base
//! of its own. Every problem with the arguments is reported, not only the first.

use serde_json::{Map, Value};

use crate::problem::{Problem, pointer_to};
use crate::style::{self, Pair};
use crate::{BodyArguments, Location, Operation, Parameter, body, path};

/// The header that carries one cookie *parameter* of the API, `name=value`, to the host.
///
/// The host drops a `Cookie` header that a guest sets, since cookies are credentials. A cookie parameter that the
/// description declares is an argument, not a credential: it travels under this name, once per cookie, and the
/// host joins those that the called tool declares into the one `Cookie` header.
pub const COOKIE_PARAMETER_HEADER: &str = "rote-cookie-parameter";

/// The deepest nesting of arguments that is accepted; serde_json's own bound for texts.
const MAX_DEPTH: usize = 128;

/// A request, without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltRequest {
    /// Method, upper case.
    pub method: String,
    /// Starts with `/`, or with the operation's own base.
    pub url: String,
    /// Names are lower case, except those of header parameters, which are as the description writes them.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// Ways to authenticate: OR of ANDs of slot names.
    pub credentials: Vec<Vec<String>>,
}

/// Builds the request that calls `operation` with `arguments`.
///
/// # Errors
/// All problems with the arguments: missing, unknown, or with a value that has no place in a request. The
/// caller is to blame; a retry with the same arguments does not help.
pub fn build(operation: &Operation, arguments: &Map<String, Value>) -> Result<BuiltRequest, Vec<Problem>> {
    if let Some(key) = too_deep(arguments) {
        let message = format!("is nested deeper than {MAX_DEPTH} levels");
        return Err(vec![Problem::new(pointer_to("", key), message)]);
    }
    let mut problems = unknown_arguments(operation, arguments);
    let url = url(operation, arguments, &mut problems);
    let mut headers = headers(operation, arguments, &mut problems);
    let body = match &operation.body {
        Some(body) => body::write(body, arguments, &mut problems),
        None => None,
    };
    if let Some(body) = &body {
        if body.owns_content_type {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
        add_default_header(&mut headers, "content-type", &body.content_type);
    }
    if !operation.accept.is_empty() {
        add_default_header(&mut headers, "accept", &operation.accept);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(BuiltRequest {
        method: operation.method.clone(),
        url,
        headers,
        body: body.map(|body| body.bytes),
        credentials: operation.credentials.clone(),
    })
}

/// Returns the key of the first argument that is nested too deeply. Walks with a stack of its own.
fn too_deep(arguments: &Map<String, Value>) -> Option<&str> {
    arguments.iter().find(|(_, value)| exceeds_depth(value)).map(|(key, _)| key.as_str())
}

fn exceeds_depth(value: &Value) -> bool {
    let mut pending = vec![(value, 1)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => pending.extend(members.values().map(|member| (member, depth + 1))),
            _ => {}
        }
    }
    false
}

/// An argument that nothing would send must not be dropped in silence.
fn unknown_arguments(operation: &Operation, arguments: &Map<String, Value>) -> Vec<Problem> {
    let in_body = |key: &str| match operation.body.as_ref().map(|body| &body.arguments) {
        Some(BodyArguments::Whole { argument }) => argument == key,
        Some(BodyArguments::Fields(fields)) => fields.iter().any(|field| field.argument == key),
        None => false,
    };
    let is_known = |key: &str| operation.parameters.iter().any(|parameter| parameter.argument == key) || in_body(key);
    arguments
        .keys()
        .filter(|key| !is_known(key))
        .map(|key| Problem::new(pointer_to("", key), "is not an argument of this tool"))
        .collect()
}

fn url(operation: &Operation, arguments: &Map<String, Value>, problems: &mut Vec<Problem>) -> String {
    let mut url = operation.base.as_deref().unwrap_or_default().trim_end_matches('/').to_owned();
    url.push_str(&path::expand(operation, arguments, problems));
    let mut separator = '?';
    let mut push = |text: &str| {
        url.push(separator);
        url.push_str(text);
        separator = '&';
    };
    if !operation.fixed_query.is_empty() {
        push(&operation.fixed_query);
    }
    for parameter in in_location(operation, Location::Query) {
        let Some(value) = present(parameter, arguments, problems) else {
            continue;
        };
        for (name, text) in style::as_pairs(&parameter.name, value, &parameter.encoding) {
            push(&format!("{name}={text}"));
        }
    }
    url
}

fn headers(
    operation: &Operation,
    arguments: &Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for parameter in in_location(operation, Location::Header) {
        let Some(value) = present(parameter, arguments, problems) else {
            continue;
        };
        let Some(text) = style::in_header(value, &parameter.encoding) else {
            continue;
        };
        let pointer = pointer_to("", &parameter.argument);
        match check_header(&parameter.name, &text) {
            Ok(()) => headers.push((parameter.name.clone(), text)),
            Err(message) => problems.push(Problem::new(pointer, message)),
        }
    }
    for parameter in in_location(operation, Location::Cookie) {
        let Some(value) = present(parameter, arguments, problems) else {
            continue;
        };
        let pairs = style::as_pairs(&parameter.name, value, &parameter.encoding);
        headers.extend(pairs.into_iter().map(cookie_header));
    }
    headers
}

fn cookie_header((name, value): Pair) -> (String, String) {
    (COOKIE_PARAMETER_HEADER.to_owned(), format!("{name}={value}"))
}

fn in_location(operation: &Operation, location: Location) -> impl Iterator<Item = &Parameter> {
    operation.parameters.iter().filter(move |parameter| parameter.location == location)
}

/// Returns the argument of a parameter; a missing or null one is a problem when it is required.
fn present<'a>(
    parameter: &Parameter,
    arguments: &'a Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> Option<&'a Value> {
    match arguments.get(&parameter.argument) {
        None | Some(Value::Null) => {
            if parameter.required {
                problems.push(Problem::new(pointer_to("", &parameter.argument), "is required"));
            }
            None
        }
        present => present,
    }
}

/// RFC 9110 §5.5 and §5.6.2. What is not visible ASCII could end the header and start another.
fn check_header(name: &str, value: &str) -> Result<(), &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("has a name that no header can have");
    }
    if !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
        return Err("must be printable ASCII without line breaks: it is sent as a header");
    }
    Ok(())
}

/// A header parameter of the same name, given as an argument, wins.
fn add_default_header(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !headers.iter().any(|(present, _)| present.eq_ignore_ascii_case(name)) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}
