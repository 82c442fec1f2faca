//! Misspelt words.

/// Least letters of a word that may be misspelt.
pub(crate) const LEAST_MISSPELT: usize = 5;

/// Whether two words are at most one edit apart: a letter more, less or another, or two that changed places.
pub(crate) fn is_one_edit(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    match (&one[same..], &other[same..]) {
        ([], rest) | (rest, []) => rest.len() <= 1,
        // Another letter, one less, one more, two that changed places.
        (one @ [a, less @ ..], other @ [b, more @ ..]) => {
            less == more
                || less == other
                || one == more
                || matches!((less, more), ([c, less @ ..], [d, more @ ..]) if a == d && b == c && less == more)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_edit_is_what_the_distance_says(one in "[abcé]{0,6}", other in "[abcé]{0,6}") {
            prop_assert_eq!(is_one_edit(&one, &other), strsim::osa_distance(&one, &other) <= 1);
        }
    }
}
