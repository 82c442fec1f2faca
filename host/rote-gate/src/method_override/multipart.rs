//! The named fields of a multipart body.
//!
//! Boundaries are not looked at: two readers may differ about them. Every `Content-Disposition` line counts, and
//! the first line after its headers is the value, which is enough to compare it with a method.

/// Returns the name and the first line of each field.
pub(super) fn fields(body: &[u8]) -> impl Iterator<Item = (String, String)> {
    let mut lines = body.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).peekable();
    std::iter::from_fn(move || {
        loop {
            let mut header = String::from_utf8_lossy(lines.next()?).into_owned();
            // Checked first: most lines of a large file are not a header.
            if !is_disposition(&header) {
                continue;
            }
            while lines.peek().is_some_and(|line| line.starts_with(b" ") || line.starts_with(b"\t")) {
                header.push_str(&String::from_utf8_lossy(lines.next()?));
            }
            let Some(name) = field_name(&header) else { continue };
            for line in lines.by_ref() {
                if line.is_empty() {
                    break;
                }
            }
            let value = lines.next().map(|line| String::from_utf8_lossy(line).into_owned()).unwrap_or_default();
            return Some((name, value));
        }
    })
}

fn is_disposition(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))
}

/// The `name` parameter of a disposition, quoted, bare or extended (RFC 8187).
fn field_name(header: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (key, after) = rest.split_once('=')?;
        let (value, next) = parameter(after.trim_start());
        match key.trim().to_ascii_lowercase().as_str() {
            "name" => return Some(value),
            "name*" => {
                let encoded = value.rsplit('\'').next().unwrap_or(&value);
                return Some(super::percent_decoded(encoded));
            }
            _ => rest = next,
        }
    }
}

/// One parameter's value without quotes and escapes, and what follows its `;`.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, next) = text.split_once(';').unwrap_or((text, ""));
        return (value.trim().to_owned(), next);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '"' => return (value, quoted[place..].split_once(';').map_or("", |(_, next)| next)),
            other => value.push(other),
        }
    }
    (value, "")
}
