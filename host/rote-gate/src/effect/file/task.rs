//! What a tool of the files' description asks for, read from the arguments of the call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use crate::effect::place::{Place, Root};
use crate::file_refusal::FileRefusal;

/// Most bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// What is done at a place.
#[derive(Debug)]
pub(super) enum Task {
    /// Lines, counted from 1.
    Read {
        first: u64,
        last: u64,
    },
    List {
        recursive: bool,
    },
    Search {
        regex: Box<Regex>,
        files: Option<GlobMatcher>,
    },
    Write {
        content: Vec<u8>,
    },
    Edit {
        old: String,
        new: String,
        all: bool,
    },
    Delete,
    Move {
        to: Place,
    },
}

#[derive(Deserialize)]
struct Named {
    #[serde(default = "here")]
    path: String,
}

fn here() -> String {
    ".".to_owned()
}

#[derive(Deserialize)]
struct Lines {
    #[serde(default = "first")]
    start_line: u64,
    #[serde(default = "last")]
    end_line: u64,
}

fn first() -> u64 {
    1
}

fn last() -> u64 {
    u64::MAX
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    recursive: bool,
}

#[derive(Deserialize)]
struct Searched {
    regex: String,
    file_pattern: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    content: String,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Deserialize)]
struct Edited {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize)]
struct Moved {
    source: String,
    destination: String,
}

impl Task {
    /// Reads what a tool asks for, and where; none for a tool that the host does not know.
    pub(super) fn read(root: &Root, tool: &str, arguments: &Value) -> Result<Option<(Self, Place)>, FileRefusal> {
        let task = match tool {
            "read_file" => {
                let lines: Lines = arguments_of(arguments)?;
                Self::Read { first: lines.start_line.max(1), last: lines.end_line }
            }
            "list_files" => Self::List { recursive: arguments_of::<Listed>(arguments)?.recursive },
            "search_files" => Self::search(arguments_of(arguments)?)?,
            "write_to_file" => Self::Write { content: content(arguments_of(arguments)?)? },
            "edit_file" => {
                let Edited { old_text: old, new_text: new, replace_all: all } = arguments_of(arguments)?;
                Self::Edit { old, new, all }
            }
            "delete_file" => Self::Delete,
            "move_file" => {
                let Moved { source, destination } = arguments_of(arguments)?;
                let to = root.resolve(&destination)?;
                return Ok(Some((Self::Move { to }, root.resolve(&source)?)));
            }
            _ => return Ok(None),
        };
        let Named { path } = arguments_of(arguments)?;
        Ok(Some((task, root.resolve(&path)?)))
    }

    fn search(Searched { regex, file_pattern }: Searched) -> Result<Self, FileRefusal> {
        let bad = |what: &str, problem: String| wrong(format!("`{what}` is not a pattern: {problem}"));
        let built = RegexBuilder::new(&regex).size_limit(MAX_PATTERN_BYTES).build();
        let compiled = built.map_err(|error| bad(&regex, last_line(&error.to_string())))?;
        let files = file_pattern.map(|glob| {
            let built = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(false).build();
            built.map(|glob| glob.compile_matcher()).map_err(|error| bad(&glob, error.kind().to_string()))
        });
        Ok(Self::Search { regex: Box::new(compiled), files: files.transpose()? })
    }

    /// Whether it changes a file.
    pub(super) fn changes(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Edit { .. } | Self::Delete | Self::Move { .. })
    }
}

fn content(Written { content, encoding }: Written) -> Result<Vec<u8>, FileRefusal> {
    match encoding {
        Encoding::Utf8 => Ok(content.into_bytes()),
        Encoding::Base64 => {
            STANDARD.decode(content).map_err(|error| wrong(format!("`content` is not base64: {error}")))
        }
    }
}

/// The arguments were checked against the tool's schema; what does not fit here is a description of another version.
fn arguments_of<'a, T: Deserialize<'a>>(arguments: &'a Value) -> Result<T, FileRefusal> {
    T::deserialize(arguments).map_err(|error| wrong(error.to_string()))
}

fn wrong(problem: String) -> FileRefusal {
    FileRefusal::Arguments { problem }
}

/// What is wrong stands at the end of what the library says, behind a drawing of the place.
fn last_line(said: &str) -> String {
    said.lines().last().unwrap_or(said).trim_start_matches("error: ").to_owned()
}
