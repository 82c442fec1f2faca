//! The list of templates that run flows, kept beside the crate that believes them.
//!
//! A rebuilt template is added to it, so that flows made with the one before are still what they say. Lines of
//! templates that no release came with can be taken out by hand.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The list.
const FILE: &str = "host/rote-flow/templates.json";
/// The guests that are templates, with the form of the flows that they run.
const TEMPLATES: [(&str, &str); 2] = [("flows/_plan", "plan"), ("flows/_js", "script")];

/// One template, as `rote-flow` reads it. The last one of a form is the committed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    form: String,
    rote: String,
    sha256: String,
}

/// Makes the template that was built into `folder` the last known one of its form; other guests are not templates.
pub(super) fn note(folder: &str, sha256: &str) -> Result<()> {
    let Some((_, form)) = TEMPLATES.iter().find(|(template, _)| *template == folder) else { return Ok(()) };
    let path = crate::repository().join(FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{FILE}`"))?;
    let known: Vec<Known> =
        serde_json::from_str(&text).with_context(|| format!("`{FILE}` is not a list of templates"))?;
    let known = with_last(known, form, &format!("sha256:{sha256}"));
    std::fs::write(&path, written(&known)?).with_context(|| format!("cannot write `{FILE}`"))
}

/// The list with this template as the last one of its form.
fn with_last(mut known: Vec<Known>, form: &str, sha256: &str) -> Vec<Known> {
    let rote = env!("CARGO_PKG_VERSION").to_owned();
    known.retain(|one| one.sha256 != sha256);
    known.push(Known { form: form.to_owned(), rote, sha256: sha256.to_owned() });
    known.sort_by(|one, other| one.form.cmp(&other.form));
    known
}

/// One line for each template.
fn written(known: &[Known]) -> Result<String> {
    let mut lines = Vec::with_capacity(known.len());
    for one in known {
        lines.push(format!("  {}", serde_json::to_string(one)?));
    }
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(known: &[Known]) -> Vec<&str> {
        known.iter().map(|one| one.sha256.as_str()).collect()
    }

    #[test]
    fn a_new_template_is_the_last_of_its_form_and_an_old_one_stays() {
        let known = with_last(with_last(Vec::new(), "script", "s1"), "plan", "p1");
        let known = with_last(known, "plan", "p2");
        assert_eq!(digests(&known), ["p1", "p2", "s1"]);
        assert_eq!(digests(&with_last(known.clone(), "plan", "p2")), ["p1", "p2", "s1"]);
        assert_eq!(digests(&with_last(known, "plan", "p1")), ["p2", "p1", "s1"]);
    }

    #[test]
    fn the_file_is_written_as_it_is_committed() {
        let text = std::fs::read_to_string(crate::repository().join(FILE)).unwrap();
        let known: Vec<Known> = serde_json::from_str(&text).unwrap();
        assert_eq!(written(&known).unwrap(), text);
        assert!(TEMPLATES.iter().all(|(_, form)| known.iter().any(|one| one.form == *form)));
    }
}
