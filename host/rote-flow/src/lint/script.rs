//! The literals of a script and what they are given to, found without parsing it.
//!
//! Good for what a reader would see at a glance: `.adapter("id")`, `.call("tool")`, texts. What is put together
//! during the run is not seen. Where a `/` may be a division or a regular expression the piece before it decides;
//! a wrong guess costs findings and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use rote_script::SourceMap;

use super::finding::Position;

/// Methods whose first argument is an adapter.
const ADAPTER_CALLS: [&str; 2] = ["adapter", "checkEndpoint"];
/// Methods whose first argument is a tool.
const TOOL_CALLS: [&str; 2] = ["call", "callBg"];
/// Keys of a batch's calls.
const TOOL_KEYS: [&str; 2] = ["tool", "tool_name"];
/// Most tokens of a script that are looked at.
const MAX_TOKENS: usize = 2_000_000;

/// A piece of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// A string or a template without holes; a template with holes is its pieces.
    Text(String),
    /// Any other character.
    Mark(char),
}

/// A script that was looked through.
pub(super) struct Script {
    tokens: Vec<(usize, Token)>,
    lines: Vec<usize>,
    map: Option<SourceMap>,
}

impl Script {
    pub(super) fn read(code: &str, map: &str) -> Self {
        let ends = code.match_indices('\n').map(|(at, _)| at + 1);
        Self { tokens: tokens(code), lines: std::iter::once(0).chain(ends).collect(), map: SourceMap::parse(map).ok() }
    }

    /// Adapters that are asked for by a literal, with their first place.
    pub(super) fn adapters(&self) -> BTreeMap<String, Position> {
        let mut found = BTreeMap::new();
        for (at, name, text) in self.method_literals() {
            if ADAPTER_CALLS.contains(&name) {
                let id = text.strip_prefix("adapter/").unwrap_or(text);
                found.entry(id.to_owned()).or_insert_with(|| self.place(at));
            }
        }
        found
    }

    /// Tools that are called by a literal, with their first place.
    pub(super) fn tools(&self) -> BTreeMap<String, Position> {
        let mut found = BTreeMap::new();
        let methods = self.method_literals().filter(|(_, name, _)| TOOL_CALLS.contains(name));
        for (at, _, text) in methods.chain(self.key_literals()) {
            found.entry(text.to_owned()).or_insert_with(|| self.place(at));
        }
        found
    }

    /// Every text.
    pub(super) fn texts(&self) -> BTreeSet<String> {
        self.literals_at().map(|(_, text)| text.to_owned()).collect()
    }

    /// Every text with its place.
    pub(super) fn literals(&self) -> Vec<(String, Position)> {
        self.literals_at().map(|(at, text)| (text.to_owned(), self.place(at))).collect()
    }

    /// Whether a name occurs as a word or a text.
    pub(super) fn mentions(&self, name: &str) -> bool {
        self.tokens.iter().any(|(_, token)| match token {
            Token::Word(text) | Token::Text(text) => text == name,
            Token::Mark(_) => false,
        })
    }

    fn literals_at(&self) -> impl Iterator<Item = (usize, &str)> {
        self.tokens.iter().filter_map(|(at, token)| match token {
            Token::Text(text) => Some((*at, text.as_str())),
            _ => None,
        })
    }

    /// `.name("text"`: place, name, text.
    fn method_literals(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        self.tokens.windows(4).filter_map(|window| match window {
            [(_, Token::Mark('.')), (_, Token::Word(name)), (_, Token::Mark('(')), (at, Token::Text(text))] => {
                Some((*at, name.as_str(), text.as_str()))
            }
            _ => None,
        })
    }

    /// `tool: "text"`: place, key, text.
    fn key_literals(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        self.tokens.windows(3).filter_map(|window| match window {
            [(_, Token::Word(key) | Token::Text(key)), (_, Token::Mark(':')), (at, Token::Text(text))]
                if TOOL_KEYS.contains(&key.as_str()) =>
            {
                Some((*at, key.as_str(), text.as_str()))
            }
            _ => None,
        })
    }

    /// The place in the source, or in the bundle where the map does not say.
    fn place(&self, at: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= at).saturating_sub(1);
        let column = at - self.lines.get(line).copied().unwrap_or(0);
        let from_one = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let (line, column) = (from_one(line), from_one(column));
        match self.map.as_ref().and_then(|map| map.translate(line, column)) {
            Some(mapped) => Position::Script { source: mapped.file, line: mapped.line },
            None => Position::Script { source: "bundle".to_owned(), line },
        }
    }
}

/// Splits a script. Never fails: what it cannot read ends up as marks.
fn tokens(code: &str) -> Vec<(usize, Token)> {
    let mut reader = Reader { code, at: 0, found: Vec::new(), templates: Vec::new() };
    while reader.at < code.len() && reader.found.len() < MAX_TOKENS {
        reader.step();
    }
    reader.found
}

struct Reader<'a> {
    code: &'a str,
    at: usize,
    found: Vec<(usize, Token)>,
    /// For each open template hole the number of braces that are open in it.
    templates: Vec<usize>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.code[self.at..]
    }

    fn step(&mut self) {
        let Some(first) = self.rest().chars().next() else { return };
        match first {
            c if c.is_whitespace() => self.at += c.len_utf8(),
            '/' if self.rest().starts_with("//") => self.skip_to('\n'),
            '/' if self.rest().starts_with("/*") => {
                self.at += self.rest()[2..].find("*/").map_or(self.rest().len(), |end| end + 4);
            }
            '"' | '\'' => self.text(first),
            '`' => {
                self.at += 1;
                self.template();
            }
            '/' if self.starts_expression() => self.regular_expression(),
            '{' => self.brace(1),
            '}' if self.templates.last() == Some(&0) => {
                self.templates.pop();
                self.at += 1;
                self.template();
            }
            '}' => self.brace(-1),
            c if c.is_alphanumeric() || matches!(c, '_' | '$' | '#') => self.word(),
            c => self.mark(c),
        }
    }

    fn skip_to(&mut self, end: char) {
        self.at += self.rest().find(end).unwrap_or(self.rest().len());
    }

    fn mark(&mut self, mark: char) {
        self.found.push((self.at, Token::Mark(mark)));
        self.at += mark.len_utf8();
    }

    fn brace(&mut self, change: isize) {
        if let Some(open) = self.templates.last_mut() {
            *open = open.saturating_add_signed(change);
        }
        self.mark(if change > 0 { '{' } else { '}' });
    }

    fn word(&mut self) {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
        let length = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
        let word = self.rest()[..length].to_owned();
        self.found.push((self.at, Token::Word(word)));
        self.at += length;
    }

    /// A string up to its quote or the end of its line.
    fn text(&mut self, quote: char) {
        let start = self.at;
        self.at += 1;
        let text = self.characters(&|c, _| c == quote || c == '\n');
        self.at = (self.at + 1).min(self.code.len());
        self.found.push((start, Token::Text(text)));
    }

    /// A template up to its end or to its next hole.
    fn template(&mut self) {
        let start = self.at;
        let text = self.characters(&|c, rest| c == '`' || rest.starts_with("${"));
        self.found.push((start, Token::Text(text)));
        if self.rest().starts_with("${") {
            self.templates.push(0);
            self.at += 2;
        } else {
            self.at = (self.at + 1).min(self.code.len());
        }
    }

    /// Reads up to where `ends` holds, escapes resolved as far as they matter here.
    fn characters(&mut self, ends: &dyn Fn(char, &str) -> bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.rest().chars().next() {
            if ends(c, self.rest()) {
                break;
            }
            self.at += c.len_utf8();
            if c != '\\' {
                text.push(c);
                continue;
            }
            if let Some(escaped) = self.rest().chars().next() {
                self.at += escaped.len_utf8();
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
        }
        text
    }

    /// Whether a value can stand here, so that a `/` begins a regular expression.
    fn starts_expression(&self) -> bool {
        match self.found.last() {
            None => true,
            Some((_, Token::Mark(mark))) => !matches!(mark, ')' | ']' | '}'),
            Some((_, Token::Text(_))) => false,
            Some((_, Token::Word(word))) => {
                matches!(word.as_str(), "return" | "typeof" | "case" | "in" | "of" | "void" | "delete" | "await")
            }
        }
    }

    fn regular_expression(&mut self) {
        self.at += 1;
        let mut class = false;
        while let Some(c) = self.rest().chars().next() {
            self.at += c.len_utf8();
            match c {
                '\\' => self.at += self.rest().chars().next().map_or(0, char::len_utf8),
                '[' => class = true,
                ']' => class = false,
                '/' if !class => return,
                '\n' => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(code: &str) -> Script {
        Script::read(code, "")
    }

    #[test]
    fn literal_calls_are_found_and_comments_and_expressions_are_not() {
        let code = "// .adapter('no')\nconst a = rote.adapter(\"adapter/shop\");\nif (/\"'`/.test(x)) a.call('orders_get', {});\n\
                    a.batchCall([{ tool: `orders_list` }, { tool: `x${1}` }]); /* .call('no') */";
        let script = script(code);
        assert_eq!(script.adapters().keys().collect::<Vec<_>>(), ["shop"]);
        assert_eq!(script.tools().keys().collect::<Vec<_>>(), ["orders_get", "orders_list", "x"]);
        let place = Position::Script { source: "bundle".to_owned(), line: 3 };
        assert_eq!(script.tools()["orders_get"], place);
    }

    #[test]
    fn templates_nest() {
        let script = script("f(`a${ {b: `c${'d'}e`} }f`, 'g')");
        let texts: Vec<String> = script.literals().into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["a", "c", "d", "e", "f", "g"]);
    }

    #[test]
    fn what_is_cut_off_ends() {
        for code in ["'", "`${", "/* x", "a = /", "\"\\", "}`", "é'ü"] {
            assert!(script(code).texts().len() <= 2, "{code}");
        }
    }
}
