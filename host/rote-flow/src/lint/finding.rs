//! One finding: what, how bad, where, and the way out.

use std::fmt;

use serde::Serialize;

/// How bad it is. Errors keep a flow from being released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot work, or must not leave this machine.
    Error,
    /// It may fail, or is less useful than it could be.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Position {
    /// In the frontmatter.
    Frontmatter {
        /// JSON pointer (RFC 6901).
        pointer: String,
    },
    /// In the plan.
    Plan {
        /// JSON pointer (RFC 6901).
        pointer: String,
    },
    /// In a script.
    Script {
        /// The source file, or the bundle when the source map does not say.
        source: String,
        /// The line, from 1.
        line: u32,
    },
    /// The component as a whole.
    Component,
    /// What a replay did.
    Run,
}

impl Position {
    /// A place in the frontmatter.
    pub(crate) fn frontmatter(pointer: impl Into<String>) -> Self {
        Self::Frontmatter { pointer: pointer.into() }
    }

    /// A place in the plan.
    pub(crate) fn plan(pointer: impl Into<String>) -> Self {
        Self::Plan { pointer: pointer.into() }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frontmatter { pointer } => write!(f, "frontmatter{pointer}"),
            Self::Plan { pointer } => write!(f, "plan{pointer}"),
            Self::Script { source, line } => write!(f, "{source}:{line}"),
            Self::Component => f.write_str("component"),
            Self::Run => f.write_str("replay"),
        }
    }
}

/// The way out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fix {
    Command(String),
    /// What to write where.
    Edit(String),
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(text) | Self::Edit(text) => f.write_str(text),
        }
    }
}

/// One thing that lint found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A code of [`crate::LINT_CODES`].
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub position: Position,
    /// What it is, one line.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Finding {
    fn new(code: &'static str, severity: Severity, position: Position, message: String) -> Self {
        Self { code, severity, position, message, fix: None }
    }

    pub(crate) fn error(code: &'static str, position: Position, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, position, message.into())
    }

    pub(crate) fn warning(code: &'static str, position: Position, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, position, message.into())
    }

    pub(crate) fn note(code: &'static str, position: Position, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, position, message.into())
    }

    /// Adds the command that mends it.
    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        self.fix = Some(Fix::Command(command.into()));
        self
    }

    /// Adds the edit that mends it.
    pub(crate) fn edit(mut self, edit: impl Into<String>) -> Self {
        self.fix = Some(Fix::Edit(edit.into()));
        self
    }
}

/// Findings as they are made.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub(crate) fn push(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    /// Whether there is one of this code.
    pub(crate) fn has(&self, code: &str) -> bool {
        self.count(code) > 0
    }

    /// How many there are of this code.
    pub(crate) fn count(&self, code: &str) -> usize {
        self.0.iter().filter(|finding| finding.code == code).count()
    }

    /// All of them, the worst first, by code and place.
    pub(crate) fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by(|one, other| {
            let key = |finding: &Finding| (finding.severity, finding.code);
            key(one).cmp(&key(other)).then_with(|| one.position.cmp(&other.position))
        });
        self.0.dedup();
        self.0
    }
}
