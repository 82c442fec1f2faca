//! One evaluation: parse the program, read the input, run, write the outputs.

use core::mem::ManuallyDrop;

use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, unwrap_valr};
use jaq_json::Val;

use crate::direct::{Compiled, Query, Table};
use crate::need::{self, Need};
use crate::{definitions, message, read, syntax, terms, write};

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

/// Runs `program` on one JSON text; returns each output as compact JSON, at most `output_bytes` in all.
///
/// The instance ends with this call, and its memory with it: neither text nor values are given back.
pub(crate) fn evaluate(program: &str, input: Vec<u8>, output_bytes: u64) -> Result<Vec<String>, Failure> {
    let (compiled, need) = compile_program(program)?;
    let compiled = ManuallyDrop::new(compiled);
    let (input, limit): (&'static [u8], _) = (input.leak(), usize::try_from(output_bytes).unwrap_or(usize::MAX));
    match run(&compiled, read(input, &need)?, limit) {
        // Its words may show a value, which is to be the one that came in.
        Err(Failure::Runtime(words)) if need != Need::Whole && may_show_parts(&words) => {
            run(&compiled, read(input, &Need::Whole)?, limit)
        }
        outcome => outcome,
    }
}

/// Whether a failure's words may show a value of which only parts were read: an array, an object, or null in its place. Any
/// other words are those over the whole input, for which there may be too little memory or time.
fn may_show_parts(words: &str) -> bool {
    words.contains(['[', '{']) || words.contains("null")
}

/// What a program needs of an input, and its outcomes over that and over the whole.
#[cfg(test)]
type BothWays = (Need, [Result<Vec<String>, Failure>; 2]);

/// Evaluates `program` over what it needs of `input`, and over the whole.
#[cfg(test)]
pub(crate) fn both_ways(program: &str, input: &str) -> Result<BothWays, Failure> {
    let (compiled, need) = compile_program(program)?;
    let input: &'static [u8] = input.as_bytes().to_vec().leak();
    let outcomes = [&need, &Need::Whole].map(|need| run(&compiled, read(input, need)?, 1 << 20));
    Ok((need, outcomes))
}

/// What is read of `input` for `program`, as JSON.
#[cfg(test)]
pub(crate) fn read_for(program: &str, input: &str) -> Result<String, Failure> {
    let value = read(input.as_bytes().to_vec().leak(), &compile_program(program)?.1)?;
    write::json(&value, 1 << 20).map_err(|_stop| Failure::OutputLimit)
}

fn run(compiled: &Compiled, input: Val, limit: usize) -> Result<Vec<String>, Failure> {
    let context = Ctx::<Query>::new(compiled, Vars::new([]));
    let mut left = limit;
    let mut outputs = Vec::new();
    for output in compiled.filter.id.run((context, input)).map(unwrap_valr) {
        let value = ManuallyDrop::new(output.map_err(|error| Failure::Runtime(message::runtime(&error)))?);
        let text = write::json(&value, left).map_err(|stop| match stop {
            write::Stop::Size => Failure::OutputLimit,
            write::Stop::Depth => Failure::Runtime(format!("the result is nested deeper than {MAX_DEPTH} levels")),
            write::Stop::Key => Failure::Runtime("object keys must be strings".to_owned()),
        })?;
        // One more byte for each output, so that a flood of tiny ones is bounded as well.
        left = left.saturating_sub(text.len() + 1);
        outputs.push(text);
    }
    Ok(outputs)
}

fn read(input: &'static [u8], need: &Need) -> Result<Val, Failure> {
    read::read(input, need).map_err(Failure::Input)
}

/// The definition that the program becomes, behind all that it can call.
const PROGRAM: &str = "_program";

fn compile_program(program: &str) -> Result<(Compiled, Need), Failure> {
    if program.len() > MAX_PROGRAM_BYTES {
        return Err(Failure::Syntax(format!("the program is longer than {MAX_PROGRAM_BYTES} bytes")));
    }
    let program: &'static str = program.to_owned().leak();
    let term = syntax::parse(program).map_err(Failure::Syntax)?;
    let need = need::of(&term);
    let table = Table::default();
    let ours = Def { name: PROGRAM, args: Vec::new(), body: terms::rewrite(term, &table) };
    let arena = Arena::default();
    let modules = Loader::new(definitions::definitions().chain([ours]))
        .load(&arena, File { code: PROGRAM, path: () })
        .map_err(|_errors| Failure::Syntax("the program does not load".to_owned()))?;
    let filter = Compiler::default()
        .with_funs(definitions::functions())
        .compile(modules)
        .map_err(|errors| Failure::Syntax(message::compile(program, &errors)))?;
    Ok((Compiled { filter, direct: table.into_inner() }, need))
}
