//! The jq programs that have words: paths with at most one choice of items, `.items[] | select(.state == "open") | .id`.

use serde_json::Value;

/// One part of a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// A member.
    Name(String),
    /// The item at a position; negative ones count from the end.
    Index(i64),
    /// The items for which all conditions hold.
    Each(Vec<Choice>),
    /// How many there are.
    Length,
}

/// A condition on one member of an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// The member, names with dots.
    pub(super) field: String,
    /// Whether the member is to be the value, or not to be it.
    pub(super) equal: bool,
    pub(super) value: Operand,
}

/// What a member is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Literal(Value),
    /// A variable's name without `$`.
    Variable(String),
}

/// Reads a program; none when it has more than this understands.
pub(super) fn read(program: &str) -> Option<Vec<Part>> {
    let mut reader = Reader { rest: program };
    let mut parts = Vec::new();
    loop {
        reader.space();
        if reader.takes("select(") {
            let choices = reader.choices()?;
            match parts.last_mut() {
                Some(Part::Each(known)) => known.extend(choices),
                _ => return None,
            }
        } else if reader.word("length") {
            parts.push(Part::Length);
        } else {
            parts.extend(reader.path()?);
        }
        reader.space();
        if reader.rest.is_empty() {
            return Some(parts);
        }
        if !reader.takes("|") {
            return None;
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn takes(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else { return false };
        self.rest = rest;
        true
    }

    /// Takes a whole word.
    fn word(&mut self, word: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(word) else { return false };
        let whole = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '(');
        if whole {
            self.rest = rest;
        }
        whole
    }

    fn name(&mut self) -> Option<String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        Some(name.to_owned())
    }

    /// Takes `.`, `.a.b[0]`, `.[]` and their like.
    fn path(&mut self) -> Option<Vec<Part>> {
        if !self.takes(".") {
            return None;
        }
        let mut parts = Vec::new();
        if !self.rest.starts_with('[') {
            match self.name() {
                Some(name) => parts.push(Part::Name(name)),
                None => return Some(parts),
            }
        }
        loop {
            if self.takes("[") {
                let (inside, rest) = self.rest.split_once(']')?;
                parts.push(match inside {
                    "" => Part::Each(Vec::new()),
                    index => Part::Index(index.parse().ok()?),
                });
                self.rest = rest;
            } else if self.takes(".") {
                // Also `.a.[0]`.
                if !self.rest.starts_with('[') {
                    parts.push(Part::Name(self.name()?));
                }
            } else {
                return Some(parts);
            }
        }
    }

    /// Takes `.a == "b" and .c != $d)`.
    fn choices(&mut self) -> Option<Vec<Choice>> {
        let mut choices = Vec::new();
        loop {
            self.space();
            let mut names = Vec::new();
            for part in self.path()? {
                let Part::Name(name) = part else { return None };
                names.push(name);
            }
            self.space();
            let equal = self.takes("==");
            if !equal && !self.takes("!=") {
                return None;
            }
            self.space();
            choices.push(Choice { field: names.join("."), equal, value: self.operand()? });
            self.space();
            if self.takes(")") {
                return Some(choices);
            }
            if !self.word("and") {
                return None;
            }
        }
    }

    /// Takes `$name` or a scalar of JSON; a text with interpolation is not one.
    fn operand(&mut self) -> Option<Operand> {
        if self.takes("$") {
            return Some(Operand::Variable(self.name()?));
        }
        let (value, end) = if self.rest.starts_with('"') {
            let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
            (values.next()?.ok()?, values.byte_offset())
        } else {
            let end = self.rest.find(|c: char| c.is_whitespace() || c == ')')?;
            (serde_json::from_str(self.rest.get(..end)?).ok()?, end)
        };
        if value.is_array() || value.is_object() {
            return None;
        }
        self.rest = self.rest.get(end..)?;
        Some(Operand::Literal(value))
    }
}
