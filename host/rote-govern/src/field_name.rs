//! When two names of a header, cookie, field or member are one to some server.
//!
//! Invariants: one rule for all places. Who reads them decides what they are, and readers fold: CGI and PHP take every
//! mark for one, PHP cuts a name at `[`, .NET and Go read the members of JSON without regard to case (Go by Unicode's
//! simple folding, in which the Kelvin sign is a `k` and the long s an `s`).

/// Returns a name with what readers do not tell apart made one: lower case, marks as `-`, without what follows `[`.
#[must_use]
pub fn folded(name: &str) -> String {
    let name = name.trim();
    let cut = name.char_indices().skip(1).find(|(_, c)| matches!(c, '[' | '\0')).map_or(name.len(), |(end, _)| end);
    // To upper case first: that is what makes the long s one.
    let lower = name[..cut].chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    lower.map(|c| if c.is_alphanumeric() { c } else { '-' }).collect()
}

/// Whether a server may take two names for one.
#[must_use]
pub fn same_field(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_reader_takes_for_one_are_one() {
        let same = [
            ("token", "Token"),
            ("token", "TO\u{212a}EN"),
            ("session", "\u{17f}e\u{17f}\u{17f}ion"),
            ("api_key", "Api.Key"),
            ("X-Api-Key", "x_api_key"),
            ("token", " token"),
            ("token", "token[0]"),
            ("token", "token\0x"),
        ];
        for (one, other) in same {
            assert!(same_field(one, other) && same_field(other, one), "{one} {other:?}");
        }
        for (one, other) in [("token", "tokens"), ("api_key", "apikey"), ("a", ""), ("[a", "[b"), ("é", "e")] {
            assert!(!same_field(one, other), "{one} {other}");
        }
    }
}
