//! Base64 decoding (RFC 4648, standard and URL alphabets, padding optional).
//!
//! Written here because this crate is compiled into every adapter and takes no dependency beyond serde.

/// Returns the bytes of `text`, or `None` when it is not base64. ASCII white space is skipped.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut buffer, mut bits, mut symbols) = (0u32, 0u32, 0usize);
    let mut padding = 0usize;
    for symbol in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if symbol == b'=' {
            padding += 1;
            continue;
        }
        if padding > 0 {
            return None;
        }
        buffer = (buffer << 6) | u32::from(value(symbol)?);
        bits += 6;
        symbols += 1;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((buffer >> bits) & 0xff).ok()?);
            buffer &= (1 << bits) - 1;
        }
    }
    // A lone symbol carries no byte, left-over bits must be zero, and padding, where given, must complete a group.
    let complete = symbols % 4 != 1 && buffer == 0 && padding <= 2;
    let padded = padding == 0 || (symbols + padding).is_multiple_of(4);
    (complete && padded).then_some(bytes)
}

fn value(symbol: u8) -> Option<u8> {
    match symbol {
        b'A'..=b'Z' => Some(symbol - b'A'),
        b'a'..=b'z' => Some(symbol - b'a' + 26),
        b'0'..=b'9' => Some(symbol - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_decode_with_and_without_padding() {
        let cases: [(&str, Option<&[u8]>); 12] = [
            ("", Some(b"")),
            ("Zg==", Some(b"f")),
            ("Zg", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v\nYmFy", Some(b"foobar")),
            ("+/8=", Some(&[0xfb, 0xff])),
            ("-_8", Some(&[0xfb, 0xff])),
            ("Z", None),
            ("Zh", None),
            ("Zg=", None),
            ("Zg==Zg==", None),
            ("Zm9v!", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }
}
