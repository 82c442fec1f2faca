//! What an operation does to the remote: from its method, tightened by what its words say.
//!
//! Invariants: never less than the method says ([`Access::least`]); pure. The words are data (`words.txt`). An API
//! of remote procedures says `POST` for everything and some say `GET` for what destroys; names and summaries are
//! the only evidence left then. Who writes a description to deceive can avoid every word: this keeps accidents
//! away; the policy's lists and the choice of descriptions keep attackers away.

mod raising;
mod words;

use rote_types::{Access, Method, ToolHints};

pub(crate) use raising::arguments as raising;
pub(crate) use words::words_of;
use words::{Class, Place, Table};

/// What a description says about one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'d> {
    pub(crate) method: Method,
    /// The source's own id; empty when it has none.
    pub(crate) operation_id: &'d str,
    /// The path as the source writes it.
    pub(crate) path: &'d str,
    /// The summary, or the description where there is none.
    pub(crate) summary: &'d str,
}

/// Decides what an operation does when one of its arguments says which procedure is called: the worst of them.
pub(crate) fn decide_called(evidence: &Evidence<'_>, procedures: &[&str]) -> Access {
    let each = procedures.iter().map(|name| decide(&Evidence { operation_id: name, summary: "", ..*evidence }));
    each.max().unwrap_or(Access::Read).max(decide(evidence))
}

/// Decides what an operation does.
pub(crate) fn decide(evidence: &Evidence<'_>) -> Access {
    let least = Access::least(evidence.method, ToolHints::default(), evidence.operation_id);
    least.max(Reading::new(Table::get(), evidence).access())
}

/// Whether an operation is a `PUT` that replaces nothing that anybody would miss: a star, a mark, a subscription.
pub(crate) fn is_calm_put(evidence: &Evidence<'_>) -> bool {
    let table = Table::get();
    let id = || {
        verb_of_id(table, evidence.operation_id).is_some_and(|(_, word, _)| table.counts(Class::Calm, word, Place::Id))
    };
    let fixed = evidence.path.rsplit('/').find(|segment| !segment.is_empty() && !segment.contains('{'));
    let path = || words_of(fixed.unwrap_or_default()).iter().any(|word| table.counts(Class::Calm, word, Place::Path));
    evidence.method == Method::Put && decide(evidence) == Access::Write && (id() || path())
}

/// An operation with its words taken apart; all of them lower case.
struct Reading<'t> {
    table: &'t Table,
    method: Method,
    /// The verb of the operation id, or else those of the summary, with their classes.
    verbs: Vec<(Class, &'static str, Place)>,
    /// The last segment of the path, when it is not a parameter.
    segment: Vec<String>,
    /// Every word of the id and of the last two segments of the path: what it is about.
    about: Vec<String>,
}

impl<'t> Reading<'t> {
    fn new(table: &'t Table, evidence: &Evidence<'_>) -> Self {
        let reads_by_method = evidence.method.is_read();
        let verbs = match verb_of_id(table, evidence.operation_id) {
            // A summary may begin with what the operation does besides: `untrash` "removes from the trash".
            Some(verb) if !(reads_by_method && verb.0 == Class::Destroy) => vec![verb],
            other => other.into_iter().chain(verbs_of_summary(table, evidence.summary)).collect(),
        };
        let mut verbs: Vec<_> = verbs;
        verbs.extend(called_in(evidence.path).filter_map(|name| verb_of_id(table, name)));
        let mut about = words_of(evidence.operation_id);
        about.extend(evidence.path.rsplit('/').take(2).flat_map(words_of));
        Self { table, method: evidence.method, verbs, segment: words_of(last_segment(evidence.path)), about }
    }

    fn access(&self) -> Access {
        let reads = self.method.is_read();
        if reads && self.says(Class::Read) {
            return Access::Read;
        }
        let verb = self.verbs.iter().any(|(_, word, place)| self.counts(word, *place));
        if verb || self.path_counts() || self.makes_what_counts() {
            return Access::Destroy;
        }
        if reads && !self.says(Class::Write) { Access::Read } else { Access::Write }
    }

    fn says(&self, class: Class) -> bool {
        self.verbs.iter().any(|(said, ..)| *said == class)
    }

    fn counts(&self, word: &str, place: Place) -> bool {
        self.table.destroys(word, place)
            && (!self.method.is_read() || self.table.destroys(word, Place::Get))
            && !self.table.excepted(word, &self.about)
    }

    /// A segment of one word is the act itself (`/cancel`); the first of several may belong to a noun
    /// (`/remove-token`), which a verb elsewhere tells.
    fn path_counts(&self) -> bool {
        let mut words = self.segment.iter().filter(|word| !self.table.is_skipped(word));
        let Some(first) = words.next() else {
            return false;
        };
        let alone = words.next().is_none();
        (alone || !(self.says(Class::Read) || self.says(Class::Write))) && self.counts(first, Place::Path)
    }

    fn makes_what_counts(&self) -> bool {
        let last = self.segment.last().map_or("", String::as_str);
        let whole = self.segment.join("_");
        self.method == Method::Post
            && !self.says(Class::Read)
            && [last, &whole].into_iter().any(|name| self.table.destroys(name, Place::Made))
    }
}

/// The verb of an operation id: the first word of its last part, or else its first word. A dot or a slash ends a
/// namespace; an underscore may, or may stand between words (`chat_delete`, `droplets_destroy_byTag`, `delete_chat`).
fn verb_of_id(table: &Table, id: &str) -> Option<(Class, &'static str, Place)> {
    let own = id.rsplit(['/', '.', ':', '#']).find(|part| !part.is_empty())?;
    let first_of = |text: &str| words_of(text).into_iter().find(|word| !table.is_skipped(word));
    let first = first_of(own).and_then(|word| table.exact(&word));
    let last = own.rsplit('_').find(|part| !part.is_empty()).and_then(first_of).and_then(|word| table.exact(&word));
    let second = || own.split('_').filter(|part| !part.is_empty()).nth(1).and_then(first_of);
    let after_name = first.is_none().then(second).flatten().and_then(|word| table.exact(&word));
    let said = first.filter(|(class, _)| *class == Class::Read).or(after_name).or(last).or(first)?;
    Some((said.0, said.1, Place::Id))
}

/// Fields by which an API of remote procedures says which one is called.
const CALLED_BY: [&str; 9] = ["method", "action", "api", "cmd", "command", "function", "op", "operation", "procedure"];

/// The procedures that a path names in its query or fragment: `/rest?method=photos.delete`, `/#Action=DeleteUser`.
fn called_in(path: &str) -> impl Iterator<Item = &str> {
    let pairs = path.split(['?', '#', '&', ';']).skip(1).filter_map(|pair| pair.split_once('='));
    let named = |name: &str| CALLED_BY.iter().any(|known| name.eq_ignore_ascii_case(known));
    pairs.filter(move |(name, value)| named(name) && !value.contains('{')).map(|(_, value)| value)
}

/// The first verb of a summary; several when it begins like `Create/modify/delete`.
fn verbs_of_summary<'t>(table: &'t Table, summary: &str) -> impl Iterator<Item = (Class, &'static str, Place)> + 't {
    let text = without_tags(summary);
    let first = text.split_whitespace().map(str::to_lowercase).find(|word| !table.is_skipped(word)).unwrap_or_default();
    let verbs: Vec<_> = words_of(&first).iter().filter_map(|word| table.verb(word)).collect();
    verbs.into_iter().map(|(class, word)| (class, word, Place::Summary))
}

/// Most bytes of a summary that are looked at: its verb stands at its beginning.
const LOOKED_AT: usize = 400;

/// Leaves out what stands in `<…>`.
fn without_tags(text: &str) -> String {
    let end = text.char_indices().map(|(place, _)| place).find(|place| *place >= LOOKED_AT).unwrap_or(text.len());
    let mut inside = false;
    let visible = text[..end].chars().filter(|c| {
        let hidden = inside || *c == '<';
        inside = hidden && *c != '>';
        !hidden
    });
    visible.collect()
}

/// The verb's place in a path: what follows the last `/`, and in it what follows the last `.` or `:`.
fn last_segment(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let segment = path.rsplit('/').next().unwrap_or_default();
    let segment = segment.split_once('(').map_or(segment, |(name, _)| name);
    let own = segment.rsplit([':', '.']).next().unwrap_or_default();
    if own.contains(['{', '}']) { "" } else { own }
}

#[cfg(test)]
mod tests;
