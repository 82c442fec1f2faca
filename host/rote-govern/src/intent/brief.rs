//! What somebody is told who begins to work on an intent, in the words of the hooks: `<intent_context>`.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Intent;

/// Most bytes of it, as the hooks have it: what an agent is told must not drown what it does.
const MAX_BRIEF_BYTES: usize = 16 << 10;
/// Room for what is said of entries that are left out, and for the ends of the elements.
const RESERVE: usize = 512;

impl Intent {
    /// Returns the block for an agent: constraints first, then what may be changed, then when it is done. Entries that do not
    /// fit are counted, not cut.
    #[must_use]
    pub fn brief(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        let head: String = name.chars().take(1_000).collect();
        let mut text = format!(
            "<intent_context>\n  <intent id=\"{}\" name=\"{}\" status=\"{}\">\n",
            self.id,
            escape(&head),
            self.status
        );
        let scope: Vec<&str> = self.scope.entries().collect();
        section(&mut text, ("constraints", "constraint"), &words(&self.constraints));
        section(&mut text, ("owned_scope", "entry"), &scope);
        section(&mut text, ("acceptance_criteria", "criterion"), &words(&self.acceptance_criteria));
        text.push_str("  </intent>\n</intent_context>\n");
        text
    }
}

fn words(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// One list, as far as there is room.
fn section(text: &mut String, (list, item): (&str, &str), entries: &[&str]) {
    if entries.is_empty() {
        let _never_fails = writeln!(text, "    <{list}/>");
        return;
    }
    let _never_fails = writeln!(text, "    <{list}>");
    let mut omitted = 0;
    for entry in entries {
        let line = format!("      <{item}>{}</{item}>\n", escape(entry));
        if text.len() + line.len() + RESERVE > MAX_BRIEF_BYTES {
            omitted += 1;
        } else {
            text.push_str(&line);
        }
    }
    if omitted > 0 {
        let _never_fails = writeln!(text, "      <omitted count=\"{omitted}\"/>");
    }
    let _never_fails = writeln!(text, "    </{list}>");
}

/// Text as it stands between and within tags (XML 1.0 §2.4).
fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}
