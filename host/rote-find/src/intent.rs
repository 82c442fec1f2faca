//! An intent: what somebody wants to do, read as a verb, an object and what is around it.

use crate::near::{LEAST_MISSPELT, is_one_edit};
use crate::text::{split_words, stem};
use crate::value;
use crate::vocabulary::{Deed, Match, Vocabulary};

/// Longest query, in words.
const MAX_WORDS: usize = 48;
/// How much a word counts that another one stands for.
const STANDS_FOR: f32 = 1.0;
/// Weights of words in an intent.
const OBJECT: f32 = 1.4;
const OTHER: f32 = 0.8;
const PLAIN_VERB: f32 = 0.3;
const HALF_VERB: f32 = 0.97;
const OWN_VERB: f32 = 1.2;
/// What a stem of [`PLAIN`] counts beside others of a verb.
const PLAIN_FORM: f32 = 0.45;
/// How much each further word counts less that stands for another.
const FURTHER: f32 = 0.03;
/// Stems of verbs that a method says as well.
pub(crate) const PLAIN: [&str; 20] = [
    "creat", "add", "new", "updat", "chang", "set", "edit", "modifi", "replac", "delet", "remov", "get", "list",
    "read", "find", "search", "show", "make", "retriev", "put",
];
const SLIGHT: f32 = 0.37;
const PREFIX: f32 = 0.4;
/// What the shape of a value counts.
const BY_SHAPE: f32 = 0.4;
/// What a word counts that is a part of what others stand for, one that a verb stands for elsewhere, and one that is alike.
const PART: f32 = 0.6;
const ELSEWHERE: f32 = 0.4;
const ALIKE: f32 = 1.0;

/// Words with which a question begins.
const QUESTIONS: [&str; 26] = [
    "who", "whom", "whose", "what", "which", "where", "why", "how", "when", "is", "are", "was", "were", "am", "do",
    "does", "did", "has", "have", "can", "could", "may", "should", "will", "would", "whats",
];
/// Words behind which something stands beside the object.
const PREPOSITIONS: [&str; 22] = [
    "of", "in", "on", "from", "for", "to", "with", "under", "at", "by", "into", "inside", "across", "over", "as",
    "about", "that", "who", "which", "via", "between", "behind",
];

/// Words behind which a verb tells of something instead of ordering it.
const CLAUSES: [&str; 21] = [
    "may", "can", "could", "might", "should", "must", "be", "is", "are", "was", "were", "been", "has", "have", "had",
    "that", "who", "which", "we", "they", "i",
];

/// Words behind which stands what something is for.
const PURPOSES: [&str; 6] = ["for", "that", "where", "which", "who", "with"];

/// Words of whoever speaks.
const OWN: [&str; 5] = ["my", "mine", "i", "me", "am"];
const ARTICLES: [&str; 5] = ["the", "a", "an", "my", "our"];
/// Words in front of an order.
const POLITE: [&str; 22] = [
    "please", "i", "we", "want", "to", "need", "would", "like", "you", "can", "could", "will", "let", "lets", "s",
    "me", "us", "help", "kindly", "d", "just", "now",
];

/// One thing that an intent says.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    /// The stems it is found by, with how much each counts; its own first.
    pub(crate) forms: Vec<(String, f32)>,
    pub(crate) weight: f32,
    /// It is what is done.
    pub(crate) verb: bool,
    /// It is what something is done with.
    pub(crate) object: bool,
    /// It says which one: an id or a name stands behind it.
    valued: bool,
    /// An id stands behind it.
    pub(crate) given: bool,
    /// It is the beginning of an id, and may be the beginning of a word: `cus_1`.
    pub(crate) prefix: bool,
    /// It may be a name that somebody gave: behind a preposition, or with a capital.
    pub(crate) name: bool,
    /// The vocabulary has it.
    known: bool,
}

impl Term {
    /// What a value says besides which one.
    fn of_value(forms: Vec<(String, f32)>, weight: f32, prefix: bool) -> Self {
        Self { forms, weight, verb: false, object: false, valued: true, given: true, prefix, name: true, known: false }
    }
}

/// What somebody wants to do.
#[derive(Debug)]
pub(crate) struct Intent {
    pub(crate) whole: String,
    pub(crate) terms: Vec<Term>,
    /// The stems of all its words, also of those that say nothing.
    pub(crate) stems: Vec<String>,
    pub(crate) deed: Deed,
    /// The object is one, by an article or by the id behind it.
    pub(crate) one: bool,
    /// The object is many.
    pub(crate) many: bool,
    /// It is about whoever says it.
    pub(crate) mine: bool,
}

/// One token of a sentence.
struct Token {
    text: String,
    capital: bool,
    /// It stands behind a comma or a full stop.
    begins: bool,
    /// An id, an address, a name with digits: what somebody's data is called.
    value: bool,
}

impl Intent {
    /// Reads a sentence.
    pub(crate) fn new(text: &str) -> Self {
        let tokens = tokens(text);
        let said = |token: &Token| (!token.value).then(|| token.text.clone());
        let words: Vec<Option<String>> = tokens.iter().map(said).collect();
        let mut stems: Vec<Option<String>> = words.iter().map(|word| word.as_deref().map(stem)).collect();
        let vocabulary = Vocabulary::get();
        if let Some(Some(first)) = stems.first_mut()
            && tokens[0].text.len() >= LEAST_MISSPELT
            && !vocabulary.knows(first)
            && let Some(meant) = vocabulary.near_verb(first)
        {
            meant.clone_into(first);
        }
        let question = asks(text, &tokens);
        let mut reading = Reading {
            vocabulary,
            tokens: &tokens,
            stems: &stems,
            words: &words,
            used: vec![false; tokens.len()],
            within: 0..0,
            terms: Vec::new(),
        };
        let deed =
            if question { Deed::Read } else { reading.verb().or_else(|| reading.missing()).unwrap_or(Deed::Read) };
        reading.others();
        let terms = reading.terms;
        let (one, many) = number(&tokens, &stems, &terms);
        let mine = tokens.iter().any(|token| OWN.contains(&token.text.as_str()));
        let stems = stems.into_iter().flatten().collect();
        Self { whole: text.trim().to_owned(), terms, stems, deed, one, many, mine }
    }
}

/// Whether a sentence asks; an order can be put as a question.
fn asks(text: &str, tokens: &[Token]) -> bool {
    let token = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let politely = matches!(token(0), "can" | "could" | "would" | "will") && token(1) == "you";
    !politely && (text.trim_end().ends_with('?') || QUESTIONS.contains(&token(0)))
}

/// Whether the object is one, by what is behind or before it, or many, by its plural or by what is before it.
fn number(tokens: &[Token], stems: &[Option<String>], terms: &[Term]) -> (bool, bool) {
    let all = tokens.iter().any(|token| matches!(token.text.as_str(), "all" | "every" | "each"));
    let Some(object) = terms.iter().find(|term| term.object) else { return (false, all) };
    let own = object.forms.first().map(|(form, _)| form);
    let Some(at) = stems.iter().position(|stem| stem.as_ref() == own) else { return (object.valued, all) };
    let many = all || (tokens[at].text.ends_with('s') && !tokens[at].text.ends_with("ss"));
    let article = at > 0 && (tokens[at - 1].text == "this" || ARTICLES.contains(&tokens[at - 1].text.as_str()));
    (object.valued || (article && !many), many)
}

/// A word that was read.
struct Word {
    forms: Vec<(String, f32)>,
    known: bool,
    /// It says little.
    slight: bool,
}

/// A sentence that is read.
struct Reading<'t> {
    vocabulary: &'static Vocabulary,
    tokens: &'t [Token],
    stems: &'t [Option<String>],
    words: &'t [Option<String>],
    used: Vec<bool>,
    /// From the first word of the verb to its last.
    within: std::ops::Range<usize>,
    terms: Vec<Term>,
}

impl Reading<'_> {
    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    /// Where the verb would be: behind what is said for politeness, unless that is a verb with what is behind it.
    fn begin(&self, from: usize) -> usize {
        let verb = |at| self.vocabulary.verb(self.stems, at).is_some_and(|found| found.places.len() > 1);
        // `let us` is polite, `let the customer` is not.
        let lets = |at: usize| self.token(at) == "let" && !matches!(self.token(at + 1), "me" | "us" | "s");
        let begins = |at: &usize| !POLITE.contains(&self.token(*at)) || lets(*at) || verb(*at);
        (from..self.tokens.len()).find(begins).unwrap_or(from)
    }

    /// What is wanted where nothing orders: `a page where people can pay` says what it is for, and so is not there yet.
    fn missing(&self) -> Option<Deed> {
        let purpose = self.tokens.iter().any(|token| PURPOSES.contains(&token.text.as_str()));
        let listed = self.vocabulary.verb(self.stems, 1).is_some_and(|found| found.meaning.deed == Some(Deed::Read));
        (matches!(self.token(0), "a" | "an") && purpose && !listed).then_some(Deed::Create)
    }

    /// Finds the verb: where it would be, behind `and` or a comma, or one of several words anywhere.
    fn verb_found(&self) -> Option<Match<'static>> {
        let begin = self.begin(0);
        let first = self.token(begin);
        // `issues on …`, `pinned things`, `status of …`: what could be a verb elsewhere.
        let ends = |end: &str| first.len() > end.len() + 2 && first.ends_with(end);
        let noun = ends("ed") || (ends("s") && !ends("ss")) || self.token(begin + 1) == "of";
        let verb = |at: usize| {
            let formed = |found: &Match<'_>| found.places.len() > 1 || is_form(self.token(at), &found.meaning.first);
            self.vocabulary.verb(self.stems, at).filter(formed)
        };
        // `thumbs up`: words that are a verb as they stand.
        let stands = |found: &Match<'_>| !noun || (found.places.len() > 1 && found.meaning.first == first);
        let own = verb(begin).filter(stands);
        let joined = !noun && matches!(self.token(begin + 1), "and" | "then");
        // `companies that we may share with` orders nothing.
        let told = |at: usize| CLAUSES.contains(&self.token(at - 1));
        let several = |at| {
            let changes = |found: &Match<'_>| found.places.len() > 1 && found.meaning.deed != Some(Deed::Read);
            verb(at).filter(changes).filter(|_| !told(at))
        };
        // `it is broken, close it`
        let ordered = |at: usize| self.tokens[at].begins.then(|| verb(self.begin(at))).flatten();
        own.or_else(|| joined.then(|| verb(begin + 2)).flatten())
            .or_else(|| (begin + 1..self.tokens.len()).find_map(ordered))
            .or_else(|| (begin + 1..self.tokens.len()).find_map(several))
    }

    /// Reads the verb.
    fn verb(&mut self) -> Option<Deed> {
        let found = self.verb_found()?;
        let own: Vec<String> = found.places.iter().filter_map(|place| self.stems[*place].clone()).collect();
        found.places.iter().for_each(|place| self.used[*place] = true);
        self.within = found.places[0]..found.places.last().copied().unwrap_or_default();
        let stands_for = &found.meaning.stands_for;
        let alone = own.first().filter(|_| own.len() == 1).map(|own| (own.clone(), 1.0));
        let mut forms: Vec<(String, f32)> = alone.into_iter().collect();
        forms.extend(stand_for(stands_for, &own, own.len() > 1));
        let plain = |(form, _): &(String, f32)| PLAIN.contains(&form.as_str());
        let weight = match (stands_for.is_empty() || forms.iter().all(plain), forms.iter().any(plain)) {
            (true, _) => PLAIN_VERB,
            (false, true) => HALF_VERB,
            (false, false) => OWN_VERB,
        };
        if weight == HALF_VERB {
            forms.iter_mut().filter(|form| plain(form)).for_each(|form| form.1 *= PLAIN_FORM);
        }
        if !forms.is_empty() {
            self.terms.push(Term {
                forms,
                weight,
                verb: true,
                object: false,
                valued: false,
                given: false,
                prefix: false,
                name: false,
                known: true,
            });
        }
        found.meaning.deed
    }

    /// Reads everything else.
    fn others(&mut self) {
        let (mut object, mut beside) = (false, false);
        for place in 0..self.tokens.len() {
            if self.used[place] {
                continue;
            }
            if self.tokens[place].value {
                // `move report.pdf`: what stands behind the verb is its object; `cus_1's plan` is not about `cus_1`.
                let behind = !object && !beside && self.terms.last().is_some_and(|term| term.verb);
                let acted_on = behind && !self.token(place).ends_with("'s");
                if let Some(term) = self.value(place) {
                    object |= acted_on;
                    let weight = if acted_on { OBJECT } else { term.weight };
                    self.terms.push(Term { object: acted_on, weight, ..term });
                }
                continue;
            }
            beside |= object && PREPOSITIONS.contains(&self.token(place));
            let Some(read) = self.word(place) else { continue };
            let in_object = !read.slight && !beside;
            object |= in_object;
            let weight = match (read.slight, in_object) {
                (true, _) => SLIGHT,
                (false, true) => OBJECT,
                (false, false) => OTHER,
            };
            let name = self.may_be_name(place, read.known, beside);
            let valued = self.valued(place);
            let given = self.tokens.get(place + 1).is_some_and(|next| next.value);
            self.terms.push(Term {
                valued,
                given,
                prefix: false,
                forms: read.forms,
                weight,
                verb: false,
                object: in_object,
                name,
                known: read.known,
            });
        }
    }

    /// Whether behind a word stands what somebody called the thing.
    fn valued(&self, place: usize) -> bool {
        let Some(next) = self.tokens.get(place + 1) else { return false };
        let stem = self.stems[place + 1].as_deref().unwrap_or_default();
        let said = || self.vocabulary.knows(stem) || self.vocabulary.empty(self.words, place + 1).is_some();
        next.value || !(PREPOSITIONS.contains(&next.text.as_str()) || said())
    }

    /// Whether a word may be what somebody called something: behind a preposition or what it is, or with a capital.
    fn may_be_name(&self, place: usize, known: bool, beside: bool) -> bool {
        let before = place.checked_sub(1).map_or("", |before| self.token(before));
        let behind = !known && self.terms.last().is_some_and(|before| !before.verb && (before.known || before.name));
        let capital = self.tokens[place].capital && place > 0;
        !ARTICLES.contains(&before) && (capital || beside || behind || self.within.contains(&place))
    }

    /// Reads a word, or several that are one to the vocabulary; nothing when it says nothing.
    fn word(&mut self, place: usize) -> Option<Word> {
        let own = self.stems[place].clone()?;
        let free = |found: &Match<'_>| found.places.iter().all(|place| !self.used[*place]);
        let empty = self.vocabulary.empty(self.words, place).filter(free);
        let noun = self.vocabulary.noun(self.stems, place).filter(free);
        let length = |found: &Option<Match<'_>>| found.as_ref().map_or(0, |found| found.places.len());
        let (emptiness, meaning) = (length(&empty), length(&noun));
        if emptiness > meaning {
            empty.iter().flat_map(|found| &found.places).for_each(|place| self.used[*place] = true);
            return None;
        }
        let mut forms = Vec::new();
        if emptiness == 0 && meaning <= 1 {
            forms.push((own.clone(), 1.0));
        }
        if let Some(found) = &noun {
            let parts = found.places.iter().filter_map(|place| self.stems[*place].clone());
            forms.extend(parts.filter(|part| meaning > 1 && part.len() > 3).map(|part| (part, PART)));
            forms.extend(stand_for(&found.meaning.stands_for, std::slice::from_ref(&own), false));
            found.places.iter().for_each(|place| self.used[*place] = true);
        } else if let Some(verb) = self.vocabulary.verb(self.stems, place).filter(|found| found.places.len() == 1) {
            let telling = |form: &&String| !PLAIN.contains(&form.as_str()) && **form != own;
            forms.extend(verb.meaning.stands_for.iter().filter(telling).map(|form| (form.clone(), ELSEWHERE)));
        }
        forms.extend(self.vocabulary.alike(&own).iter().map(|form| (form.clone(), ALIKE)));
        let known = noun.is_some() || self.vocabulary.knows(&own);
        (!forms.is_empty()).then_some(Word { forms, known, slight: emptiness > 0 && meaning <= 1 })
    }

    /// The word in front of an id, such as `file-9` or `proj_5`, or else what its shape says.
    fn value(&self, place: usize) -> Option<Term> {
        let text = self.tokens[place].text.as_str();
        let words = value::stands_for(text);
        if !words.is_empty() {
            let words: Vec<String> = words.iter().map(|word| stem(word)).collect();
            return Some(Term::of_value(stand_for(&words, &[], true), BY_SHAPE, false));
        }
        let letters: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
        let joined = text[letters.len()..].starts_with(['_', '-']);
        if letters.len() < 2 || !joined {
            return None;
        }
        let own = stem(&letters.to_lowercase());
        let alone = [Some(own.clone())];
        let mut forms = vec![(own, 1.0)];
        if let Some(found) = self.vocabulary.noun(&alone, 0) {
            forms.extend(stand_for(&found.meaning.stands_for, &[], true));
        }
        Some(Term::of_value(forms, PREFIX, true))
    }
}

/// The words that stand for others, the first for the most.
fn stand_for(words: &[String], own: &[String], all: bool) -> Vec<(String, f32)> {
    let kept = words.iter().filter(|word| all || !own.contains(word));
    kept.enumerate().map(|(place, word)| (word.clone(), STANDS_FOR - FURTHER * place.min(6) as f32)).collect()
}

/// Splits a sentence; what is in quotes is a value.
fn tokens(text: &str) -> Vec<Token> {
    let alone = text.split_whitespace().count() == 1;
    let mut tokens: Vec<Token> = Vec::new();
    let (mut quoted, mut told, mut ended) = (false, false, false);
    for part in text.split_whitespace() {
        let opens = part.starts_with('"');
        let was = quoted || opens;
        if part.matches('"').count() % 2 == 1 {
            quoted = !quoted;
        }
        let bare = part.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '@');
        if bare.is_empty() {
            continue;
        }
        let capital = bare.starts_with(|c: char| c.is_uppercase());
        let begins = std::mem::replace(&mut ended, part.ends_with([',', ';', '.']));
        let value = was || told || !alone && is_value(bare);
        told |= part.ends_with(':');
        if value {
            tokens.push(Token { text: bare.to_owned(), capital, begins, value: true });
            continue;
        }
        let bare = bare.replace(['\'', '’'], " ");
        // A word with a capital inside, such as WhatsApp, is one word in a sentence.
        for word in bare.split(' ') {
            let words = if alone { split_words(word) } else { split_words(&word.to_lowercase()) };
            let token = |(at, text)| Token { text, capital, begins: begins && at == 0, value: false };
            tokens.extend(words.into_iter().enumerate().map(token));
        }
    }
    tokens.truncate(MAX_WORDS);
    tokens
}

/// Whether a word is a form of a verb, or that verb misspelt: `information` is not one of `inform`.
fn is_form(word: &str, verb: &str) -> bool {
    let base = verb.strip_suffix(['e', 'y']).unwrap_or(verb);
    let Some(end) = word.strip_prefix(base) else {
        return word.len() >= LEAST_MISSPELT && is_one_edit(word, verb);
    };
    // `stopping`
    let doubled = end.strip_prefix(|c| base.ends_with(c)).unwrap_or(end);
    let ends = ["", "e", "y", "s", "es", "ies", "ing", "ying", "ed", "ied", "d"];
    ends.contains(&end) || ends[1..].contains(&doubled)
}

fn is_value(text: &str) -> bool {
    let digit = text.contains(|c: char| c.is_ascii_digit());
    digit || text.contains(['@', '/', '#', '_', ':', '.'])
}
