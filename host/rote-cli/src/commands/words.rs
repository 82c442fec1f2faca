//! Words of the form `name=value` that may take a file's content.

use std::path::PathBuf;

use rote_app::Parameter;

/// Splits `name=value`; a value `@FILE` stands for the file's content, `@@x` for the text `@x`. `@7{.id}` is left
/// for templates. None where there is no name.
pub(super) fn parameter(word: &str) -> Option<(String, Parameter)> {
    let (name, text) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
    let file = text.strip_prefix('@').filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let value = match file {
        Some(escaped) if escaped.starts_with('@') => Parameter::Text(escaped.to_owned()),
        Some(path) => Parameter::File(PathBuf::from(path)),
        None => Parameter::Text(text.to_owned()),
    };
    Some((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_text_or_a_file() {
        let text = |text: &str| Some(("n".to_owned(), Parameter::Text(text.to_owned())));
        assert_eq!(parameter("n=a=b"), text("a=b"));
        assert_eq!(parameter("n="), text(""));
        assert_eq!(parameter("n=@@ada"), text("@ada"));
        assert_eq!(parameter("n=@7{.id}"), text("@7{.id}"));
        assert_eq!(parameter("n=@a.md"), Some(("n".to_owned(), Parameter::File("a.md".into()))));
        assert_eq!((parameter("n"), parameter("=x")), (None, None));
    }
}
