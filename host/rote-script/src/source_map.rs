//! Positions in a bundled script back to positions in its sources.
//!
//! Reads any source map v3 without sections, ours or a foreign one: what is malformed is an error, a segment that points
//! nowhere is ignored, and the work is linear in the text.

use serde::Deserialize;

use crate::vlq;

/// The name under which a flow's script is evaluated; QuickJS writes it into stack traces as `rote:flow:LINE:COLUMN`.
pub const SCRIPT_NAME: &str = "rote:flow";

/// The most bytes of a source map that are parsed: 64 MiB.
const MAX_MAP_BYTES: usize = 64 * 1024 * 1024;

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The file, as the map names it: relative to the root of the sources.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in UTF-16 code units.
    pub column: u32,
}

/// Why a text is not a source map.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// More than 64 MiB.
    #[error("the source map has {0} bytes, more than 64 MiB")]
    TooLarge(usize),
    /// Not JSON, or not an object with `version`, `sources` and `mappings`.
    #[error("the source map is not a JSON object with `version`, `sources` and `mappings`")]
    Json(#[source] serde_json::Error),
    /// A version other than 3.
    #[error("the source map has version {0}; only 3 is known")]
    Version(u64),
    /// A segment of `mappings` is malformed.
    #[error("segment {segment} of line {line} of `mappings` is malformed")]
    Mappings {
        /// The line of the script, from 1.
        line: usize,
        /// The segment in that line, from 1.
        segment: usize,
    },
}

/// A parsed source map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceMap {
    sources: Vec<String>,
    /// Per line of the script, ordered by column.
    lines: Vec<Vec<Segment>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    column: u32,
    /// `None` for a segment that says that the script comes from nowhere.
    origin: Option<Origin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    source: u32,
    line: u32,
    column: u32,
}

#[derive(Deserialize)]
struct Json {
    version: u64,
    sources: Vec<Option<String>>,
    mappings: String,
}

impl SourceMap {
    /// Parses a source map v3.
    ///
    /// # Errors
    /// See [`MapError`]: the text is not a source map, or it was damaged.
    pub fn parse(text: &str) -> Result<Self, MapError> {
        if text.len() > MAX_MAP_BYTES {
            return Err(MapError::TooLarge(text.len()));
        }
        let json: Json = serde_json::from_str(text).map_err(MapError::Json)?;
        if json.version != 3 {
            return Err(MapError::Version(json.version));
        }
        let sources = json.sources.into_iter().map(Option::unwrap_or_default).collect();
        let mut state = [0_i64; 4];
        let mut lines = Vec::new();
        for (line, text) in json.mappings.split(';').enumerate() {
            state[0] = 0;
            lines.push(parse_line(text, &mut state).map_err(|segment| MapError::Mappings { line: line + 1, segment })?);
        }
        Ok(Self { sources, lines })
    }

    /// Returns where a position of the script comes from. Line and column from 1, as QuickJS counts; `None` for the
    /// parts of the script that no source has.
    ///
    /// A column counts UTF-16 code units. An engine that counts bytes or characters is a few columns off behind a
    /// character beyond ASCII on the same line of the script; its line is right.
    pub fn translate(&self, line: u32, column: u32) -> Option<Position> {
        let segments = self.lines.get(usize::try_from(line.checked_sub(1)?).ok()?)?;
        let column = column.saturating_sub(1);
        let at = segments.partition_point(|segment| segment.column <= column);
        // A position before the first segment of a line, such as its indentation, belongs to the first.
        let origin = segments.get(at.saturating_sub(1))?.origin?;
        let file = self.sources.get(usize::try_from(origin.source).ok()?)?.clone();
        Some(Position { file, line: origin.line.checked_add(1)?, column: origin.column.checked_add(1)? })
    }

    /// Rewrites every `rote:flow:LINE:COLUMN` of an error text or a stack into `main.ts:12:5`; what has no source stays
    /// as it is.
    pub fn translate_text(&self, text: &str) -> String {
        let mut output = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(SCRIPT_NAME) {
            let (before, name) = rest.split_at(at);
            output.push_str(before);
            let after = &name[SCRIPT_NAME.len()..];
            let found = numbers(after).and_then(|(line, column, length)| Some((self.translate(line, column)?, length)));
            rest = match found {
                Some((position, length)) => {
                    output.push_str(&format!("{}:{}:{}", position.file, position.line, position.column));
                    &after[length..]
                }
                None => {
                    output.push_str(SCRIPT_NAME);
                    after
                }
            };
        }
        output.push_str(rest);
        output
    }
}

/// Reads `:LINE:COLUMN` and returns both and the length of the text.
fn numbers(text: &str) -> Option<(u32, u32, usize)> {
    let line_digits = text.strip_prefix(':')?;
    let (line, length) = number(line_digits)?;
    let (column, more) = number(line_digits[length..].strip_prefix(':')?)?;
    Some((line, column, length + more + 2))
}

fn number(text: &str) -> Option<(u32, usize)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..length].parse().ok()?, length))
}

/// Parses the segments of one line; `state` is column, source, line and column of the source so far.
///
/// # Errors
/// The number of the malformed segment, from 1.
fn parse_line(text: &str, state: &mut [i64; 4]) -> Result<Vec<Segment>, usize> {
    let mut segments = Vec::new();
    for (position, text) in text.split(',').enumerate().filter(|(_, text)| !text.is_empty()) {
        segments.push(parse_segment(text, state).ok_or(position + 1)?);
    }
    segments.sort_by_key(|segment: &Segment| segment.column);
    Ok(segments)
}

fn parse_segment(text: &str, state: &mut [i64; 4]) -> Option<Segment> {
    let numbers = vlq::numbers(text)?;
    if ![1, 4, 5].contains(&numbers.len()) {
        return None;
    }
    for (value, difference) in state.iter_mut().zip(&numbers) {
        *value = value.checked_add(*difference)?;
    }
    let column = u32::try_from(state[0]).ok()?;
    if numbers.len() == 1 {
        return Some(Segment { column, origin: None });
    }
    let [source, line, source_column] = [state[1], state[2], state[3]].map(|value| u32::try_from(value).ok());
    Some(Segment { column, origin: Some(Origin { source: source?, line: line?, column: source_column? }) })
}
