//! The shell: the guest that every generated adapter is made of.
//!
//! `adapter new` splices a table of operations into this module's memory and writes its address and length into
//! [`ROTE_TABLE`]. A call looks its operation up, builds the request and hands it to the host, which checks and
//! sends it. Invariants: imports nothing but `rote:*`, keeps no state, never sees a secret or a response body.
#![expect(missing_docs, unsafe_code, reason = "what wit-bindgen generates, and the table with its name")]
use std::sync::atomic::AtomicU32;

use rote_request::{BuiltRequest, Problem, table};
use serde_json::{Map, Value};

use self::rote::base::types;
use self::rote::host::http;

wit_bindgen::generate!({
    world: "rote:adapter/adapter",
    path: [
        "../../wit/rote-base@0.1.0",
        "../../wit/rote-host@0.1.0",
        "../../wit/rote-adapter@0.1.0",
    ],
    generate_all,
});

/// Where the table lies in memory: address, then length in bytes. Zeros in this module; the generator adds a
/// data segment that overwrites them. Atomic, since a plain static that nobody writes could be folded to zero.
#[unsafe(no_mangle)]
pub static ROTE_TABLE: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

struct Shell;

export!(Shell);

impl Guest for Shell {
    fn describe() -> types::Json {
        let tools = table::len(operations()).unwrap_or_default();
        format!("{{\"tools\":{tools},\"table\":{}}}", table::VERSION)
    }

    fn call(tool: String, arguments: types::Json) -> Result<types::ResponseRef, types::Error> {
        let operation = match table::find(operations(), &tool) {
            Ok(Some(operation)) => operation,
            Ok(None) => return Err(types::Error::NotFound(format!("no tool `{tool}`"))),
            Err(error) => return Err(types::Error::Internal(error.to_string())),
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
    types::Error::InvalidInput(problems.into_iter().map(to_wire).collect())
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

/// Returns the spliced table; empty in the bare shell.
fn operations() -> &'static [u8] {
    let [address, length] = &ROTE_TABLE;
    // SAFETY: both words are private to the generator, which is the only writer and writes them before the
    // module starts. Reading them volatile keeps the optimizer from assuming their initial zeros.
    let [address, length] = unsafe { [address.as_ptr().read_volatile(), length.as_ptr().read_volatile()] };
    let (Ok(address), Ok(length)) = (usize::try_from(address), usize::try_from(length)) else {
        return &[];
    };
    if address == 0 {
        return &[];
    }
    // SAFETY: the generator placed `length` initialized bytes at `address`, above all that the module itself
    // uses; the allocator only ever grows memory beyond them, and nothing writes them.
    unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length) }
}
