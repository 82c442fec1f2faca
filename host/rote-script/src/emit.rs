//! Linked modules to one script and its source map.
//!
//! Every module is a generator function. Its first step defines the getters of its exports object and stops; by then
//! its functions exist, as hoisting has it. When all modules have made that step, the second step of each, in the order
//! of [`link::order`](crate::link::order), runs its body. That is how ECMAScript instantiates and then evaluates
//! modules, and it needs no recursion in the engine.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::exports::Found;
use crate::link::{Exports, Module, Target};
use crate::record::Token;
use crate::resolve::SDK_GLOBAL;
use crate::vlq;

/// Defines getters on an exports object and closes it.
const LINK: &str = "const __rote_link = (exports, names) => { \
    for (const [name, get] of names) Object.defineProperty(exports, name, { enumerable: true, get }); \
    Object.preventExtensions(exports); };";

/// Prints the script and the source map.
///
/// # Errors
/// Never in practice: writing to a string cannot fail.
pub(crate) fn emit(modules: &[Module], exports: &Exports<'_>, order: &[usize]) -> Result<(String, String), fmt::Error> {
    let mut script = Script::default();
    script.line("(() => {")?;
    script.line("\"use strict\";")?;
    let objects: Vec<String> =
        (0..modules.len()).map(|index| format!("__rote_m{index} = {{ __proto__: null }}")).collect();
    script.line(&format!("const {};", objects.join(", ")))?;
    script.line(LINK)?;
    script.line("const __rote_modules = [")?;
    for &index in order {
        script.module(&modules[index], index, &exports[index])?;
    }
    script.line("].map((module) => module());")?;
    script.line("for (const module of __rote_modules) module.next();")?;
    script.line("for (const module of __rote_modules) module.next();")?;
    script.line("return __rote_m0;")?;
    script.line("})();")?;
    let map = script.map(modules)?;
    Ok((script.text, map))
}

#[derive(Default)]
struct Script {
    text: String,
    lines: u32,
    /// The index of each module and the line, from 0, at which its body starts.
    bodies: Vec<(usize, u32)>,
}

impl Script {
    fn line(&mut self, text: &str) -> fmt::Result {
        self.lines += 1;
        writeln!(self.text, "{text}")
    }

    fn module(&mut self, module: &Module, index: usize, exports: &BTreeMap<&str, Found<'_>>) -> fmt::Result {
        // The path holds no line ends: `resolve` refuses control characters, and U+2028 would end the comment.
        let path = module.path.replace(['\u{2028}', '\u{2029}'], " ");
        self.line(&format!("// {path}"))?;
        self.line("function* () {")?;
        let mut head = String::new();
        for (request, target) in module.targets.iter().enumerate() {
            match target {
                Target::Sdk => write!(head, "const __rote_i{request} = {SDK_GLOBAL}; ")?,
                Target::Module(target) => write!(head, "const __rote_i{request} = __rote_m{target}; ")?,
            }
        }
        write!(head, "__rote_link(__rote_m{index}, [")?;
        for (name, found) in exports {
            let quoted = serde_json::to_string(name).map_err(|_| fmt::Error)?;
            write!(head, "[{quoted}, () => {}], ", getter(found, index))?;
        }
        self.line(&format!("{head}]); yield;"))?;
        self.bodies.push((index, self.lines));
        self.body(&module.compiled.code)?;
        self.line("},")
    }

    /// Writes the body and counts its lines as a source map does: by `\n`.
    fn body(&mut self, code: &str) -> fmt::Result {
        let code = code.strip_suffix('\n').unwrap_or(code);
        let ends = u32::try_from(code.matches('\n').count()).map_err(|_| fmt::Error)?;
        self.lines += ends;
        self.line(code)
    }

    fn map(&self, modules: &[Module]) -> Result<String, fmt::Error> {
        let mut mappings = String::new();
        let mut written = 0;
        let mut previous = Token { line: 0, column: 0, source_line: 0, source_column: 0 };
        let mut previous_source = 0;
        for &(index, first_line) in &self.bodies {
            let source = u32::try_from(index).map_err(|_| fmt::Error)?;
            for token in &modules[index].compiled.tokens {
                let line = first_line + token.line;
                if line > written {
                    mappings.extend(std::iter::repeat_n(';', (line - written) as usize));
                    (written, previous.column) = (line, 0);
                } else if !mappings.is_empty() && !mappings.ends_with(';') {
                    mappings.push(',');
                }
                vlq::push_difference(&mut mappings, previous.column, token.column);
                vlq::push_difference(&mut mappings, previous_source, source);
                vlq::push_difference(&mut mappings, previous.source_line, token.source_line);
                vlq::push_difference(&mut mappings, previous.source_column, token.source_column);
                (previous, previous_source) = (*token, source);
            }
        }
        let sources: Vec<&str> = modules.iter().map(|module| module.path.as_str()).collect();
        let map = serde_json::json!({ "version": 3, "sources": sources, "names": [], "mappings": mappings });
        serde_json::to_string(&map).map_err(|_| fmt::Error)
    }
}

/// What a getter of module `index` returns.
fn getter(found: &Found<'_>, index: usize) -> String {
    match found {
        Found::Binding { module, binding, .. } if *module == index => (*binding).to_owned(),
        Found::Binding { module, name, .. } => format!("__rote_m{module}[{}]", serde_json::Value::from(*name)),
        Found::Type => "undefined".into(),
        Found::Namespace(module) => format!("__rote_m{module}"),
        Found::Sdk(None) => SDK_GLOBAL.into(),
        Found::Sdk(Some(name)) => format!("{SDK_GLOBAL}[{}]", serde_json::Value::from(*name)),
    }
}
