//! Rules by what a parameter is of: a file, a person, a place, an amount, a bound.

use std::ops::Range;

use super::Reading;
use super::joined::{is_phone, month};
use super::wish::{End, Wish};
use super::words::{Shape, Word};

const PEOPLE: [&str; 20] = [
    "user",
    "assignee",
    "recipient",
    "owner",
    "customer",
    "client",
    "student",
    "person",
    "employee",
    "reviewer",
    "member",
    "contact",
    "guest",
    "attendee",
    "patient",
    "author",
    "manager",
    "driver",
    "tenant",
    "participant",
];
const PLACES: [&str; 10] =
    ["city", "town", "place", "location", "restaurant", "venue", "hotel", "airport", "country", "station"];
const FILES: [&str; 10] =
    ["file", "filename", "path", "document", "attachment", "image", "photo", "picture", "source", "destination"];
const AMOUNTS: [&str; 20] = [
    "quantity",
    "qty",
    "count",
    "amount",
    "limit",
    "max",
    "replicas",
    "price",
    "total",
    "threshold",
    "guests",
    "people",
    "deposit",
    "copies",
    "size",
    "seats",
    "persons",
    "value",
    "sum",
    "volume",
];
/// What a description of an amount begins with.
const AMOUNT_WORDS: [&str; 5] = ["number of", "how many", "how much", "amount", "most"];
/// Whom an order is about that begins with one of these.
const ADDRESSING: [&str; 7] = ["tell", "remind", "ask", "invite", "ping", "notify", "page"];
const ENDINGS: [&str; 34] = [
    "pdf", "txt", "md", "csv", "tsv", "json", "xml", "yaml", "yml", "toml", "xlsx", "xls", "docx", "doc", "pptx",
    "png", "jpg", "jpeg", "gif", "svg", "webp", "mp3", "mp4", "mov", "wav", "zip", "gz", "tar", "sql", "html", "log",
    "js", "ts", "py",
];
const UPPER: [&str; 4] = ["under", "below", "max", "maximum"];
const LOWER: [&str; 4] = ["over", "above", "min", "minimum"];
const FIRST: [&str; 10] =
    ["top", "first", "last", "latest", "newest", "oldest", "recent", "biggest", "largest", "cheapest"];
const ORDINALS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
/// Measures: a number before one of them is of that and of nothing else.
const MEASURES: [&str; 22] = [
    "second", "minut", "hour", "day", "week", "month", "year", "percent", "degre", "km", "mile", "meter", "kilomet",
    "kg", "gram", "pixel", "mb", "gb", "am", "pm", "o'clock", "time",
];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl Reading<'_> {
    /// Gives what looks as a file, a domain, a version or a telephone number does to the only parameter of that.
    pub(super) fn looks(&mut self) {
        self.only(&FILES, is_file, "file");
        self.only(&["domain", "host", "hostname"], is_domain, "domain");
        self.only(&["version", "tag", "release"], is_version, "version");
        self.only(&["phone", "telephone", "mobile", "fax"], |word| is_phone(&word.text), "telephone number");
        self.only(&["extension"], |word| ENDINGS.contains(&word.low.as_str()), "extension");
        self.source_left();
    }

    /// Gives the only word of a kind to the only parameter of such a name, or that is described so.
    fn only(&mut self, names: &[&str], is: impl Fn(&Word) -> bool, kind: &str) {
        let places: Vec<usize> = self.free(|word| !word.quoted && is(word)).collect();
        let mut asking: Vec<usize> = self.open(|wish| wish.is_free() && wish.has(names)).collect();
        if asking.is_empty() {
            asking = self.open(|wish| wish.is_free() && !wish.is_text() && wish.is_about(names)).collect();
        }
        if let ([place], [wish]) = (&places[..], &asking[..]) {
            self.take(*wish, *place, kind);
        }
    }

    /// Where a file goes somewhere, the only other file is the one.
    fn source_left(&mut self) {
        let path = |word: &Word| is_file(word) || (word.text.contains('/') && !word.text.contains("://"));
        let sources: Vec<usize> = self.open(|wish| wish.is_free() && wish.end() == Some(End::Source)).collect();
        let targets: Vec<usize> = self.open(|wish| wish.is_free() && wish.end() == Some(End::Target)).collect();
        let places: Vec<usize> = self.free(path).collect();
        let ([source], [target], [one, other]) = (&sources[..], &targets[..], &places[..]) else { return };
        let goes = |place: usize| matches!(self.low(place.wrapping_sub(1)), "to" | "into" | "as");
        let (from, to) = match (goes(*one), goes(*other)) {
            (true, false) => (*other, *one),
            (false, true) => (*one, *other),
            _ => return,
        };
        self.take(*source, from, "file");
        self.take(*target, to, "file");
    }

    /// Gives the only name behind `for`, `in` and their like to the only person or place that is asked for.
    pub(super) fn proper_names(&mut self) {
        let near = ["in", "at", "near", "around"];
        let with = ["for", "to", "of", "from", "with", "by", "tell", "ask", "remind", "invite"];
        let (people, places) = (self.sole(is_person), self.sole(is_place));
        let own = |cues: &[&str]| -> Vec<Range<usize>> {
            self.capitalised().into_iter().filter(|run| cues.contains(&self.low(run.start - 1))).collect()
        };
        let (by_place, mut by_person) = (own(&near), own(&with));
        if by_person.is_empty() && places.is_none() {
            by_person = self.capitalised().into_iter().filter(|run| run.start == 1).collect();
        }
        if let (Some(wish), [run]) = (people, &by_person[..]) {
            self.take_run(wish, run.clone());
        }
        match (places, &by_place[..], &by_person[..]) {
            (Some(wish), [run], _) => self.take_run(wish, run.clone()),
            (Some(wish), [], [run]) if people.is_none() => self.take_run(wish, run.clone()),
            _ => {}
        }
        self.plain_people();
        self.plain_places();
    }

    /// Gives a login, and who is told or assigned something, to the only person.
    fn plain_people(&mut self) {
        let handle = |word: &Word| !word.quoted && word.text.len() > 1 && word.text.starts_with('@');
        let handles: Vec<usize> = self.free(handle).collect();
        if let (Some(wish), [place]) = (self.sole(is_person), &handles[..]) {
            let login = self.words[*place].text.trim_start_matches('@').to_owned();
            let why = format!("login `{}` in the intent", self.words[*place].text);
            self.used[*place] |= self.put(wish, &login, &why);
        }
        let to = |place: &usize| {
            self.low(place - 1) == "to" && self.words[..*place].iter().any(|word| word.stem == "assign")
        };
        let assigned = (1..self.words.len()).find(to);
        let told = ADDRESSING.contains(&self.low(0)).then_some(1);
        if let (Some(wish), Some(place)) = (self.sole(is_person), told.or(assigned))
            && place < self.words.len()
            && self.is_value(place)
            && self.words[place].shape().is_none()
        {
            self.take(wish, place, "name");
        }
    }

    /// Gives `in the study` to the only room.
    fn plain_places(&mut self) {
        let Some(wish) = self.sole(|wish| wish.has(&["room"]) || wish.is_described(&["where the", "room"])) else {
            return;
        };
        let inside =
            |place: &usize| self.low(place - 2) == "in" && self.low(place - 1) == "the" && self.is_value(*place);
        let places: Vec<usize> = (2..self.words.len()).filter(inside).collect();
        if let [place] = places[..] {
            self.take(wish, place, "word");
        }
    }

    /// The only parameter of a kind, where nothing is known of it.
    fn sole(&self, is: impl Fn(&Wish<'_>) -> bool) -> Option<usize> {
        let mut of = (0..self.wishes.len()).filter(|at| is(&self.wishes[*at]) && self.wishes[*at].is_free());
        let only = of.next().filter(|_| of.next().is_none())?;
        (!self.clues.0.contains_key(self.wishes[only].name)).then_some(only)
    }

    /// Runs of words that begin with a capital, behind another word.
    fn capitalised(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for place in 1..self.words.len() {
            let word = &self.words[place];
            let mut letters = word.text.chars();
            let capital = letters.next().is_some_and(char::is_uppercase) && letters.clone().any(char::is_lowercase);
            let name = capital && letters.all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'));
            let day = DAYS.contains(&word.low.as_str()) || month(word).is_some();
            if self.used[place] || word.quoted || word.is_filler() || !name || day {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end == place && !self.words[place - 1].ends => run.end = place + 1,
                _ => runs.push(place..place + 1),
            }
        }
        runs
    }

    fn take_run(&mut self, wish: usize, run: Range<usize>) {
        let text = self.words[run.clone()].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let why = format!("`{text}` in the intent");
        if self.put(wish, &text, &why) {
            run.for_each(|place| self.used[place] = true);
        }
    }

    /// Reads `under 900`, `at least 3 rooms`, `between 200 and 450`.
    pub(super) fn bounds(&mut self) {
        let ends = [("max", "maximum", "highest"), ("min", "minimum", "lowest")];
        let of = ends.map(|(short, long, word)| {
            let named = |wish: &Wish<'_>| wish.numbers && (wish.has(&[short, long, word]));
            self.open(named).collect::<Vec<usize>>()
        });
        let numbers: Vec<usize> = self.free(|word| word.number().is_some()).collect();
        if let [[most], [least]] = [&of[0][..], &of[1][..]]
            && let [low, high] = numbers[..]
            && high == low + 2
            && self.low(low.wrapping_sub(1)) == "between"
            && self.low(low + 1) == "and"
        {
            self.take(*least, low, "number");
            self.take(*most, high, "number");
            return;
        }
        for place in numbers {
            let (back, further) = (self.low(place.wrapping_sub(1)), self.low(place.wrapping_sub(2)));
            let upper =
                UPPER.contains(&back) || matches!((further, back), ("at", "most") | ("up", "to") | ("less", "than"));
            let lower = LOWER.contains(&back) || matches!((further, back), ("at", "least") | ("more", "than"));
            let wishes = match (upper, lower) {
                (true, false) => &of[0],
                (false, true) => &of[1],
                _ => continue,
            };
            if let [wish] = wishes[..]
                && !self.clues.0.contains_key(self.wishes[wish].name)
                && !self.used[place]
            {
                self.take(wish, place, "number");
            }
        }
    }

    /// Reads `top 10`, `20 newest`, `800 by 600`, `second quarter`, and a year.
    pub(super) fn counted(&mut self) {
        let numbers: Vec<usize> = self.free(|word| word.number().is_some()).collect();
        let most: Vec<usize> = self.open(|wish| wish.numbers && wish.has(&["limit", "max", "top", "count"])).collect();
        let listed: Vec<usize> = numbers
            .iter()
            .copied()
            .filter(|place| FIRST.contains(&self.low(place.wrapping_sub(1))) || FIRST.contains(&self.low(place + 1)))
            .collect();
        if let ([wish], [place]) = (&most[..], &listed[..]) {
            self.take(*wish, *place, "number");
        }
        let sides =
            ["width", "height"].map(|side| self.open(|wish| wish.numbers && wish.has(&[side])).collect::<Vec<_>>());
        if let [[width], [height]] = [&sides[0][..], &sides[1][..]]
            && let [one, other] = numbers[..]
            && other == one + 2
            && matches!(self.low(one + 1), "by" | "x" | "×")
        {
            self.take(*width, one, "number");
            self.take(*height, other, "number");
        }
        let years: Vec<usize> = self.free(is_year).collect();
        let year: Vec<usize> = self.open(|wish| wish.numbers && wish.has(&["year"])).collect();
        if let ([wish], [place]) = (&year[..], &years[..]) {
            self.take(*wish, *place, "year");
        }
        for at in self.open(|wish| wish.numbers).collect::<Vec<_>>() {
            let names =
                |place: usize| self.words.get(place).is_some_and(|word| self.wishes[at].own.contains(&word.stem));
            let nth = |place: &usize| ORDINALS.contains(&self.low(*place)) && names(place + 1) && !self.used[*place];
            let mut places = (0..self.words.len()).filter(nth);
            if let (Some(place), None) = (places.next(), places.next()) {
                let number = ORDINALS.iter().position(|word| *word == self.low(place)).map_or(0, |at| at + 1);
                let why = format!("`{}` in the intent", self.words[place].text);
                self.used[place] |= self.put(at, &number.to_string(), &why);
            }
        }
    }

    /// Gives the only number that is of nothing else to the only amount that is asked for.
    pub(super) fn amount(&mut self) {
        let amounts: Vec<usize> = self.open(|wish| wish.numbers && is_amount(wish)).collect();
        let numbers: Vec<usize> = self.free(|word| word.number().is_some()).collect();
        let ([wish], [place]) = (&amounts[..], &numbers[..]) else { return };
        let (before, next) = (place.wrapping_sub(1), self.words.get(place + 1));
        let measured = next.is_some_and(|next| !next.quoted && MEASURES.contains(&next.stem.as_str()));
        let word = &self.words[*place];
        let coded = word.text.starts_with('#') || (is_year(word) && self.wishes[*wish].has(&["limit", "count"]));
        let behind_noun = *place > 1
            && self.words.get(before).is_some_and(|word| !word.is_filler() && !word.ends)
            && self.low(before) != "back"
            || self.low(before) == "about";
        if !measured && !coded && !behind_noun {
            self.take(*wish, *place, "number");
        }
    }

    /// Gives the only word that is built as names of things are to the only parameter that is left.
    pub(super) fn thing(&mut self) {
        let built = |word: &Word| {
            let parts = word.text.split(['-', '_', '.']);
            let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let letters = word.text.bytes().any(|byte| byte.is_ascii_lowercase());
            !word.quoted
                && letters
                && parts.clone().count() > 1
                && parts.clone().all(plain)
                && word.shape() == Some(Shape::Id)
        };
        let places: Vec<usize> = self.free(built).collect();
        let asking: Vec<usize> = self.open(|wish| wish.is_free()).collect();
        if let ([place], [wish]) = (&places[..], &asking[..])
            && !self.wishes[*wish].is_text()
            && (*place == 1 || self.words[place.wrapping_sub(1)].is_filler())
        {
            self.take(*wish, *place, "word");
        }
    }

    /// Reads `search for X` and `remind me to …`.
    pub(super) fn asked(&mut self) {
        let queries: Vec<usize> =
            self.open(|wish| wish.is_free() && wish.has(&["query", "q", "search", "keyword", "term"])).collect();
        let looks = matches!(self.low(0), "search" | "look") && self.low(1) == "for" && self.words.len() > 2;
        let alone = self.words.get(2).is_some_and(|word| word.ends) || self.words.get(3).is_none_or(Word::is_filler);
        if let ([wish], true) = (&queries[..], looks && alone && self.is_value(2)) {
            self.take(*wish, 2, "word");
        }
        let texts: Vec<usize> = self.open(|wish| wish.is_free() && wish.is_text()).collect();
        let to = (1..self.words.len()).find(|place| self.low(*place) == "to");
        let ([wish], Some(to), "remind") = (&texts[..], to, self.low(0)) else { return };
        let free = |place: &usize| !self.used[*place] && !self.words[*place].quoted;
        let mut end = (to + 1..self.words.len()).find(|place| !free(place)).unwrap_or(self.words.len());
        if end < self.words.len() && matches!(self.low(end - 1), "at" | "on" | "by" | "before") {
            end -= 1;
        }
        if end > to + 1 {
            self.take_run(*wish, to + 1..end);
        }
    }

    /// Reads `call it X`, `under X` for a parent, and `change NAME to X`.
    pub(super) fn told(&mut self) {
        for place in 2..self.words.len() {
            let renamed =
                matches!(self.low(place - 2), "call" | "name") && matches!(self.low(place - 1), "it" | "them");
            let asking: Vec<usize> = self.open(|wish| wish.is_free() && wish.has(&["name", "title"])).collect();
            if let ([wish], true, false) = (&asking[..], renamed, self.used[place]) {
                self.take(*wish, place, "name");
            }
        }
        let parents: Vec<usize> = self.open(|wish| wish.is_free() && wish.has(&["parent"])).collect();
        let below = |place: &usize| matches!(self.low(place - 1), "under" | "below" | "inside") && !self.used[*place];
        let places: Vec<usize> = (1..self.words.len()).filter(below).collect();
        if let ([wish], [place]) = (&parents[..], &places[..])
            && self.words[*place].number().is_none()
            && !self.words[*place].is_filler()
        {
            self.take(*wish, *place, "word");
        }
    }
}

/// Whether a parameter is a person, by its name or by what its description begins with.
fn is_person(wish: &Wish<'_>) -> bool {
    let other = wish.has(&["id", "phone", "email", "number", "type", "role", "group"]);
    !other && (wish.has(&PEOPLE) || wish.is_described(&["full name", "login", "who ", "whom ", "person"]))
}

fn is_place(wish: &Wish<'_>) -> bool {
    !wish.has(&["id", "number"]) && (wish.has(&PLACES) || wish.is_described(&["city", "town", "place "]))
}

fn is_amount(wish: &Wish<'_>) -> bool {
    wish.has(&AMOUNTS) || wish.is_described(&AMOUNT_WORDS)
}

/// Whether a word is a file by its ending.
fn is_file(word: &Word) -> bool {
    let ending = word.low.rsplit_once('.').filter(|(name, _)| !name.is_empty() && !name.contains("://"));
    ending.is_some_and(|(name, ending)| ENDINGS.contains(&ending) && !name.contains('@'))
}

fn is_domain(word: &Word) -> bool {
    let mut labels = word.low.split('.');
    let plain =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let top = word.low.rsplit('.').next().unwrap_or_default();
    let letters = top.len() > 1 && top.bytes().all(|byte| byte.is_ascii_lowercase());
    word.low.contains('.') && letters && labels.all(plain) && !ENDINGS.contains(&top)
}

/// `2.4.1`, `v1.8`.
fn is_version(word: &Word) -> bool {
    let digits = word.low.strip_prefix('v').unwrap_or(&word.low);
    let parts: Vec<&str> = digits.split('.').collect();
    let first = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let all = parts.iter().all(first);
    all && (parts.len() > 2 || (parts.len() == 2 && word.low.starts_with('v')))
}

/// Whether a word is a year by how it is written.
pub(super) fn is_year(word: &Word) -> bool {
    !word.quoted && word.low.len() == 4 && word.low.parse::<u16>().is_ok_and(|year| (1900..2100).contains(&year))
}
