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

/// Names under which servers take a value for the caller's own credential, wherever it stands (RFC 6750 §2, and what
/// descriptions declare); without marks. A plain `key` is one of too many things.
const OF_CALLERS: [&str; 6] = ["accesstoken", "apikey", "apitoken", "authtoken", "oauthtoken", "token"];

/// Whether a server may take a value of this name for the caller's own credential.
#[must_use]
pub fn names_a_caller(name: &str) -> bool {
    let plain = folded(name).replace('-', "");
    OF_CALLERS.contains(&plain.strip_prefix('x').unwrap_or(&plain))
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

    #[test]
    fn a_credential_of_the_callers_is_one_in_any_spelling() {
        for name in
            ["access_token", "Access-Token", "apikey", "api.key", "API_KEY[]", "x-api-key", " accessToken", "token"]
        {
            assert!(names_a_caller(name), "{name}");
        }
        for name in ["key", "page_token", "next_token", "tokens", "x", "", "apikeys", "author"] {
            assert!(!names_a_caller(name), "{name}");
        }
    }
}
