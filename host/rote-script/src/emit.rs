//! Linked modules to one script and its source map.
//!
//! Every module is a generator function. Its first step defines the getters of its exports object and stops; by then
//! its functions exist, as hoisting has it. When all modules have made that step, the second step of each, in the order
//! of [`link::order`](crate::link::order), runs its body. That is how ECMAScript instantiates and then evaluates
//! modules, and it needs no recursion in the engine.
//!
//! The first step of a CommonJS module puts its function aside, and the second requires it. `require` runs what did not
//! run yet, a module of ECMAScript after what it imports.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::exports::Found;
use crate::link::{Exports, Module, Target, is_foreign};
use crate::record::{Form, Printed, Token};
use crate::resolve::SDK_GLOBAL;
use crate::shake::Live;
use crate::vlq;

/// Defines getters on an exports object and closes it.
const LINK: &str = "const __rote_link = (exports, names) => { \
    for (const [name, get] of names) Object.defineProperty(exports, name, { enumerable: true, get }); \
    Object.preventExtensions(exports); };";

/// What CommonJS needs: functions put aside by number, modules that ran or run, and the way in. `__rote_names` makes an
/// exports object of `module.exports`; what says `__esModule` has a `default` of its own, except to `node`.
const COMMON_JS: &str = "\
const __rote_functions = {}, __rote_loaded = {}, __rote_started = [];
const __rote_run = (at) => { if (!__rote_started[at]) { __rote_started[at] = true; __rote_modules[at].next(); } };
const __rote_dynamic = (name) => { throw new Error(`cannot find module ${name}: what a flow requires is bundled before it runs`); };
const __rote_load = (index) => {
if (!(index in __rote_functions)) { __rote_required[index].forEach(__rote_run); return __rote_exports[index]; }
if (index in __rote_loaded) return __rote_loaded[index].exports;
const module = __rote_loaded[index] = { exports: {} };
const [run, requests] = __rote_functions[index];
let done = false;
try { run.call(module.exports, module, module.exports, __rote_dynamic, (request) => requests[request]()); done = true; }
finally { if (!done) delete __rote_loaded[index]; }
return module.exports;
};
const __rote_names = (value, node) => {
const names = { __proto__: null };
const some = value !== null && (typeof value === \"object\" || typeof value === \"function\");
for (const name of some ? Object.getOwnPropertyNames(value) : []) Object.defineProperty(names, name, { configurable: true, enumerable: true, get: () => value[name] });
if (node || !some || !value.__esModule) Object.defineProperty(names, \"default\", { enumerable: true, value });
return names;
};
const __rote_link_open = (exports, names) => { for (const [name, get] of names) Object.defineProperty(exports, name, { enumerable: true, get }); };
const __rote_pass = (exports, names) => {
for (const name in names) if (name !== \"default\" && !(name in exports)) Object.defineProperty(exports, name, { enumerable: true, get: () => names[name] });
};";

/// Prints the script and the source map.
///
/// # Errors
/// Never in practice: writing to a string cannot fail.
pub(crate) fn emit(
    modules: &[Module<'_>],
    exports: &Exports<'_>,
    live: &Live,
    printed: &[Printed],
) -> Result<(String, String), fmt::Error> {
    let kept: Vec<usize> = (0..modules.len()).filter(|index| live.modules[*index]).collect();
    let common_js = kept.iter().any(|index| modules[*index].form == Form::CommonJs)
        || kept.iter().any(|index| modules[*index].targets.iter().any(|target| is_foreign(modules, *target)));
    // What does not run at the start comes behind what does.
    let mut order = live.order.clone();
    order.extend(kept.iter().filter(|index| !live.order.contains(index)));
    let mut script = Script::default();
    script.line("(() => {")?;
    script.line("\"use strict\";")?;
    let objects: Vec<String> = kept.iter().map(|index| format!("__rote_m{index} = {{ __proto__: null }}")).collect();
    script.line(&format!("const {};", objects.join(", ")))?;
    script.line(LINK)?;
    if common_js {
        script.common_js(&order, live)?;
    }
    script.line("const __rote_modules = [")?;
    for &index in &order {
        script.module(modules, index, &exports[index], live, &printed[index])?;
    }
    script.line("].map((module) => module());")?;
    script.line("for (const module of __rote_modules) module.next();")?;
    if common_js {
        script.line(&format!("for (let at = 0; at < {}; at++) __rote_run(at);", live.order.len()))?
    } else {
        script.line("for (const module of __rote_modules) module.next();")?
    }
    script.line("return __rote_m0;")?;
    script.line("})();")?;
    let map = script.map(modules, &kept, printed)?;
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

    fn common_js(&mut self, order: &[usize], live: &Live) -> fmt::Result {
        for line in COMMON_JS.lines() {
            self.line(line)?;
        }
        let place = |index: &usize| order.iter().position(|other| other == index).unwrap_or_default();
        let (mut required, mut exports) = (String::new(), String::new());
        for (index, before) in &live.required {
            let places: Vec<String> = before.iter().map(|index| place(index).to_string()).collect();
            write!(required, "{index}: [{}], ", places.join(", "))?;
            write!(exports, "{index}: __rote_m{index}, ")?;
        }
        self.line(&format!("const __rote_required = {{ {required}}}, __rote_exports = {{ {exports}}};"))
    }

    fn module(
        &mut self,
        modules: &[Module<'_>],
        index: usize,
        exports: &BTreeMap<&str, Found<'_>>,
        live: &Live,
        printed: &Printed,
    ) -> fmt::Result {
        let module = &modules[index];
        // The path holds no line ends: `resolve` refuses control characters, and U+2028 would end the comment.
        let path = module.path.replace(['\u{2028}', '\u{2029}'], " ");
        self.line(&format!("// {path}"))?;
        self.line("function* () {")?;
        if module.form == Form::CommonJs {
            return self.function(modules, index, printed);
        }
        let (mut head, mut tail) = (String::new(), String::new());
        for (request, target) in module.targets.iter().enumerate() {
            match *target {
                Target::Sdk => write!(head, "const __rote_i{request} = {SDK_GLOBAL}; ")?,
                Target::Module(target) if !live.modules[target] => {}
                Target::Module(target) if modules[target].form == Form::CommonJs => {
                    write!(head, "let __rote_i{request}; ")?;
                    write!(tail, " __rote_i{request} = __rote_names(__rote_load({target}), {});", module.node)?;
                }
                Target::Module(target) => write!(head, "const __rote_i{request} = __rote_m{target}; ")?,
                _ => write!(head, "const __rote_i{request} = __rote_names({{}}); ")?,
            }
        }
        if live.required.contains_key(&index) {
            write!(head, "Object.defineProperty(__rote_m{index}, \"__esModule\", {{ value: true }}); ")?;
        }
        let open = live.open[index];
        let link = if open { "__rote_link_open" } else { "__rote_link" };
        write!(head, "{link}(__rote_m{index}, [")?;
        for (name, found) in exports.iter().filter(|(name, _)| live.names[index].contains(**name)) {
            let quoted = serde_json::to_string(name).map_err(|_| fmt::Error)?;
            write!(head, "[{quoted}, () => {}], ", getter(found, index))?;
        }
        for request in module.record.stars.iter().filter(|_| open) {
            write!(tail, " __rote_pass(__rote_m{index}, __rote_i{request});")?;
        }
        self.line(&format!("{head}]); yield;{tail}"))?;
        self.bodies.push((index, self.lines));
        self.body(&printed.code)?;
        self.line("},")
    }

    /// A CommonJS module within its generator.
    fn function(&mut self, modules: &[Module<'_>], index: usize, printed: &Printed) -> fmt::Result {
        let module = &modules[index];
        self.line(&format!("__rote_functions[{index}] = [function (module, exports, require, __rote_require) {{"))?;
        self.bodies.push((index, self.lines));
        self.body(&printed.code)?;
        let mut requests = String::new();
        for (request, target) in module.record.requests.iter().zip(&module.targets) {
            let value = match *target {
                Target::Sdk => SDK_GLOBAL.to_owned(),
                Target::Module(target) if modules[target].form == Form::Json => {
                    format!("__rote_load({target}).default")
                }
                Target::Module(target) => format!("__rote_load({target})"),
                Target::Empty => "({})".to_owned(),
                Target::Absent | Target::Failed(_) => {
                    let name = serde_json::to_string(&request.specifier).map_err(|_| fmt::Error)?;
                    format!("__rote_dynamic({name})")
                }
            };
            write!(requests, "() => {value}, ")?;
        }
        self.line(&format!("}}, [{requests}]]; yield; __rote_load({index});"))?;
        self.line("},")
    }

    /// Writes the body and counts its lines as a source map does: by `\n`.
    fn body(&mut self, code: &str) -> fmt::Result {
        let code = code.strip_suffix('\n').unwrap_or(code);
        let ends = u32::try_from(code.matches('\n').count()).map_err(|_| fmt::Error)?;
        self.lines += ends;
        self.line(code)
    }

    fn map(&self, modules: &[Module<'_>], kept: &[usize], printed: &[Printed]) -> Result<String, fmt::Error> {
        let mut mappings = String::new();
        let mut written = 0;
        let mut previous = Token { line: 0, column: 0, source_line: 0, source_column: 0 };
        let mut previous_source = 0;
        for &(index, first_line) in &self.bodies {
            let source = kept.binary_search(&index).map_err(|_| fmt::Error)?;
            let source = u32::try_from(source).map_err(|_| fmt::Error)?;
            for token in &printed[index].tokens {
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
        let sources: Vec<&str> = kept.iter().map(|index| modules[*index].path.as_str()).collect();
        let map = serde_json::json!({ "version": 3, "sources": sources, "names": [], "mappings": mappings });
        serde_json::to_string(&map).map_err(|_| fmt::Error)
    }
}

/// What a getter of module `index` returns.
fn getter(found: &Found<'_>, index: usize) -> String {
    match found {
        Found::Binding { module, binding, .. } if *module == index => (*binding).to_owned(),
        Found::Binding { module, name, .. } => format!("__rote_m{module}[{}]", serde_json::Value::from(*name)),
        Found::Open { module, name } => format!("__rote_m{module}[{}]", serde_json::Value::from(*name)),
        Found::Type => "undefined".into(),
        Found::Namespace(module) => format!("__rote_m{module}"),
        Found::Sdk(None) => SDK_GLOBAL.into(),
        Found::Sdk(Some(name)) => format!("{SDK_GLOBAL}[{}]", serde_json::Value::from(*name)),
    }
}
