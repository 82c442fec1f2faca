//! Makes guest text safe to show: no terminal escapes, no control or bidirectional characters, bounded.
//!
//! Invariant: what leaves here is one line of printable text. It is not made safe for a shell or for HTML.

/// Returns `text` as one printable line of at most `max_bytes` bytes, an ellipsis included when it was cut.
///
/// Whole escape sequences (ECMA-48 CSI, OSC, DCS, SOS, PM, APC) go, as do C0 and C1 controls, bidirectional
/// controls, zero-width characters and Unicode tags; tabs and line breaks become one space each.
#[must_use]
pub fn clean_line(text: &str, max_bytes: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max_bytes).saturating_add(4));
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let shown = match character {
            '\u{1b}' => {
                skip_escape(&mut characters);
                continue;
            }
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                skip_string(&mut characters);
                continue;
            }
            '\u{9b}' => {
                skip_parameters(&mut characters);
                continue;
            }
            '\t' | '\n' | '\u{2028}' | '\u{2029}' => ' ',
            other if is_hidden(other) => continue,
            other => other,
        };
        line.push(shown);
        if line.len() > max_bytes {
            return cut(line, max_bytes);
        }
    }
    line
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

/// Whether a character has an effect on a terminal or on reading order without being seen.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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

    proptest! {
        #[test]
        fn a_clean_line_is_bounded_printable_and_stable(text in any::<String>(), max in 0_usize..64) {
            let line = clean_line(&text, max);
            prop_assert!(line.len() <= max);
            prop_assert!(!line.chars().any(is_hidden));
            prop_assert_eq!(clean_line(&line, max), line);
        }
    }
}
