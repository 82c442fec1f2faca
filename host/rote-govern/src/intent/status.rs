//! How far an intent is, and what may follow what.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// How far an intent is. Only one in progress lets anything be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntentStatus {
    /// Nobody has begun.
    Pending,
    /// Somebody works on it.
    InProgress,
    /// A person has to say something first.
    Blocked,
    /// It is done.
    Completed,
    /// It is not worked on any more.
    Archived,
}

impl IntentStatus {
    const ALL: [Self; 5] = [Self::Pending, Self::InProgress, Self::Blocked, Self::Completed, Self::Archived];

    /// Returns the word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::InProgress => "IN_PROGRESS",
            Self::Blocked => "BLOCKED",
            Self::Completed => "COMPLETED",
            Self::Archived => "ARCHIVED",
        }
    }

    /// Whether this one may follow that one. What is completed or archived stays so.
    #[must_use]
    pub fn may_follow(self, before: Self) -> bool {
        match self {
            Self::Pending => false,
            Self::InProgress => matches!(before, Self::Pending | Self::Blocked),
            Self::Blocked | Self::Completed => before == Self::InProgress,
            Self::Archived => before != Self::Archived,
        }
    }
}

impl fmt::Display for IntentStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for IntentStatus {
    type Err = String;

    /// The words of the hooks, and those that their forks use for the same.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "PENDING" | "TODO" | "DRAFT" => Ok(Self::Pending),
            "IN_PROGRESS" | "ACTIVE" => Ok(Self::InProgress),
            "BLOCKED" => Ok(Self::Blocked),
            "COMPLETED" | "COMPLETE" | "DONE" => Ok(Self::Completed),
            "ARCHIVED" => Ok(Self::Archived),
            other => {
                let known = Self::ALL.map(Self::as_str).join(", ");
                Err(format!("`{other}` is not a status; there are {known}"))
            }
        }
    }
}
