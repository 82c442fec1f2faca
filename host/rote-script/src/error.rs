//! Why a bundle failed, always with the place in the source that a person has to change.

use std::fmt::Write as _;

/// A place in a source file, with the line itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the root of the sources.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The line of the source (a window of it when it is long) and below it a caret under the column.
    pub excerpt: String,
}

/// One more syntax error of the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// The line of the source and a caret, see [`Place::excerpt`].
    pub excerpt: String,
}

/// Why [`Sources::read`](crate::Sources::read) gave no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// There is no such file. The next candidate of an import is tried.
    #[error("there is no such file")]
    NotFound,
    /// The file is there, and cannot be read or is not UTF-8.
    #[error("{0}")]
    Unreadable(String),
}

/// Why sources could not be made into a script. All but [`ScriptError::Source`] and [`ScriptError::Internal`] are
/// mended by editing the sources; retrying does not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A file does not parse, or breaks a rule of the language that is checked before running.
    #[error("syntax error in `{file}:{line}:{column}`: {message}")]
    Syntax {
        /// The file, relative to the root of the sources.
        file: String,
        /// The line, from 1.
        line: u32,
        /// The column, from 1, in characters.
        column: u32,
        /// What is wrong.
        message: String,
        /// The line of the source and a caret, see [`Place::excerpt`].
        excerpt: String,
        /// Further errors of the same file, in the order of the text; at most nine.
        more: Vec<Problem>,
    },
    /// A construct of the language that flows cannot use.
    #[error("`{}:{}:{}`: {what} is not supported: {reason}", at.file, at.line, at.column)]
    Refused {
        /// Where.
        at: Place,
        /// The construct, as it is written.
        what: String,
        /// Why, or what to write instead.
        reason: String,
    },
    /// An import of something that a flow cannot import.
    #[error("`{}:{}:{}`: cannot import `{specifier}`: {reason}", at.file, at.line, at.column)]
    Import {
        /// Where.
        at: Place,
        /// The module, as it is written.
        specifier: String,
        /// Why, and what can be imported.
        reason: String,
    },
    /// A relative import of a file that does not exist.
    #[error(
        "`{}:{}:{}`: cannot find module `{specifier}`: tried {}",
        at.file, at.line, at.column, backticked(tried)
    )]
    Missing {
        /// Where.
        at: Place,
        /// The module, as it is written.
        specifier: String,
        /// The files that were looked for.
        tried: Vec<String>,
    },
    /// A name that the imported module does not export.
    #[error("`{}:{}:{}`: `{module}` {reason}", at.file, at.line, at.column)]
    Export {
        /// Where the name is imported or exported again.
        at: Place,
        /// The file of the module.
        module: String,
        /// What is wrong with the name.
        reason: String,
    },
    /// A package asks for something that a flow does not have, in code that would be part of the script.
    #[error("the package `{package}` cannot be used in a flow: {}{}", whole(problem), imported_by(chain))]
    Package {
        /// The package.
        package: String,
        /// Who asked for the file, from it to the entry: `file:line:column`.
        chain: Vec<String>,
        /// What is wrong, and where.
        problem: Box<ScriptError>,
    },
    /// The entry is not a file of the root, or not one that can be an entry.
    #[error("`{entry}` cannot be the entry of a flow: {reason}")]
    Entry {
        /// The entry.
        entry: String,
        /// Why.
        reason: String,
    },
    /// The entry exports neither a default function nor a function `run`.
    #[error(
        "`{file}` {reason}; write `export default async function (input) {{ … }}` or `export async function run(input) {{ … }}`"
    )]
    NoRun {
        /// The entry.
        file: String,
        /// What it exports instead.
        reason: String,
    },
    /// A JSON file that is not JSON.
    #[error("`{file}:{line}:{column}`: not JSON: {message}")]
    Json {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// Text that is nested too deeply to be parsed.
    #[error("`{}:{}:{}`: nested too deeply: {reason}", at.file, at.line, at.column)]
    Nesting {
        /// Where the bound is passed.
        at: Place,
        /// Which bound.
        reason: String,
    },
    /// More bytes or modules than the limits allow.
    #[error("{what}: {actual} of at most {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// How large it is (when counting stopped).
        actual: usize,
        /// The limit.
        limit: usize,
    },
    /// A source exists and cannot be read.
    #[error("cannot read `{file}`")]
    Source {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: SourceError,
    },
    /// The frontmatter block is broken.
    #[error("frontmatter, line {line}: {message}")]
    Frontmatter {
        /// The line, from 1.
        line: u32,
        /// What is wrong.
        message: String,
    },
    /// The compiler itself failed: a bug of ours or of its crates, or no memory for a thread.
    #[error("cannot compile `{file}`: {message}")]
    Internal {
        /// The file.
        file: String,
        /// What happened.
        message: String,
    },
}

impl ScriptError {
    /// Returns the whole report: the error, then each place with its line and a caret.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        match self {
            Self::Syntax { file, excerpt, more, .. } => {
                append(&mut text, excerpt);
                for problem in more {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\n`{file}:{}:{}`: {}", problem.line, problem.column, problem.message);
                    append(&mut text, &problem.excerpt);
                }
            }
            Self::Refused { at, .. }
            | Self::Import { at, .. }
            | Self::Missing { at, .. }
            | Self::Export { at, .. }
            | Self::Nesting { at, .. } => append(&mut text, &at.excerpt),
            Self::Package { problem, .. } => {
                let report = problem.report();
                append(&mut text, report.split_once('\n').map_or("", |(_, excerpt)| excerpt));
            }
            _ => {}
        }
        text
    }
}

fn append(text: &mut String, excerpt: &str) {
    if !excerpt.is_empty() {
        text.push('\n');
        text.push_str(excerpt);
    }
}

/// An error with its cause, in one line.
fn whole(error: &ScriptError) -> String {
    match error {
        ScriptError::Source { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

fn imported_by(chain: &[String]) -> String {
    if chain.is_empty() { String::new() } else { format!("; imported by {}", backticked(chain).replace(", ", " ← ")) }
}

fn backticked(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
