//! Identifiers from foreign names: ASCII, legal, unique, and the same whatever else was chosen.
//!
//! A name that is taken gets a number, from 2 on, in the order in which names are claimed; claims are made in
//! a fixed order (`model.rs`). A reserved word gets an underscore.

use std::collections::HashMap;

/// Most characters of an identifier before a number.
const MAX_CHARS: usize = 80;

/// Names in use within one scope.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    reserved: &'static [&'static str],
    /// The number to try next, by name in use.
    next: HashMap<String, u32>,
}

impl Names {
    /// Starts a scope in which `reserved` cannot be claimed.
    pub(crate) fn reserving(reserved: &'static [&'static str]) -> Self {
        Self { reserved, next: HashMap::new() }
    }

    /// Claims `wanted`, or `wanted`, `separator` and a number when it is taken.
    pub(crate) fn claim(&mut self, wanted: &str, separator: &str) -> String {
        let wanted = if self.reserved.contains(&wanted) { format!("{wanted}_") } else { wanted.to_owned() };
        let Some(mut number) = self.next.get(&wanted).copied() else {
            self.next.insert(wanted.clone(), 2);
            return wanted;
        };
        loop {
            let name = format!("{wanted}{separator}{number}");
            number = number.saturating_add(1);
            if !self.next.contains_key(&name) && !self.reserved.contains(&name.as_str()) {
                self.next.insert(wanted, number);
                self.next.insert(name.clone(), 2);
                return name;
            }
        }
    }
}

/// Returns `issuesListForRepo`.
pub(crate) fn camel(name: &str) -> String {
    let mut words = runs(name).into_iter();
    let Some(first) = words.next() else { return "unnamed".to_owned() };
    let mut out = lower_first(&first);
    words.for_each(|word| push_capitalised(&mut out, &word));
    legal(out)
}

/// Returns `IssuesListForRepo`.
pub(crate) fn pascal(name: &str) -> String {
    let mut out = String::new();
    runs(name).iter().for_each(|word| push_capitalised(&mut out, word));
    if out.is_empty() {
        out.push_str("Unnamed");
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'N');
    }
    capped(out)
}

/// Returns `issues_list_for_repo`.
pub(crate) fn snake(name: &str) -> String {
    let words: Vec<String> = runs(name).iter().flat_map(|run| humps(run)).collect();
    legal(if words.is_empty() { "unnamed".to_owned() } else { words.join("_") })
}

/// Returns the name of an enum's variant; signs before a number are spelled out.
pub(crate) fn variant(value: &str) -> String {
    let signed = match value.as_bytes() {
        [b'+', b'0'..=b'9', ..] => format!("Plus{}", &value[1..]),
        [b'-', b'0'..=b'9', ..] => format!("Minus{}", &value[1..]),
        [] => "Empty".to_owned(),
        _ => value.to_owned(),
    };
    let words: Vec<String> = runs(&signed).iter().flat_map(|run| humps(run)).collect();
    pascal(&words.join("_"))
}

/// Splits at everything that is not an ASCII letter or digit.
fn runs(name: &str) -> Vec<String> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty()).map(str::to_owned).collect()
}

/// Splits `getHTTPResponse2` into `get`, `http`, `response2`.
fn humps(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let after_lower = at > 0 && !chars[at - 1].is_ascii_uppercase();
        let ends_acronym = at > 0 && chars.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if at > 0 && c.is_ascii_uppercase() && (after_lower || ends_acronym) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// Lowers the first hump: `GetCustomers` to `getCustomers`, `HTTPGet` to `httpGet`.
fn lower_first(run: &str) -> String {
    let first = humps(run).first().map_or(0, String::len);
    format!("{}{}", run[..first].to_ascii_lowercase(), &run[first..])
}

fn push_capitalised(out: &mut String, word: &str) {
    let mut chars = word.chars();
    // Two numbers side by side would read as one: `v1_2` and `v12` stay apart.
    if out.ends_with(|c: char| c.is_ascii_digit()) && word.starts_with(|c: char| c.is_ascii_digit()) {
        out.push('_');
    }
    out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
    out.push_str(chars.as_str());
}

fn legal(mut name: String) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    capped(name)
}

fn capped(mut name: String) -> String {
    // ASCII, so every index is a boundary.
    name.truncate(MAX_CHARS);
    name
}
