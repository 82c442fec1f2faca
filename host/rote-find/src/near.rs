//! Misspelt words.

/// Least letters of a word that may be misspelt.
pub(crate) const LEAST_MISSPELT: usize = 5;

/// Whether two words are at most one edit apart: a letter more, less or another, or two that changed places.
pub(crate) fn is_one_edit(one: &str, other: &str) -> bool {
    // A letter has four bytes at most; that tells most words apart without looking at their letters.
    one.len().abs_diff(other.len()) <= 4 && strsim::osa_distance(one, other) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_a_letter_more_less_or_another_or_two_that_changed_places() {
        for (one, other, near) in [
            ("issue", "issue", true),
            ("issue", "isue", true),
            ("issue", "issuee", true),
            ("issue", "isuse", true),
            ("été", "éte", true),
            ("issue", "𝄞issue", true),
            ("issue", "isu", false),
            ("issue", "tissues", false),
            ("issue", "suise", false),
        ] {
            assert_eq!((is_one_edit(one, other), is_one_edit(other, one)), (near, near), "{one} {other}");
        }
    }
}
