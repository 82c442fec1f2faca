//! Spellings of a text, and readers of them, written without a look at the redactor: slow, plain, and its own.

/// A generator of equal sequences for equal seeds (Steele, Lea and Flood: SplitMix64).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// The ways to write a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Plain,
    Case,
    Percent,
    Form,
    Json,
    Html,
    Base64,
    Hex,
    /// Percent escapes of percent escapes.
    Percents,
    /// `\x7365`, and `\x73\x65`.
    HexBehindX,
    /// `73:65`, `0x73, 0x65`.
    HexInPieces,
    /// Base64 or hexadecimal in short lines.
    Lines,
    /// UTF-16 or UTF-32, as base64 or hexadecimal.
    Wide,
}

pub(super) const WAYS: [Way; 13] = [
    Way::Plain,
    Way::Case,
    Way::Percent,
    Way::Form,
    Way::Json,
    Way::Html,
    Way::Base64,
    Way::Hex,
    Way::Percents,
    Way::HexBehindX,
    Way::HexInPieces,
    Way::Lines,
    Way::Wide,
];

/// Writes `text` in a way, with everything that the way leaves open by chance.
pub(super) fn write(way: Way, text: &str, chance: &mut Chance) -> String {
    match way {
        Way::Plain => text.to_owned(),
        Way::Case => match chance.below(3) {
            0 => text.to_ascii_uppercase(),
            1 => text.to_ascii_lowercase(),
            _ => text.chars().map(|c| if chance.one_in(2) { c.to_ascii_uppercase() } else { c }).collect(),
        },
        Way::Percent => percent(text, chance, "%20"),
        Way::Form => percent(text, chance, "+"),
        Way::Json => json(text, chance),
        Way::Html => html(text, chance),
        Way::Base64 => {
            let before = chance.pick(&["", "u", "us", "use", "user:", "GET /x HTTP/1.1 "]);
            let after = chance.pick(&["", "!", "!!", " and more", "\r\n"]);
            base64(format!("{before}{text}{after}").as_bytes(), chance.one_in(2), chance.one_in(2))
        }
        Way::Hex => {
            let upper = chance.one_in(2);
            let digit = |byte: u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
            let before = chance.pick(&["", "7", "78", "0a1"]);
            before.chars().map(String::from).chain(text.bytes().map(digit)).collect()
        }
        Way::Percents => {
            (0..4 + chance.below(5)).fold(percent(text, chance, "%20"), |text, _| text.replace('%', "%25"))
        }
        Way::HexBehindX => {
            let (once, each) = if chance.one_in(2) { ("\\x", "") } else { ("", "\\x") };
            let digits =
                |byte| if chance.one_in(2) { format!("{each}{byte:02X}") } else { format!("{each}{byte:02x}") };
            once.chars().map(String::from).chain(text.bytes().map(digits)).collect()
        }
        Way::HexInPieces => {
            let (before, between) =
                *chance.pick(&[&("", ":"), &("", " "), &("0x", ","), &("0x", ", "), &("", "-"), &("0X", "\n  ")]);
            let wide = 1 + if before.is_empty() { chance.below(3) } else { 0 };
            let piece = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let pieces: Vec<String> =
                text.as_bytes().chunks(wide).map(|one| format!("{before}{}", piece(one))).collect();
            pieces.join(between)
        }
        Way::Lines => {
            let whole = match chance.below(2) {
                0 => base64(format!("x: {text} and so on, and on").as_bytes(), false, true),
                _ => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            };
            let (length, gap) = (8 + 2 * chance.below(13), chance.pick(&["\n", "\r\n", "\n    "]));
            let lines: Vec<String> =
                whole.as_bytes().chunks(length).map(|one| String::from_utf8_lossy(one).into()).collect();
            lines.join(gap)
        }
        Way::Wide => {
            let bytes = wide(text, chance);
            match chance.below(2) {
                0 => base64(&bytes, chance.one_in(2), chance.one_in(2)),
                _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            }
        }
    }
}

/// The text in 16 or 32 bits for each character, either end first.
fn wide(text: &str, chance: &mut Chance) -> Vec<u8> {
    let (big, long) = (chance.one_in(2), chance.one_in(2));
    let mut bytes = Vec::new();
    for unit in text.encode_utf16() {
        let (high, low) = (u8::try_from(unit >> 8).unwrap(), u8::try_from(unit & 0xff).unwrap());
        let little = if long { vec![low, high, 0, 0] } else { vec![low, high] };
        bytes.extend(if big { little.into_iter().rev().collect() } else { little });
    }
    bytes
}

/// What a URL cannot carry is escaped; everything else sometimes is.
fn percent(text: &str, chance: &mut Chance, blank: &str) -> String {
    let rarely = chance.one_in(2);
    let mut out = String::new();
    for byte in text.bytes() {
        let open = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let escape = if open { chance.one_in(if rarely { 20 } else { 2 }) } else { true };
        match (byte, escape, chance.one_in(2)) {
            (b' ', ..) => out.push_str(blank),
            (_, false, _) => out.push(char::from(byte)),
            (_, true, true) => out.push_str(&format!("%{byte:02X}")),
            (_, true, false) => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// The inside of a JSON text.
fn json(text: &str, chance: &mut Chance) -> String {
    let often = 1 + chance.below(6);
    let mut out = String::new();
    for c in text.chars() {
        if chance.one_in(often) || (c as u32) < 0x20 {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let upper = chance.one_in(2);
                out.push_str(&if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
            }
            continue;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' if chance.one_in(2) => out.push_str("\\/"),
            other => out.push(other),
        }
    }
    out
}

fn html(text: &str, chance: &mut Chance) -> String {
    const NAMES: [(char, &str); 9] = [
        ('&', "amp"),
        ('<', "lt"),
        ('>', "gt"),
        ('"', "quot"),
        ('\'', "apos"),
        ('+', "plus"),
        ('/', "sol"),
        ('=', "equals"),
        (':', "colon"),
    ];
    let often = 1 + chance.below(6);
    let mut out = String::new();
    for c in text.chars() {
        let name = NAMES.iter().find(|(sign, _)| *sign == c).map(|(_, name)| name);
        if !chance.one_in(often) && !"&<>\"".contains(c) {
            out.push(c);
            continue;
        }
        match (chance.below(4), name) {
            (0, Some(name)) => out.push_str(&format!("&{name};")),
            (1, _) => out.push_str(&format!("&#x{:x};", c as u32)),
            (2, _) => out.push_str(&format!("&#X{:04X};", c as u32)),
            _ => out.push_str(&format!("&#{};", c as u32)),
        }
    }
    out
}

/// Base64, bit by bit.
pub(super) fn base64(bytes: &[u8], url: bool, pad: bool) -> String {
    let (plus, slash) = if url { ('-', '_') } else { ('+', '/') };
    let signs: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain([plus, slash]).collect();
    let bits: Vec<usize> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| usize::from(byte >> bit & 1))).collect();
    let sign = |six: &[usize]| signs[(0..6).fold(0, |sum, at| sum * 2 + six.get(at).copied().unwrap_or(0))];
    let mut out: String = bits.chunks(6).map(sign).collect();
    while pad && !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

/// Whether any reading of `text`, three steps deep, has `secret` in it, in any case.
pub(super) fn tells(text: &[u8], secret: &str, depth: usize) -> bool {
    let lower = |bytes: &[u8]| bytes.to_ascii_lowercase();
    let (hay, needle) = (lower(text), lower(secret.as_bytes()));
    if memchr::memmem::find(&hay, &needle).is_some() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let mut readings = vec![read_percents(text), read_percent(text, true), read_json(text), read_html(text)];
    readings.extend(read_base64(text));
    readings.extend(read_hex(text));
    readings.push(joined(text));
    readings.iter().any(|reading| reading != text && !reading.is_empty() && tells(reading, secret, depth - 1))
}

fn number(text: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()
}

fn read_percent(text: &[u8], form: bool) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let code = text.get(at + 1..at + 3).filter(|_| text[at] == b'%').and_then(|digits| number(digits, 16));
        match code.and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => out.push(byte),
            None => out.push(if form && text[at] == b'+' { b' ' } else { text[at] }),
        }
        at += if code.is_some() { 3 } else { 1 };
    }
    out
}

/// Every level of percent undone.
fn read_percents(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    loop {
        let next = read_percent(&text, false);
        if next == text {
            return text;
        }
        text = next;
    }
}

/// The text without what stands between pieces of hexadecimal, lines of base64 and the letters of wide text.
fn joined(text: &[u8]) -> Vec<u8> {
    let prefixes = ["\\x", "0x", "0X", "\\n", "\\r"];
    let text = prefixes.iter().fold(String::from_utf8_lossy(text).into_owned(), |text, one| text.replace(one, ""));
    text.chars().filter(|c| !" :,-\r\n\0".contains(*c)).collect::<String>().into_bytes()
}

fn read_json(text: &[u8]) -> Vec<u8> {
    let (mut units, mut at) = (Vec::<u16>::new(), 0);
    let text = String::from_utf8_lossy(text).into_owned();
    let chars: Vec<char> = text.chars().collect();
    while at < chars.len() {
        let digits: String = chars.iter().skip(at + 2).take(4).collect();
        let unit = (chars[at] == '\\' && chars.get(at + 1) == Some(&'u')).then(|| number(digits.as_bytes(), 16));
        if let Some(Some(unit)) = unit {
            units.push(u16::try_from(unit).unwrap());
            at += 6;
        } else if chars[at] == '\\' && at + 1 < chars.len() {
            units.extend(chars[at + 1].encode_utf16(&mut [0; 2]).iter());
            at += 2;
        } else {
            units.extend(chars[at].encode_utf16(&mut [0; 2]).iter());
            at += 1;
        }
    }
    String::from_utf16_lossy(&units).into_bytes()
}

fn read_html(text: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(text).into_owned();
    for (name, sign) in [("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("plus", "+"), ("sol", "/")] {
        text = text.replace(&format!("&{name};"), sign);
    }
    text = text.replace("&equals;", "=").replace("&colon;", ":");
    let mut out = String::new();
    for (index, part) in text.split("&#").enumerate() {
        let found = part.split_once(';').filter(|_| index > 0).and_then(|(code, rest)| {
            let hexadecimal = code.strip_prefix(['x', 'X']);
            let code = hexadecimal.map_or_else(|| code.parse().ok(), |code| number(code.as_bytes(), 16))?;
            Some((char::from_u32(code)?, rest))
        });
        match found {
            Some((char, rest)) => {
                out.push(char);
                out.push_str(rest);
            }
            None => {
                out.push_str(if index > 0 { "&#" } else { "" });
                out.push_str(part);
            }
        }
    }
    out.replace("&amp;", "&").into_bytes()
}

/// Every reading of every word of base64.
fn read_base64(text: &[u8]) -> Vec<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let mut readings = Vec::new();
    for word in text.split(|byte| value(*byte).is_none()).filter(|word| word.len() > 9) {
        for from in 0..4 {
            let bits: Vec<u8> = word[from..]
                .iter()
                .flat_map(|byte| {
                    let six = value(*byte).unwrap();
                    (0..6).rev().map(move |bit| six >> bit & 1)
                })
                .collect();
            let (bytes, _) = bits.as_chunks::<8>();
            readings.push(bytes.iter().map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect());
        }
    }
    readings
}

fn read_hex(text: &[u8]) -> Vec<Vec<u8>> {
    let words = text.split(|byte| !byte.is_ascii_hexdigit()).filter(|word| word.len() > 15);
    words
        .flat_map(|word| {
            (0..2).map(|from| {
                word[from..].chunks_exact(2).filter_map(|pair| u8::try_from(number(pair, 16)?).ok()).collect()
            })
        })
        .collect()
}
