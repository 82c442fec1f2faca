//! Percent-encoding (RFC 3986 §2) with one character set per place.

/// Which characters stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Unreserved characters only: what RFC 6570 does to a value.
    Unreserved,
    /// Also the reserved characters that have no meaning of their own inside a query or a form body:
    /// `[`, `]`, `#`, `&` and `+` are still written out, as OpenAPI 3.1.1 §4.8.12.2.2 asks.
    ReservedInQuery,
    /// Also the reserved characters that have no meaning of their own inside a path segment; `;` starts
    /// a path parameter for many servers.
    ReservedInSegment,
    /// Everything that a URL parser leaves alone in a path, escapes included: the host compares the literal parts
    /// of a path with the description's, after both went through a URL parser.
    Template,
}

impl Keep {
    fn keeps(self, byte: u8) -> bool {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            return true;
        }
        match self {
            Self::Unreserved => false,
            Self::ReservedInQuery => b":/?@!$'()*,;=".contains(&byte),
            Self::ReservedInSegment => b":@!$&'()*+,=".contains(&byte),
            Self::Template => b"/:@!$&'()*+,;=%|[]^".contains(&byte),
        }
    }
}

/// Appends `text` to `output`, escaping each byte that `keep` does not keep.
pub(crate) fn encode_into(output: &mut String, text: &str, keep: Keep) {
    for byte in text.bytes() {
        if keep.keeps(byte) {
            output.push(char::from(byte));
        } else {
            output.push('%');
            output.push(hex_digit(byte >> 4));
            output.push(hex_digit(byte & 0x0f));
        }
    }
}

/// Returns `text` with each byte escaped that `keep` does not keep.
pub(crate) fn encode(text: &str, keep: Keep) -> String {
    let mut output = String::with_capacity(text.len());
    encode_into(&mut output, text, keep);
    output
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0').to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_escapes_what_would_end_its_place() {
        let text = "aZ09-._~:/?#[]@!$&'()*+,;= %\\\u{e9}";
        let cases = [
            (Keep::Unreserved, "aZ09-._~%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%20%25%5C%C3%A9"),
            (Keep::ReservedInQuery, "aZ09-._~:/?%23%5B%5D@!$%26'()*%2B,;=%20%25%5C%C3%A9"),
            (Keep::ReservedInSegment, "aZ09-._~:%2F%3F%23%5B%5D@!$&'()*+,%3B=%20%25%5C%C3%A9"),
            (Keep::Template, "aZ09-._~:/%3F%23[]@!$&'()*+,;=%20%%5C%C3%A9"),
        ];
        for (keep, expected) in cases {
            assert_eq!(encode(text, keep), expected, "{keep:?}");
        }
    }
}
