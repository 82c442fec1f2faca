//! Foreign prose, shortened. It is data: nothing here interprets it.

/// Returns `text` without surrounding white space and of at most `most` characters, an ellipsis included.
pub(crate) fn capped(text: &str, most: usize) -> String {
    let text = text.trim();
    if most == 0 {
        return String::new();
    }
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(most - 1).map_or(text.len(), |(index, _)| index);
            format!("{}…", text[..end].trim_end())
        }
    }
}

/// Returns a tool's description: the summary, then what the description adds to it.
pub(crate) fn described(summary: &str, description: &str, most: usize) -> String {
    let (summary, description) = (summary.trim(), description.trim());
    if summary.is_empty() || description.starts_with(summary) {
        return capped(description, most);
    }
    if description.is_empty() {
        return capped(summary, most);
    }
    capped(&format!("{summary}\n\n{description}"), most)
}

/// Returns the words of `text` in lower case, joined by `_`: letters and digits of ASCII only.
pub(crate) fn slug(text: &str) -> String {
    let mut out = String::new();
    let mut previous_lower = false;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            if c.is_ascii_uppercase() && previous_lower {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
            previous_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        } else {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            previous_lower = false;
        }
    }
    out.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_shortened_by_characters() {
        assert_eq!(capped("  äöü ", 3), "äöü");
        assert_eq!(capped("äöüß", 3), "äö…");
        assert_eq!(capped("abc", 0), "");
        assert_eq!(described("Get it", "Get it.", 100), "Get it.");
        assert_eq!(described("Get it", "More.", 100), "Get it\n\nMore.");
        assert_eq!(described("", "", 100), "");
    }

    #[test]
    fn slugs_are_lower_case_words() {
        assert_eq!(slug("Pull Requests/Beta"), "pull_requests_beta");
        assert_eq!(slug("userGroups"), "user_groups");
        assert_eq!(slug("çé"), "");
    }
}
