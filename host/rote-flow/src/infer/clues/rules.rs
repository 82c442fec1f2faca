//! The rules by which the words of an intent become values, the surest first. What two parameters can claim none gets.

use serde_json::Value;

use super::super::plain;
use super::kinds::is_year;
use super::wish::{End, Wish};
use super::words::{Shape, Word, is_unit_of};
use super::{Clue, Reading};

/// Words that turn what is behind them into its opposite.
const DENIALS: [&str; 10] = ["no", "not", "don't", "dont", "don’t", "without", "never", "doesn't", "isn't", "won't"];
/// Words behind which what somebody writes stands, and those behind which a name stands.
const SAYING: [&str; 12] =
    ["saying", "say", "says", "said", "text", "message", "body", "comment", "note", "memo", "write", "with"];
const CALLED: [&str; 4] = ["called", "named", "titled", "entitled"];
/// Languages by their codes (ISO 639-1).
const LANGUAGES: [(&str, &str); 20] = [
    ("ar", "arabic"),
    ("cs", "czech"),
    ("da", "danish"),
    ("de", "german"),
    ("el", "greek"),
    ("en", "english"),
    ("es", "spanish"),
    ("fi", "finnish"),
    ("fr", "french"),
    ("it", "italian"),
    ("ja", "japanese"),
    ("ko", "korean"),
    ("nl", "dutch"),
    ("no", "norwegian"),
    ("pl", "polish"),
    ("pt", "portuguese"),
    ("ru", "russian"),
    ("sv", "swedish"),
    ("tr", "turkish"),
    ("zh", "chinese"),
];
/// What turns a word into its opposite.
const OPPOSITES: [&str; 3] = ["in", "un", "non"];
/// Words that belong to the name before them.
const OF_NAMES: [&str; 6] = ["number", "id", "name", "address", "called", "named"];
/// How many words after a name still belong to it.
const REACH: usize = 3;
/// How many words before something can deny it.
const DENIED: usize = 3;

impl Reading<'_> {
    /// Gives email addresses, URLs, dates and times to the only parameter of their kind, or to the two ends of a span.
    pub(super) fn shapes(&mut self) {
        for shape in [Shape::Email, Shape::Url, Shape::Date, Shape::Time] {
            let places: Vec<usize> = self.free(|word| word.shape() == Some(shape)).collect();
            let asking: Vec<usize> = self.open(|wish| wish.hint == Some(shape) && wish.texts).collect();
            let all = self.wishes.iter().filter(|wish| wish.hint == Some(shape)).count();
            if let ([place], [wish]) = (&places[..], &asking[..])
                && all == 1
            {
                self.take(*wish, *place, shape.name());
                continue;
            }
            let end = |end: End| {
                let mut of = asking.iter().filter(|wish| self.wishes[**wish].end() == Some(end));
                of.next().copied().filter(|_| of.next().is_none())
            };
            let (source, target) = (end(End::Source), end(End::Target));
            let before = |place: &usize| self.low(place.wrapping_sub(1)).to_owned();
            match (&places[..], source, target) {
                ([one, other], Some(source), Some(target)) if before(one) != "to" && before(other) != "from" => {
                    self.take(source, *one, shape.name());
                    self.take(target, *other, shape.name());
                }
                ([one], source, target) => {
                    let wish = match before(one).as_str() {
                        "from" | "since" | "after" | "starting" => source,
                        "to" | "until" | "till" | "before" => target,
                        _ => None,
                    };
                    if let Some(wish) = wish {
                        self.take(wish, *one, shape.name());
                    }
                }
                _ => {}
            }
        }
    }

    /// Gives `octo/hello` to an owner and a repository.
    pub(super) fn repository(&mut self) {
        let named = |name: &str| self.wishes.iter().position(|wish| wish.name == name && wish.is_free());
        let (Some(owner), Some(repo)) = (named("owner"), named("repo")) else { return };
        let pair = |word: &Word| {
            let parts = word.text.split_once('/').filter(|_| !word.quoted);
            parts.is_some_and(|(owner, repo)| {
                !owner.is_empty() && !repo.is_empty() && !repo.contains('/') && !repo.ends_with(".md")
            })
        };
        let places: Vec<usize> = self.free(pair).collect();
        let [place] = places[..] else { return };
        let word = self.words[place].text.clone();
        if let Some((first, last)) = word.split_once('/')
            && self.open(|wish| matches!(wish.name, "owner" | "repo")).count() == 2
        {
            self.put(owner, first, &format!("`{word}` in the intent"));
            self.put(repo, last, &format!("`{word}` in the intent"));
            self.used[place] = true;
        }
    }

    /// Takes an allowed value that is said as it is, or in the word that the description has for it.
    pub(super) fn allowed(&mut self) {
        for at in 0..self.wishes.len() {
            let wish = &self.wishes[at];
            if self.clues.0.contains_key(wish.name) {
                continue;
            }
            let rival = |other: &Wish<'_>| {
                other.name != wish.name && other.allowed.iter().any(|value| wish.allowed.contains(value))
            };
            let cues: &[&str] = match (self.wishes.iter().any(rival), wish.end()) {
                (false, _) => &[],
                (true, Some(End::Source)) => &["from"],
                (true, Some(End::Target)) => &["to", "into", "in"],
                (true, None) => continue,
            };
            let mut found: Vec<(&Value, std::ops::Range<usize>)> = Vec::new();
            for value in wish.allowed {
                let Some(text) = value.as_str() else { continue };
                let said = spellings(text, wish.description).iter().find_map(|spelling| self.said(text, spelling));
                let fits = |range: &std::ops::Range<usize>| {
                    let before = self.low(range.start.wrapping_sub(1));
                    !DENIALS.contains(&before) && (cues.is_empty() || cues.contains(&before))
                };
                found.extend(said.filter(fits).map(|range| (value, range)));
            }
            if let [(value, range)] = &found[..] {
                let (value, range) = ((*value).clone(), range.clone());
                let why = format!("allowed value `{}` in the intent", self.words[range.start].text);
                self.clues.0.insert(wish.name.to_owned(), Clue::Pattern(value, why));
                range.for_each(|place| self.used[place] = true);
            }
        }
    }

    /// Where a spelling of an allowed value stands.
    fn said(&self, value: &str, spelling: &[String]) -> Option<std::ops::Range<usize>> {
        let exact = value.len() < 3;
        let alone = |place: usize| {
            let word = &self.words[place];
            !self.used[place] && if exact { word.text == value } else { plain(&word.text) == plain(value) }
        };
        if let Some(place) = (0..self.words.len()).find(|place| alone(*place)) {
            return Some(place..place + 1);
        }
        let starts = 0..(self.words.len() + 1).saturating_sub(spelling.len());
        let here = |start: usize| {
            let words = &self.words[start..start + spelling.len()];
            words.iter().zip(spelling).all(|(word, stem)| !word.quoted && word.stem == *stem)
                && !self.used[start..start + spelling.len()].contains(&true)
        };
        let start = starts.into_iter().find(|start| !exact && here(*start));
        start.map(|start| start..start + spelling.len())
    }

    /// Takes what looks as the example of the description does, and what begins as the name of the parameter does.
    pub(super) fn examples(&mut self) {
        for at in 0..self.wishes.len() {
            let wish = &self.wishes[at];
            if self.clues.0.contains_key(wish.name) || !wish.is_free() {
                continue;
            }
            let alike =
                |word: &Word| !word.quoted && wish.example().is_some_and(|example| is_alike(example, &word.text));
            let prefixed = |word: &Word| {
                let prefix = word.text.split_once('_').map_or("", |(prefix, _)| prefix);
                let digit = word.text.contains(|c: char| c.is_ascii_digit());
                !word.quoted && digit && prefix.len() > 1 && wish.words.iter().any(|own| own.starts_with(prefix))
            };
            let mut places: Vec<usize> = self.free(alike).collect();
            if places.is_empty() {
                places = self.free(prefixed).collect();
            }
            if let [place] = places[..] {
                self.take(at, place, "id");
            }
        }
    }

    /// Gives numbers to the parameters whose nouns or units stand beside them, the nearest first.
    pub(super) fn numbers(&mut self) {
        let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
        for place in self.free(|word| word.number().is_some()) {
            for at in self.open(|wish| wish.numbers) {
                pairs.extend(self.far(&self.wishes[at], place).map(|far| (far, place, at)));
            }
        }
        pairs.sort_unstable();
        for (far, place, at) in &pairs {
            let claimed = pairs.iter().any(|(other, there, by)| {
                other == far && there == place && by != at && !self.clues.0.contains_key(self.wishes[*by].name)
            });
            if !self.used[*place] && !claimed && !self.clues.0.contains_key(self.wishes[*at].name) {
                self.take(*at, *place, "number");
            }
        }
    }

    /// How far a number is from the words that say of what it is; nothing when it is out of reach.
    fn far(&self, wish: &Wish<'_>, place: usize) -> Option<usize> {
        let (_, unit) = self.words[place].number()?;
        let names = |at: usize| self.words.get(at).is_some_and(|word| !word.quoted && wish.own.contains(&word.stem));
        let about = |at: usize| self.words.get(at).is_some_and(|word| !word.quoted && wish.about.contains(&word.stem));
        let unit_of = |unit: &str| is_unit_of(unit, &wish.own) || is_unit_of(unit, &wish.about);
        let next = self.words.get(place + 1).map_or("", |word| word.stem.as_str());
        let most = place > 1 && self.low(place - 2) == "at" && self.low(place - 1) == "most";
        if unit_of(unit) || unit_of(next) || names(place + 1) || (most && wish.has(&["limit", "max", "maximum"])) {
            return Some(0);
        }
        let number = |at: usize| self.words[at].number().is_some();
        // A year is rarely of what stands further before it.
        let reach = if is_year(&self.words[place]) { 1 } else { REACH };
        let before = (1..=reach)
            .find(|back| place.checked_sub(*back).is_some_and(&names) && !(place - back + 1..place).any(number));
        // `number` alone is of what its description says.
        let generic = wish.telling == wish.own && wish.has(&["number", "id"]);
        let counted = about(place + 1) && wish.is_described(&["number of", "how many"]);
        if counted {
            return Some(1);
        }
        let described = (about(place + 1) || (generic && place > 0 && about(place - 1))).then_some(2);
        before.into_iter().chain(described).min()
    }

    /// Reads `private`, `no dry run` and `don't notify` as yes and no.
    pub(super) fn truths(&mut self) {
        for at in 0..self.wishes.len() {
            let wish = &self.wishes[at];
            if self.clues.0.contains_key(wish.name) || !wish.truth {
                continue;
            }
            let stems: Vec<&String> = wish
                .own
                .iter()
                .zip(&wish.words)
                .filter(|(_, word)| !matches!(word.as_str(), "is" | "only"))
                .map(|(stem, _)| stem)
                .collect();
            let place = |stem: &&String| {
                (0..self.words.len()).rfind(|place| {
                    let word = &self.words[*place];
                    let opposite = OPPOSITES.iter().any(|begin| word.stem.strip_prefix(begin) == Some(stem.as_str()));
                    !self.used[*place] && !word.quoted && (word.stem == **stem || opposite)
                })
            };
            let places: Option<Vec<usize>> = stems.iter().map(place).collect();
            let Some(first) = places.and_then(|places| places.into_iter().min()) else { continue };
            // What an order begins with is what the flow does anyway.
            if first == 0 {
                continue;
            }
            let denied = (first.saturating_sub(DENIED)..first).any(|place| DENIALS.contains(&self.low(place)));
            let opposite = !stems.iter().any(|stem| self.words[first].stem == **stem);
            let why = format!("`{}` in the intent", self.words[first].text);
            self.clues.0.insert(wish.name.to_owned(), Clue::Pattern(Value::Bool(denied == opposite), why));
        }
    }

    /// Takes what stands behind `called`.
    pub(super) fn called(&mut self) {
        let behind = |place: usize| place > 0 && CALLED.contains(&self.low(place - 1)) && !self.used[place];
        let places: Vec<usize> =
            (0..self.words.len()).filter(|place| behind(*place) && !self.words[*place].is_filler()).collect();
        let asking: Vec<usize> = self.open(|wish| wish.is_free() && wish.has(&["name", "title"])).collect();
        let ([place], [wish]) = (&places[..], &asking[..]) else { return };
        self.take(*wish, *place, "name");
    }

    /// Gives quoted texts to the parameter named right before them, or to the only one whose values are written freely.
    pub(super) fn quoted(&mut self) {
        for place in 0..self.words.len() {
            if !self.words[place].quoted || self.used[place] {
                continue;
            }
            let before = |back: usize| place.checked_sub(back).map(|at| &self.words[at]);
            let near = |wish: &Wish<'_>, back: usize| {
                before(back).is_some_and(|word| !word.quoted && wish.telling.contains(&word.stem))
            };
            let said = before(1).map_or("", |word| word.low.as_str());
            let rank = |wish: &Wish<'_>| match () {
                () if near(wish, 1) || (near(wish, 2) && before(1).is_some_and(Word::is_filler)) => Some(0),
                () if SAYING.contains(&said) && wish.is_text() && !wish.has(&["title", "subject", "query"]) => Some(1),
                () if wish.is_text() => Some(2),
                () => None,
            };
            let free = self.open(|wish| wish.is_free() && !wish.numbers);
            let mut ranked: Vec<(i32, usize)> = free.filter_map(|at| Some((rank(&self.wishes[at])?, at))).collect();
            ranked.sort_unstable();
            match ranked[..] {
                [(rank, at)] | [(rank, at), ..] if ranked.get(1).is_none_or(|next| next.0 > rank) => {
                    self.take(at, place, Shape::Quoted.name());
                }
                _ => {}
            }
        }
    }

    /// Takes what stands behind a name: `project cargo-bay`, `in folder reports`.
    pub(super) fn named(&mut self) {
        for at in 0..self.wishes.len() {
            let wish = &self.wishes[at];
            if self.clues.0.contains_key(wish.name) || !wish.is_free() {
                continue;
            }
            let names = |place: usize| {
                let word = &self.words[place];
                !word.quoted && !word.ends && !self.used[place] && wish.telling.contains(&word.stem)
            };
            let value = |place: usize| {
                let other = self.wishes.iter().any(|wish| wish.own.contains(&self.words[place].stem));
                let numbered = self.words[place].text.contains(|c: char| c.is_ascii_digit()) && !self.used[place];
                (self.is_value(place) || numbered)
                    && (!other || self.words[place].shape().is_some())
                    && !OF_NAMES.contains(&self.low(place))
            };
            let places: Vec<usize> = (1..self.words.len()).filter(|place| names(place - 1) && value(*place)).collect();
            if let [place] = places[..] {
                self.take(at, place, "word");
                continue;
            }
            let channel = |word: &Word| {
                !word.quoted && word.text.starts_with('#') && !word.text[1..].starts_with(|c: char| c.is_ascii_digit())
            };
            let places: Vec<usize> = self.free(channel).collect();
            if let ([place], true) = (&places[..], wish.has(&["channel"])) {
                self.take(at, *place, "channel");
            }
        }
    }

    /// Takes what stands behind `from` and `to` for the two ends of a way.
    pub(super) fn ends(&mut self) {
        let end = |end: End| {
            let mut of = self.wishes.iter().enumerate().filter(|(_, wish)| wish.is_free() && wish.end() == Some(end));
            of.next().map(|(at, _)| at).filter(|_| of.next().is_none())
        };
        let (Some(source), Some(target)) = (end(End::Source), end(End::Target)) else { return };
        for (at, cues) in [(source, &["from"][..]), (target, &["to", "into"][..])] {
            let behind = |place: &usize| cues.contains(&self.low(place - 1)) && !self.words[place - 1].quoted;
            let value = |place: &usize| self.is_value(*place) || (self.words[*place].quoted && !self.used[*place]);
            let places: Vec<usize> = (1..self.words.len()).filter(behind).filter(value).collect();
            if let ([place], false) = (&places[..], self.clues.0.contains_key(self.wishes[at].name)) {
                self.take(at, *place, "word");
            }
        }
    }

    /// Takes what stands before a name: `the finance folder`.
    pub(super) fn before_names(&mut self) {
        for at in 0..self.wishes.len() {
            let wish = &self.wishes[at];
            if self.clues.0.contains_key(wish.name) || !wish.is_free() || wish.is_text() {
                continue;
            }
            let place = |place: &usize| {
                let next = &self.words[place + 1];
                let names = !next.quoted && !self.used[place + 1] && wish.telling.contains(&next.stem);
                let whole = matches!(self.low(*place), "whole" | "same" | "current" | "other" | "open" | "default");
                names && !whole && matches!(self.low(place - 1), "the" | "of" | "in") && self.is_value(*place)
            };
            let places: Vec<usize> = (1..self.words.len().saturating_sub(1)).filter(place).collect();
            if let [place] = places[..]
                && !wish.telling.contains(&self.words[place].stem)
            {
                self.take(at, place, "word");
            }
        }
    }
}

/// How a person says an allowed value: as it is with blanks, and by the word that the description has behind it.
fn spellings(value: &str, description: &str) -> Vec<Vec<String>> {
    let stems = |text: &str| rote_find::split_words(text).iter().map(|word| rote_find::stem(word)).collect();
    let mut all: Vec<Vec<String>> = vec![stems(value)];
    let glosses = description.split_once(':').map_or(description, |(_, glosses)| glosses);
    for gloss in glosses.split([',', ';']) {
        let mut words = gloss.split_whitespace();
        if words.next() != Some(value) {
            continue;
        }
        let said: Vec<&str> =
            words.filter(|word| !matches!(*word, "is" | "a" | "an" | "the" | "for" | "means")).collect();
        if let [word] = said[..] {
            all.push(stems(word));
        }
    }
    all.extend(LANGUAGES.iter().filter(|(code, _)| *code == value).map(|(_, name)| stems(name)));
    all.retain(|spelling| !spelling.is_empty());
    all
}

/// Whether a word is built as an example is: `ch_1` and `ch_77`, `PROJ-12` and `CORE-2`, `app=web` and `app=cart`.
fn is_alike(example: &str, word: &str) -> bool {
    for joint in ['=', '_', '-'] {
        let (Some((one, rest)), Some((other, behind))) = (example.split_once(joint), word.split_once(joint)) else {
            continue;
        };
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let capitals = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase());
        return match joint {
            '=' => !other.is_empty() && !behind.is_empty(),
            '_' => one == other && !behind.is_empty(),
            _ => capitals(one) && capitals(other) && number(rest) && number(behind),
        };
    }
    false
}
