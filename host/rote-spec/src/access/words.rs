//! The table of words and how words are taken out of ids, paths and summaries.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a verb says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Read,
    Write,
    Destroy,
    Grant,
    Calm,
    Skip,
}

/// Where a word that destroys counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Id,
    Path,
    Summary,
    Made,
    Changed,
    Get,
    Posted,
}

/// The table, as `words.txt` has it.
#[derive(Debug, Default)]
pub(super) struct Table {
    words: HashMap<&'static str, (Class, Vec<Place>)>,
    exceptions: HashMap<&'static str, Vec<&'static str>>,
    conditions: HashMap<&'static str, Vec<&'static str>>,
    raising: HashMap<&'static str, Vec<&'static str>>,
    programs: Vec<&'static str>,
    phrases: Vec<&'static str>,
    nouns: Vec<&'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    // That every line is understood is a test's business; one that is not says nothing.
    TEXT.lines().for_each(|line| drop(table.add(line)));
    table
});

const TEXT: &str = include_str!("words.txt");

impl Table {
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    /// Adds one line of the file; an error names what is wrong with it.
    fn add(&mut self, line: &'static str) -> Result<(), String> {
        let mut parts = line.split('#').next().unwrap_or_default().split_whitespace();
        let (Some(class), Some(word)) = (parts.next(), parts.next()) else {
            return Ok(());
        };
        let class = match class {
            "read" => Class::Read,
            "write" => Class::Write,
            "destroy" => Class::Destroy,
            "calm" => Class::Calm,
            "grant" => Class::Grant,
            "skip" => Class::Skip,
            "except" => {
                self.exceptions.insert(word, parts.collect());
                return Ok(());
            }
            "only" => {
                self.conditions.insert(word, parts.collect());
                return Ok(());
            }
            "program" => {
                self.programs.push(word);
                return Ok(());
            }
            "phrase" => {
                self.phrases.push(word);
                return Ok(());
            }
            "noun" => {
                self.nouns.push(word);
                return Ok(());
            }
            "raise" => {
                let values: Vec<_> = parts.collect();
                return if values.is_empty() || self.raising.insert(word, values).is_some() {
                    Err(format!("`{word}` has no values, or stands twice"))
                } else {
                    Ok(())
                };
            }
            other => return Err(format!("`{other}` is not a class")),
        };
        let places = parts.map(place).collect::<Result<Vec<_>, _>>()?;
        let fits = match class {
            Class::Destroy | Class::Calm => !places.is_empty(),
            Class::Read => matches!(places[..], [] | [Place::Posted]),
            Class::Write => matches!(places[..], [] | [Place::Id] | [Place::Get] | [Place::Path]),
            Class::Grant => matches!(places[..], [] | [Place::Made]),
            Class::Skip => places.is_empty(),
        };
        if !fits {
            return Err(format!("`{word}` has places that its class does not have"));
        }
        match self.words.insert(word, (class, places)) {
            None => Ok(()),
            Some(_) => Err(format!("`{word}` stands twice")),
        }
    }

    /// The class of a verb that says something, in its base form or with an -s.
    pub(super) fn verb(&self, word: &str) -> Option<(Class, &'static str)> {
        let stems = [Some(word), word.strip_suffix('s'), word.strip_suffix("es")];
        let known = stems.into_iter().flatten().find_map(|stem| self.words.get_key_value(stem));
        let says = |class: &Class, places: &[Place]| match class {
            Class::Skip | Class::Grant => false,
            // Such a word is the last of a path, or a noun.
            Class::Write => !places.contains(&Place::Get),
            Class::Read | Class::Destroy | Class::Calm => true,
        };
        known.filter(|(_, (class, places))| says(class, places)).map(|(base, (class, _))| (*class, *base))
    }

    /// Whether a word says nothing by itself: one of class `skip`, or an adverb.
    pub(super) fn is_skipped(&self, word: &str) -> bool {
        self.words.get(word).map_or_else(|| word.ends_with("ly"), |(class, _)| *class == Class::Skip)
    }

    /// The same for a word that has to be written as the table has it: with an -s it may be a noun.
    pub(super) fn exact(&self, word: &str) -> Option<(Class, &'static str)> {
        self.verb(word).filter(|(_, base)| *base == word)
    }

    /// The same for a verb that changes something.
    pub(super) fn act(&self, word: &str) -> Option<(Class, &'static str)> {
        self.exact(word).filter(|(class, _)| matches!(class, Class::Write | Class::Destroy))
    }

    /// Whether a verb is a noun too where no object stands behind it.
    pub(super) fn is_noun(&self, word: &str) -> bool {
        match self.words.get(word) {
            Some((Class::Destroy, places)) => !places.contains(&Place::Get),
            _ => self.nouns.contains(&word),
        }
    }

    /// Whether a verb takes an act back, as its summary may say by that act.
    pub(super) fn undoes(word: &str) -> bool {
        word.starts_with("un") || word == "restore"
    }

    /// Whether words, joined by `_`, say together what destroys.
    pub(super) fn is_phrase(&self, words: &str) -> bool {
        self.phrases.contains(&words)
    }

    /// Whether a word says what is done, and not only what an argument is called.
    pub(super) fn is_verb(&self, word: &str) -> bool {
        self.words.contains_key(word)
    }

    pub(super) fn destroys(&self, word: &str, place: Place) -> bool {
        self.counts(Class::Destroy, word, place)
    }

    /// Whether a word of this class counts at a place.
    pub(super) fn counts(&self, class: Class, word: &str, place: Place) -> bool {
        self.words.get(word).is_some_and(|(own, places)| *own == class && places.contains(&place))
    }

    /// Whether a verb says something in names only: in a sentence it may be another word.
    pub(super) fn is_said_in_names_only(&self, word: &str) -> bool {
        self.counts(Class::Write, word, Place::Id)
    }

    /// Whether a word names what somebody may do or see, or what is paid for.
    pub(super) fn grants(&self, word: &str) -> bool {
        self.words.get(word).is_some_and(|(class, _)| *class == Class::Grant)
    }

    /// Whether to make or change something in a collection of that name destroys, or grants something.
    pub(super) fn makes(&self, name: &str, place: Place) -> bool {
        [Class::Destroy, Class::Grant].into_iter().any(|class| self.counts(class, name, place))
    }

    /// Whether a word of a name says that something is looked for: a verb that a `POST` asks with, or its plural.
    pub(super) fn is_search(&self, word: &str) -> bool {
        self.counts(Class::Read, word, Place::Posted) || word == "queries" || word == "searches"
    }

    /// Whether an argument of that name holds a program, or what is put in the place of what is found.
    pub(super) fn is_program(&self, name: &str) -> bool {
        self.programs.contains(&words_of(name).join("_").as_str())
    }

    /// The values with which an argument of that name raises a call.
    pub(super) fn raising(&self, name: &str) -> &[&'static str] {
        self.raising.get(words_of(name).join("_").as_str()).map_or(&[], Vec::as_slice)
    }

    /// Whether a word says nothing beside one of these, or only beside others.
    pub(super) fn excepted(&self, word: &str, beside: &[String]) -> bool {
        let named = |names: &Vec<&str>| beside.iter().any(|one| names.contains(&one.as_str()));
        self.exceptions.get(word).is_some_and(named) || self.conditions.get(word).is_some_and(|names| !named(names))
    }
}

fn place(text: &str) -> Result<Place, String> {
    match text {
        "id" => Ok(Place::Id),
        "path" => Ok(Place::Path),
        "summary" => Ok(Place::Summary),
        "made" => Ok(Place::Made),
        "changed" => Ok(Place::Changed),
        "posted" => Ok(Place::Posted),
        "get" => Ok(Place::Get),
        other => Err(format!("`{other}` is not a place")),
    }
}

/// The words of an identifier, lower case: `cancel-run`, `cancelRun`, `cancel_run` and `CancelRUN` are two each.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let mut characters = text.chars().peekable();
    let mut previous = ' ';
    while let Some(character) = characters.next() {
        if !character.is_alphanumeric() {
            open = false;
            continue;
        }
        let next_is_small = characters.peek().is_some_and(|next| next.is_lowercase());
        let hump = character.is_uppercase() && (!previous.is_uppercase() || next_is_small);
        match words.last_mut() {
            Some(word) if open && !hump => word.extend(character.to_lowercase()),
            _ => words.push(character.to_lowercase().collect()),
        }
        open = true;
        previous = character;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let mut table = Table::default();
        for (number, line) in TEXT.lines().enumerate() {
            table.add(line).unwrap_or_else(|problem| panic!("line {}: {problem}", number + 1));
            assert!(line.is_ascii() && *line == *line.to_ascii_lowercase() || line.starts_with('#'), "{line}");
        }
        assert!(table.destroys("delete", Place::Get) && !table.destroys("transfer", Place::Get));
        for line in ["destroy delete", "read get id", "kill x path", "destroy x everywhere", "raise x"] {
            assert!(Table::default().add(line).is_err(), "{line}");
        }
    }

    #[test]
    fn identifiers_fall_into_words() {
        for (text, expected) in [
            ("cancel-run", "cancel run"),
            ("chat_deleteScheduledMessage", "chat delete scheduled message"),
            ("files.revokePublicURL", "files revoke public url"),
            ("GetHTTPStatus2", "get http status2"),
            ("", ""),
            ("/a//b", "a b"),
        ] {
            assert_eq!(words_of(text).join(" "), expected, "{text}");
        }
    }
}
