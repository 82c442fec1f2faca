//! Lines: what fits stands in one, what does not is broken as a formatter would break it.

/// Longest line.
const WIDTH: usize = 100;

/// Text that may be broken into lines.
pub(super) enum Doc {
    Text(String),
    /// Something with members between brackets.
    Group {
        open: String,
        members: Vec<Member>,
        close: &'static str,
    },
}

/// One of the members between brackets.
pub(super) struct Member {
    /// What stands in front, such as `title: `.
    pub(super) label: String,
    pub(super) value: Doc,
    /// What a comment says about it.
    pub(super) note: Option<String>,
}

impl Doc {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An object in braces.
    pub(super) fn object(members: Vec<Member>) -> Self {
        Self::Group { open: "{".to_owned(), members, close: "}" }
    }

    /// An array in brackets.
    pub(super) fn array(items: impl IntoIterator<Item = Doc>) -> Self {
        let member = |value| Member { label: String::new(), value, note: None };
        Self::Group { open: "[".to_owned(), members: items.into_iter().map(member).collect(), close: "]" }
    }

    /// In one line, whatever it takes; nothing where a comment stands inside.
    fn flat(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Group { open, members, close } => {
                let mut parts = Vec::with_capacity(members.len());
                for Member { label, value, note } in members {
                    if note.is_some() {
                        return None;
                    }
                    parts.push(format!("{label}{}", value.flat()?));
                }
                let space = if *close == "}" && !parts.is_empty() { " " } else { "" };
                Some(format!("{open}{space}{}{space}{close}", parts.join(", ")))
            }
        }
    }

    /// In one line without what comments say.
    pub(super) fn inline(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Group { open, members, close } => {
                let parts: Vec<String> =
                    members.iter().map(|Member { label, value, .. }| format!("{label}{}", value.inline())).collect();
                let space = if *close == "}" && !parts.is_empty() { " " } else { "" };
                format!("{open}{space}{}{space}{close}", parts.join(", "))
            }
        }
    }

    /// Whether it stands in one line between `before` and `after`.
    pub(super) fn fits(&self, pad: Pad, before: &str, after: &str) -> bool {
        let flat = self.flat();
        flat.is_some_and(|flat| pad.spaces().len() + before.len() + flat.len() + after.len() <= WIDTH)
    }

    /// Writes it between `before`, which is indented by `indent`, and `after`.
    pub(super) fn lay(&self, pad: Pad, before: &str, after: &str) -> String {
        let indent = pad.spaces();
        let Self::Group { open, members, close } = self else {
            return format!("{indent}{before}{}{after}", self.inline());
        };
        if self.fits(pad, before, after) {
            return format!("{indent}{before}{}{after}", self.inline());
        }
        let mut lines = vec![format!("{indent}{before}{open}")];
        for Member { label, value, note } in members {
            let mut line = value.lay(pad.deeper(), label, ",");
            if let Some(note) = note {
                line.push_str(&format!(" // {note}"));
            }
            lines.push(line);
        }
        lines.push(format!("{indent}{close}{after}"));
        lines.join("\n")
    }
}

/// Writes what has to hold behind `before`, each on a line of its own when one line is too short.
pub(super) fn condition(pad: Pad, before: &str, parts: &[String], after: &str, brackets: [&str; 2]) -> Vec<String> {
    let [open, close] = brackets;
    let indent = pad.spaces();
    let line = format!("{indent}{before}{open}{}{close}{after}", parts.join(" && "));
    if line.len() <= WIDTH {
        return vec![line];
    }
    let deeper = pad.deeper().spaces();
    let (first, rest) = (parts.first().map_or("", String::as_str), parts.get(1..).unwrap_or_default());
    let mut lines = match open {
        "" => vec![format!("{indent}{before}{first}")],
        _ => vec![format!("{indent}{before}{open}"), format!("{deeper}{first}")],
    };
    lines.extend(rest.iter().map(|part| format!("{deeper}&& {part}")));
    lines.push(format!("{indent}{}", format!("{close}{after}").trim_start()));
    lines
}

/// How far lines are indented.
#[derive(Clone, Copy)]
pub(super) struct Pad {
    pub(super) width: usize,
    pub(super) depth: usize,
}

impl Pad {
    pub(super) fn spaces(self) -> String {
        " ".repeat(self.width * self.depth)
    }

    pub(super) fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_broken_and_a_comment_ends_one() {
        let member = |label: &str, value: Doc, note: Option<&str>| Member {
            label: format!("{label}: "),
            value,
            note: note.map(str::to_owned),
        };
        let inner = || Doc::object(vec![member("b", Doc::text("1"), None)]);
        let pad = Pad { width: 2, depth: 1 };
        assert_eq!(Doc::object(vec![member("a", inner(), None)]).lay(pad, "x(", ");"), "  x({ a: { b: 1 } });");
        let noted = Doc::object(vec![member("a", inner(), None), member("c", Doc::text("2"), Some("said"))]);
        assert_eq!(noted.lay(pad, "x(", ");"), "  x({\n    a: { b: 1 },\n    c: 2, // said\n  });");
        let long = Doc::object(vec![member("a", Doc::text("y".repeat(90)), None)]).lay(pad, "x(", ");");
        assert_eq!(long.lines().count(), 3, "{long}");
        assert_eq!(Doc::array([]).inline(), "[]");
    }
}
