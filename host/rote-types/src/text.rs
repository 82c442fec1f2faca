//! Makes foreign text safe to show: no terminal escapes, no control, bidirectional or zero-width characters.
//!
//! This is the one place that says which characters are hidden. Text is not made safe for a shell here (that is
//! [`crate::command`]) or for HTML.

/// Whether a character has an effect on a terminal or on reading order without being seen: C0 and C1 controls and
/// DEL, bidirectional controls, zero-width and other format characters, separators of lines and paragraphs, and
/// tags and variation selectors above the BMP.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character cannot be seen, or is taken for a space: what is hidden, and everything else that Unicode has as ignorable
/// (`Default_Ignorable_Code_Point` of DerivedCoreProperties 17.0), blank (U+2800) or a space (category Zs). What a person decides by is
/// spelled where it has one; in what is only read it has its rights, as in the emoji that U+FE0F makes.
fn is_unseen(character: char) -> bool {
    is_hidden(character)
        || (character.is_whitespace() && !matches!(character, ' ' | '\n' | '\t' | '\r'))
        || matches!(character,
            '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
}

/// Returns `text` with its line breaks and tabs, and without anything else that is hidden.
///
/// Whole escape sequences (ECMA-48 CSI, OSC, DCS, SOS, PM, APC) go, not only their first character; U+2028 and
/// U+2029 become a space.
#[must_use]
pub fn clean(text: &str) -> String {
    if !text.chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')) {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => cleaned.push(character),
            _ => cleaned.extend(shown(character, &mut characters)),
        }
    }
    cleaned
}

/// Returns `text` as one printable line of at most `max_bytes` bytes, an ellipsis included when it was cut.
///
/// As [`clean`], and tabs and line breaks become one space each.
#[must_use]
pub fn clean_line(text: &str, max_bytes: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max_bytes).saturating_add(4));
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        line.extend(shown(character, &mut characters));
        if line.len() > max_bytes {
            return cut(line, max_bytes);
        }
    }
    line
}

/// Returns JSON text in which hidden characters are written `\uXXXX`: the same value, and nothing that steers a
/// terminal.
///
/// Within JSON text they stand in strings only; the line breaks and tabs between tokens stay.
#[must_use]
pub fn escape_hidden(json: &str) -> String {
    escaped(json, is_hidden)
}

/// Returns JSON text as [`escape_hidden`] does, in which everything else that cannot be seen is spelled too, for a person who decides
/// by it.
#[must_use]
pub fn escape_unseen(json: &str) -> String {
    escaped(json, is_unseen)
}

fn escaped(json: &str, hidden: impl Fn(char) -> bool) -> String {
    use std::fmt::Write as _;

    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if hidden(character) && !matches!(character, '\n' | '\t' | '\r') {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _written = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Returns `text` as one line in which everything hidden is spelled: a line break is `\n`, another character `\uXXXX`. What a
/// person decides by is shown so, since an invisible character in it makes it another value.
#[must_use]
pub fn spelled_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in escape_unseen(text).chars() {
        match part {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            other => line.push(other),
        }
    }
    line
}

/// What is shown of a character; the rest of an escape sequence that it begins is skipped.
fn shown(character: char, rest: &mut Characters<'_>) -> Option<char> {
    match character {
        '\u{1b}' => skip_escape(rest),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(rest),
        '\u{9b}' => skip_parameters(rest),
        '\t' | '\n' | '\u{2028}' | '\u{2029}' => return Some(' '),
        other if is_hidden(other) => {}
        other => return Some(other),
    }
    None
}

/// Shortens `line` to `max_bytes` and marks it with an ellipsis where there is room for one.
fn cut(mut line: String, max_bytes: usize) -> String {
    const ELLIPSIS: char = '…';
    let Some(room) = max_bytes.checked_sub(ELLIPSIS.len_utf8()) else {
        return String::new();
    };
    line.truncate(line.floor_char_boundary(room));
    line.push(ELLIPSIS);
    line
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips the rest of an escape sequence whose ESC was taken.
fn skip_escape(characters: &mut Characters<'_>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            skip_parameters(characters);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            characters.next();
            skip_string(characters);
        }
        Some(' '..='/') => {
            while characters.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            characters.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            characters.next();
        }
        _ => {}
    }
}

/// Skips the parameters and the final byte of a control sequence.
fn skip_parameters(characters: &mut Characters<'_>) {
    while characters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    characters.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips a control string up to its terminator (BEL or ST), or to the end of the text.
fn skip_string(characters: &mut Characters<'_>) {
    while let Some(character) = characters.next() {
        match character {
            '\u{07}' | '\u{9c}' => return,
            '\u{1b}' if characters.next_if_eq(&'\\').is_some() => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_invisible_characters_are_removed() {
        let cases = [
            ("plain text", "plain text"),
            ("naïve 日本 🙂", "naïve 日本 🙂"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]52;c;aGVsbG8=\u{07}clipboard", "clipboard"),
            ("\u{1b}]0;title\u{1b}\\after", "after"),
            ("\u{1b}P1$r0m\u{1b}\\dcs", "dcs"),
            ("\u{9b}2Jc1", "c1"),
            ("\u{1b}(Bcharset", "charset"),
            ("\u{1b}cReset", "Reset"),
            ("a\r\nb\tc", "a b c"),
            ("user\u{202e}gpj.exe", "usergpj.exe"),
            ("zero\u{200b}width\u{feff}", "zerowidth"),
            ("nul\0bell\u{07}", "nulbell"),
            ("tag\u{e0041}s", "tags"),
            ("\u{1b}]unterminated", ""),
            ("\u{1b}", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(clean_line(text, 100), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_a_character_boundary() {
        assert_eq!(clean_line("abcdefgh", 8), "abcdefgh");
        assert_eq!(clean_line("abcdefghi", 8), "abcde…");
        assert_eq!(clean_line("ééééé", 8), "éé…");
        assert_eq!(clean_line("anything", 0), "");
    }

    #[test]
    fn many_lines_stay_many() {
        assert_eq!(clean("a\n\tb\u{1b}[2J\u{202e}c\u{2028}d\r\n"), "a\n\tbc d\n");
        assert_eq!(clean("plain\n"), "plain\n");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "a": "\u{9b}2J \u{202e}x \u{e0041} \u{7f} \n é" });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let escaped = escape_hidden(&text);
            assert!(!escaped.chars().any(|c| is_hidden(c) && c != '\n'), "{escaped}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
    }

    #[test]
    fn what_is_hidden_in_a_line_is_spelled() {
        assert_eq!(spelled_line("a\n\tb\u{202e}c\u{e0041}\r\u{1b}[2J é"), r"a\n\tb\u202ec\udb40\udc41\r\u001b[2J é");
    }

    proptest! {
        #[test]
        fn clean_text_is_printable_and_stable(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(!cleaned.chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')));
            prop_assert_eq!(clean(&cleaned), cleaned.clone());
        }

        #[test]
        fn a_clean_line_is_bounded_printable_and_stable(text in any::<String>(), max in 0_usize..64) {
            let line = clean_line(&text, max);
            prop_assert!(line.len() <= max);
            prop_assert!(!line.chars().any(is_hidden));
            prop_assert_eq!(clean_line(&line, max), line);
        }
    }
}
