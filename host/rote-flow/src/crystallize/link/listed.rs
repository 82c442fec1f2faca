//! Values of a list of bare texts, `["U04ANN11", "U04BOB22"]`, which no name says to be ids: one is, where it is shaped like one or
//! where calls that are equal but for it took all of the list, one after the other.

use serde_json::Value;

use super::super::draft::DraftStep;
use super::super::occurrences::{Hit, id_words};
use super::super::path::{Segment, at};
use super::Linker;

/// Fewest characters of an id of letters and digits.
const MIN_ID: usize = 6;
/// Fewest digits at the end of one that is otherwise of letters: `U12345`, and not `RFC2119`.
const MIN_NUMBER: usize = 5;
/// Most calls that are compared.
const MAX_ALIKE: usize = 64;

impl Linker<'_, '_> {
    /// Whether a text was probably taken from a list of bare texts.
    pub(super) fn is_listed(&self, pointer: &str, text: &str, hits: &[&Hit]) -> bool {
        hits.iter().filter(|hit| matches!(hit.path.last(), Some(Segment::Index(_)))).any(|hit| {
            is_shaped_like_id(text) || self.items_beside(hit).is_some_and(|items| self.took_all(pointer, &items))
        })
    }

    /// The items of the list that a place is in.
    fn items_beside(&self, hit: &Hit) -> Option<Vec<Value>> {
        let body = self.cx.body(self.response(hit))?;
        let (_, list) = hit.path.split_last()?;
        at(&body, list)?.as_array().filter(|items| items.len() > 1 && items.iter().all(Value::is_string)).cloned()
    }

    /// Whether calls of this tool that are equal but for this argument have all of a list there, in its order.
    fn took_all(&self, pointer: &str, items: &[Value]) -> bool {
        let rest = |step: &DraftStep| {
            let call = step.call(self.cx.trace);
            let mut arguments = call.arguments.clone();
            let own = arguments.pointer_mut(pointer)?.take();
            Some(((call.adapter.clone(), call.tool.clone(), arguments), own))
        };
        let stays = |step: &&DraftStep| step.out.is_none() && step.broken.is_none() && step.calls.len() == 1;
        let Some((known, _)) = rest(self.step) else { return false };
        let alike = self.draft.steps.iter().filter(stays).filter_map(rest).filter(|(other, _)| *other == known);
        let taken: Vec<Value> = alike.map(|(_, own)| own).take(MAX_ALIKE).collect();
        taken == items
    }
}

/// Whether a word is one that nobody says: letters and digits in each other, or many digits behind letters.
fn is_shaped_like_id(text: &str) -> bool {
    if id_words(text).any(|word| word == text) {
        return true;
    }
    let letters = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - letters.len();
    let mixed = letters.chars().any(|c| c.is_ascii_digit()) && !letters.is_empty();
    let odd = text.chars().any(|c| c.is_ascii_uppercase()) || text.chars().all(|c| c.is_ascii_hexdigit());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric()) && text.len() >= MIN_ID;
    plain && odd && (mixed || digits >= MIN_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_word_that_nobody_says() {
        let is = ["U04ANN11", "C07DEP111", "U12345678", "TRK-12", "cus_B", "5f3a9c07", "aB3dE5fG", "138921851"];
        let is_not =
            ["ann", "p1", "v1.2.3", "RFC2119", "Sprint12", "needs-triage", "h264codec", "Q3", "", "2026-10-01"];
        for (text, wanted) in is.into_iter().map(|text| (text, true)).chain(is_not.map(|text| (text, false))) {
            assert_eq!(is_shaped_like_id(text), wanted, "{text}");
        }
    }
}
