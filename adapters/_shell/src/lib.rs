//! The shell: the guest that every generated adapter is made of.
//!
//! `adapter new` adds a table of operations to this component, as a custom section. A call looks its operation up,
//! builds the request and hands it to the host, which checks and sends it. So all adapters run the same code. Invariants:
//! imports nothing but `rote:*`, keeps no state, never sees a secret or a response body.
#![expect(missing_docs, unsafe_code, reason = "what wit-bindgen generates")]
use std::borrow::Cow;

use rote_request::{BuiltRequest, Problem, table};
use serde_json::{Map, Value};

use self::rote::base::types;
use self::rote::host::{http, operations};

wit_bindgen::generate!({
    world: "rote:adapter/adapter",
    path: [
        "../../wit/rote-base@0.2.0",
        "../../wit/rote-host@0.2.0",
        "../../wit/rote-adapter@0.2.0",
    ],
    generate_all,
});

struct Shell;

export!(Shell);

impl Guest for Shell {
    fn describe() -> types::Json {
        let tools = table::len(&Table).unwrap_or_default();
        format!("{{\"tools\":{tools},\"table\":{}}}", table::VERSION)
    }

    fn call(tool: String, arguments: types::Json) -> Result<types::ResponseRef, types::Error> {
        let operation = match table::find(&Table, &tool) {
            Ok(Some(operation)) => operation,
            Ok(None) => return Err(own(types::Cause::NotFound(format!("no tool `{tool}`")))),
            Err(error) => return Err(own(types::Cause::Internal(error.to_string()))),
        };
        let arguments = parse(&arguments)?;
        match rote_request::build(&operation, &arguments) {
            Ok(request) => http::send(&to_wire(request)),
            Err(problems) => Err(invalid(problems)),
        }
    }
}

fn parse(arguments: &str) -> Result<Map<String, Value>, types::Error> {
    serde_json::from_str(arguments)
        .map_err(|error| invalid(vec![Problem::new("", format!("the arguments are not a JSON object: {error}"))]))
}

fn invalid(problems: Vec<Problem>) -> types::Error {
    let to_wire = |problem: Problem| types::Problem { pointer: problem.pointer, message: problem.message };
    own(types::Cause::InvalidInput(problems.into_iter().map(to_wire).collect()))
}

/// An error that is not the host's.
fn own(cause: types::Cause) -> types::Error {
    types::Error { id: None, cause, context: String::new() }
}

fn to_wire(request: BuiltRequest) -> http::Request {
    let to_wire = |(name, value)| http::Header { name, value };
    http::Request {
        method: request.method,
        url: request.url,
        headers: request.headers.into_iter().map(to_wire).collect(),
        body: request.body,
        credentials: request.credentials,
    }
}

/// The table, which the host keeps; empty in the bare shell.
struct Table;

impl table::Source for Table {
    fn length(&self) -> usize {
        usize::try_from(operations::length()).unwrap_or_default()
    }

    fn read(&self, start: usize, end: usize) -> Option<Cow<'_, [u8]>> {
        let length = end.checked_sub(start)?;
        let bytes = operations::read(u32::try_from(start).ok()?, u32::try_from(length).ok()?);
        (bytes.len() == length).then_some(Cow::Owned(bytes))
    }
}
