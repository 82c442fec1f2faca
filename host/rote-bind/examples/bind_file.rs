//! Prints the bindings of an installed adapter: `bind_file <adapter folder> <ts|rust> [tool…]`; times go to stderr.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "an example for people: it reads its arguments and prints"
)]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use rote_bind::BindOptions;
use rote_types::{Manifest, Tool};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("which adapter folder?")?);
    let language = arguments.next().ok_or("`ts` or `rust`?")?;
    let options = BindOptions { tools: arguments.collect(), ..BindOptions::default() };
    let manifest: Manifest = serde_json::from_slice(&std::fs::read(folder.join("manifest.json"))?)?;
    let tools: Vec<Tool> = serde_json::from_slice(&std::fs::read(folder.join("tools.json"))?)?;
    let started = Instant::now();
    let bindings = match language.as_str() {
        "ts" => rote_bind::typescript(&manifest, &tools, &options)?,
        _ => rote_bind::rust(&manifest, &tools, &options)?,
    };
    let (tools, bytes, elapsed) = (tools.len(), bindings.len(), started.elapsed());
    eprintln!("{} {language}: {tools} tools, {bytes} bytes, {elapsed:?}", manifest.id);
    print!("{bindings}");
    Ok(())
}
