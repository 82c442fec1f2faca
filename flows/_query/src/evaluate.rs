//! One evaluation: parse the program, read the input, run, write the outputs.

use core::mem::ManuallyDrop;

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Native, Vars, compile, unwrap_valr};
use jaq_json::{Val, read};

use crate::{definitions, message, write};

/// Longest program in bytes. Far beyond anything typed; keeps the recursive parser shallow.
pub(crate) const MAX_PROGRAM_BYTES: usize = 64 << 10;

/// Deepest nesting of arrays and objects in input and output. The reader and the writer are recursive; this
/// depth fits the sandbox's stack with room to spare, and no real API comes near it.
pub(crate) const MAX_DEPTH: usize = 512;

/// Why there is no result; the cases of the world's `failure`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The program does not parse or names something unknown.
    Syntax(String),
    /// The input is not JSON.
    Input(String),
    /// The program raised an error.
    Runtime(String),
    /// The outputs are larger than allowed.
    OutputLimit,
}

type Filter = compile::Filter<Native<JustLut<Val>>>;

/// Runs `program` on one JSON text; returns each output as compact JSON, at most `output_bytes` in all.
pub(crate) fn evaluate(program: &str, input: &[u8], output_bytes: u64) -> Result<Vec<String>, Failure> {
    // The instance ends with this call, and its memory with it: taking large values apart would be for nothing.
    let filter = ManuallyDrop::new(compile_program(program)?);
    let input = read_input(input)?;
    let context = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let mut left = usize::try_from(output_bytes).unwrap_or(usize::MAX);
    let mut outputs = Vec::new();
    for output in filter.id.run((context, input)).map(unwrap_valr) {
        let value = ManuallyDrop::new(output.map_err(|error| Failure::Runtime(message::runtime(&error)))?);
        let text = write::json(&value, left).map_err(|stop| match stop {
            write::Stop::Size => Failure::OutputLimit,
            write::Stop::Depth => Failure::Runtime(format!("the result is nested deeper than {MAX_DEPTH} levels")),
            write::Stop::Key => Failure::Runtime("object keys must be strings".to_owned()),
        })?;
        // One more byte for each output, so that a flood of tiny ones is bounded as well.
        left = left.checked_sub(text.len() + 1).unwrap_or_default();
        outputs.push(text);
    }
    Ok(outputs)
}

fn compile_program(program: &str) -> Result<Filter, Failure> {
    if program.len() > MAX_PROGRAM_BYTES {
        return Err(Failure::Syntax(format!("the program is longer than {MAX_PROGRAM_BYTES} bytes")));
    }
    let arena = Arena::default();
    let modules = Loader::new(definitions::definitions())
        .load(&arena, File { code: program, path: () })
        .map_err(|errors| Failure::Syntax(message::load(program, &errors)))?;
    Compiler::default()
        .with_funs(definitions::functions())
        .compile(modules)
        .map_err(|errors| Failure::Syntax(message::compile(program, &errors)))
}

fn read_input(input: &[u8]) -> Result<Val, Failure> {
    if deeper_than(input, MAX_DEPTH) {
        return Err(Failure::Input(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    read::parse_single(input).map_err(|error| Failure::Input(error.to_string()))
}

/// Whether brackets outside of strings nest deeper than `limit`; the text need not be JSON.
fn deeper_than(text: &[u8], limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => drop(bytes.next()),
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}
