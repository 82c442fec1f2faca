//! The numbers of a source map: base 64, variable length, sign in the lowest bit (source map v3, ECMA-426).

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `current - previous`.
pub(crate) fn push_difference(text: &mut String, previous: u32, current: u32) {
    let difference = i64::from(current) - i64::from(previous);
    let mut rest = (difference.unsigned_abs() << 1) | u64::from(difference < 0);
    loop {
        let more = if rest >= 32 { 32 } else { 0 };
        text.push(char::from(DIGITS[(rest & 31) as usize | more]));
        rest >>= 5;
        if rest == 0 {
            return;
        }
    }
}

/// Reads the numbers of one segment; `None` when a character or a length is not legal.
pub(crate) fn numbers(segment: &str) -> Option<Vec<i64>> {
    let (mut numbers, mut value, mut shift) = (Vec::new(), 0_u64, 0_u32);
    for byte in segment.bytes() {
        let digit = digit(byte)?;
        // 32 bits and a sign take seven digits.
        if shift > 30 {
            return None;
        }
        value |= u64::from(digit & 31) << shift;
        shift += 5;
        if digit & 32 == 0 {
            let magnitude = i64::try_from(value >> 1).ok()?;
            numbers.push(if value & 1 == 1 { -magnitude } else { magnitude });
            (value, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
