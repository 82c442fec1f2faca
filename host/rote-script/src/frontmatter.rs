//! The YAML block in the first comment of a flow's entry.
//!
//! ```text
//! /**
//!  * @rote-frontmatter
//!  * ---
//!  * name: weekly-report
//!  * ---
//!  */
//! ```
//!
//! The block is the first `/** … */` comment with a line `@rote-frontmatter` (or `@dex-frontmatter`, an older name). When
//! the first `---` line starts with `*`, so may all lines, and one space behind it belongs to it; otherwise the
//! indentation of that line is taken off all lines. `*/` cannot stand in a comment: it is written `*\/`, and any
//! backslashes between `*` and `/` are one more than in the YAML.
//!
//! This module knows nothing of YAML: it finds lines and writes lines.

use crate::ScriptError;
use crate::place::line_of;
use crate::scan::{Kind, Scanner};

const TAGS: [&str; 2] = ["@rote-frontmatter", "@dex-frontmatter"];
const FENCE: &str = "---";

/// The YAML of a frontmatter block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The text between the two `---` lines, without the comment's decoration; every line ends in `\n`.
    pub yaml: String,
    /// The line of the file, from 1, that the first line of `yaml` stands on.
    pub line: u32,
}

/// Returns the frontmatter block of a source, or `None` when no comment has the tag.
///
/// # Errors
/// [`ScriptError::Frontmatter`] when there is a tag and not two `---` lines behind it.
pub fn extract(source: &str) -> Result<Option<Block>, ScriptError> {
    let Some(comment) = find(source) else { return Ok(None) };
    let fenced = comment.fenced().map_err(|(at, message)| ScriptError::Frontmatter {
        line: line_of(source, comment.start + at),
        message: message.into(),
    })?;
    let yaml = fenced.lines.iter().map(|line| unescape(fenced.style.undress(line)) + "\n").collect();
    Ok(Some(Block { yaml, line: line_of(source, comment.start + fenced.start) }))
}

/// Writes `yaml` into a source: into its block, or into a new one at the top, below a `#!` line.
///
/// `yaml` is one document; `---` lines around it are dropped, and its lines end in `\n` afterwards.
pub fn replace(source: &str, yaml: &str) -> String {
    let lines = document(yaml);
    let Some(comment) = find(source) else {
        let mark = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let shebang = &source[mark..];
        let skip = if shebang.starts_with("#!") { shebang.find('\n').map_or(shebang.len(), |at| at + 1) } else { 0 };
        let (head, rest) = source.split_at(mark + skip);
        let line_end = if skip > 0 && !head.ends_with('\n') { "\n" } else { "" };
        return format!("{head}{line_end}{}\n{rest}", new_block(&lines));
    };
    let (before, after) = (&source[..comment.start], &source[comment.start + comment.text.len()..]);
    match comment.fenced() {
        Ok(fenced) => {
            let body: String = lines.iter().map(|line| fenced.style.dress(line) + "\n").collect();
            let (head, tail) = (&comment.text[..fenced.start], &comment.text[fenced.end..]);
            format!("{before}{head}{body}{tail}{after}")
        }
        Err(_) => format!("{before}{}{after}", new_block(&lines)),
    }
}

fn new_block(lines: &[String]) -> String {
    let style = Style::Starred { indent: " ".into() };
    let mut block = format!("/**\n * {}\n * {FENCE}\n", TAGS[0]);
    for line in lines {
        block += &style.dress(line);
        block.push('\n');
    }
    block + " * ---\n */"
}

/// The lines of a YAML document without the `---` around it, escaped for a comment.
fn document(yaml: &str) -> Vec<String> {
    let mut lines: Vec<&str> = yaml.lines().collect();
    if lines.first().is_some_and(|line| line.trim_end() == FENCE) {
        lines.remove(0);
    }
    if lines.last().is_some_and(|line| line.trim_end() == FENCE) {
        lines.pop();
    }
    lines.into_iter().map(escape).collect()
}

/// A comment with a tag.
struct Comment<'s> {
    text: &'s str,
    /// Its offset in the source.
    start: usize,
}

/// The lines between the fences.
struct Fenced<'s> {
    lines: Vec<&'s str>,
    style: Style,
    /// The offsets in the comment at which the lines start and end.
    start: usize,
    end: usize,
}

/// How lines of YAML are decorated.
#[derive(Debug, PartialEq, Eq)]
enum Style {
    /// `indent`, `*`, one space.
    Starred { indent: String },
    /// `indent`.
    Plain { indent: String },
}

fn find(source: &str) -> Option<Comment<'_>> {
    // What the scanner cannot tell comes after the comments that matter, or makes the file unusable anyway.
    let comments = Scanner::new(source).map_while(Result::ok).filter(|piece| piece.kind == Kind::Comment);
    let mut comments = comments.map(|piece| Comment { text: &source[piece.start..piece.end], start: piece.start });
    comments.find(|comment| {
        let is_block = comment.text.starts_with("/**") && comment.text.len() > 4 && comment.text.ends_with("*/");
        is_block && comment.tag().is_some()
    })
}

impl<'s> Comment<'s> {
    /// The offset behind the line with the tag.
    fn tag(&self) -> Option<usize> {
        self.lines().find(|(_, line)| TAGS.contains(&bare(line))).map(|(at, line)| at + line.len())
    }

    /// The lines with their offsets and line ends.
    fn lines(&self) -> impl Iterator<Item = (usize, &'s str)> {
        let mut at = 0;
        self.text.split_inclusive('\n').map(move |line| {
            at += line.len();
            (at - line.len(), line)
        })
    }

    fn fenced(&self) -> Result<Fenced<'s>, (usize, &'static str)> {
        let tag_end = self.tag().unwrap_or_default();
        let mut lines = self.lines().skip_while(|(at, _)| *at < tag_end);
        let (first_at, first) =
            lines.find(|(_, line)| bare(line) == FENCE).ok_or((0, "no `---` line follows the tag"))?;
        let style = Style::of(first);
        let mut fenced = Fenced { lines: Vec::new(), style, start: first_at + first.len(), end: 0 };
        for (at, line) in lines {
            let line = line.trim_end_matches('\n');
            let line = line.strip_suffix('\r').unwrap_or(line);
            if fenced.style.undress(line).trim_end() == FENCE {
                fenced.end = at;
                return Ok(fenced);
            }
            fenced.lines.push(line);
        }
        Err((first_at, "the block has no closing `---` line"))
    }
}

impl Style {
    fn of(fence: &str) -> Self {
        let indent = fence[..fence.len() - fence.trim_start().len()].to_owned();
        if fence.trim_start().starts_with('*') { Self::Starred { indent } } else { Self::Plain { indent } }
    }

    fn undress<'l>(&self, line: &'l str) -> &'l str {
        match self {
            Self::Starred { .. } => match line.trim_start().strip_prefix('*') {
                Some(rest) => rest.strip_prefix(' ').unwrap_or(rest),
                None => line,
            },
            Self::Plain { indent } => line.strip_prefix(indent.as_str()).unwrap_or_else(|| line.trim_start()),
        }
    }

    fn dress(&self, line: &str) -> String {
        match self {
            Self::Starred { indent } if line.is_empty() => format!("{indent}*"),
            Self::Starred { indent } => format!("{indent}* {line}"),
            Self::Plain { indent } => format!("{indent}{line}"),
        }
    }
}

/// A line without the comment's decoration.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("/**").unwrap_or(line);
    line.strip_prefix('*').unwrap_or(line).trim()
}

fn escape(line: &str) -> String {
    stars(line, |slashes| slashes + 1)
}

fn unescape(line: &str) -> String {
    stars(line, |slashes| slashes.saturating_sub(1))
}

/// Changes the number of backslashes between each `*` and `/`.
fn stars(line: &str, change: impl Fn(usize) -> usize) -> String {
    let mut output = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('*') {
        let (before, after) = rest.split_at(at + 1);
        output.push_str(before);
        let slashes = after.bytes().take_while(|byte| *byte == b'\\').count();
        if after[slashes..].starts_with('/') {
            output.extend(std::iter::repeat_n('\\', change(slashes)));
            rest = &after[slashes..];
        } else {
            rest = after;
        }
    }
    output + rest
}
