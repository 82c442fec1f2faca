//! What a value says by its shape: `#general` is a channel, `octo/hello` a repository.

/// Endings of names of files, with what the file is.
const ENDINGS: [(&[&str], &[&str]); 3] = [
    (&["png", "jpg", "jpeg", "gif", "svg", "webp"], &["file", "image"]),
    (&["mp3", "wav", "m4a", "ogg", "flac"], &["file", "audio"]),
    (
        &[
            "pdf", "csv", "txt", "md", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "json", "jsonl", "yaml",
            "yml", "toml", "rs", "py", "js", "ts", "go", "java", "html", "mp4", "mov",
        ],
        &["file"],
    ),
];
/// Least characters of an abbreviated digest of a commit.
const LEAST_DIGEST: usize = 7;

/// Returns the words that a value stands for by its shape; none for most.
pub(crate) fn stands_for(text: &str) -> &'static [&'static str] {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if let Some(behind) = text.strip_prefix('#') {
        return if digits(behind) { &["issue", "pull"] } else { &["channel"] };
    }
    if text.contains("://") {
        return &["url", "link"];
    }
    if text.starts_with('@') {
        return &["user", "member"];
    }
    if text.contains('@') {
        return &["email", "user", "member"];
    }
    if let Some((name, ending)) = text.rsplit_once('.').filter(|(name, _)| !name.is_empty()) {
        let ending = ending.to_ascii_lowercase();
        if let Some((_, words)) = ENDINGS.iter().find(|(endings, _)| endings.contains(&ending.as_str())) {
            return words;
        }
        let numbers = name.trim_start_matches(['v', 'V']).split('.');
        return if digits(&ending) && numbers.into_iter().all(digits) { &["version", "tag", "release"] } else { &[] };
    }
    if let Some((owner, name)) = text.split_once('/') {
        let letters = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic());
        return if letters(owner) && letters(name) && !name.contains('/') { &["repository"] } else { &[] };
    }
    let hex = text.len() >= LEAST_DIGEST && text.chars().all(|c| c.is_ascii_hexdigit());
    if hex && text.contains(|c: char| c.is_ascii_alphabetic()) { &["commit"] } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_for_what_its_shape_says() {
        for (value, words) in [
            ("#general", "channel"),
            ("#12", "issue pull"),
            ("@bob", "user member"),
            ("ann@acme.com", "email user member"),
            ("https://a.example/b", "url link"),
            ("octo/hello", "repository"),
            ("report.PDF", "file"),
            ("src/main.rs", "file"),
            ("a.png", "file image"),
            ("v1.2.0", "version tag release"),
            ("4f2c1e9", "commit"),
            ("2025-01-01", ""),
            ("12/2025", ""),
            ("a/b/c", ""),
            ("1234567", ""),
            ("", ""),
            ("#", "channel"),
            (".", ""),
            ("é.é", ""),
        ] {
            assert_eq!(stands_for(value).join(" "), words, "{value}");
        }
    }
}
