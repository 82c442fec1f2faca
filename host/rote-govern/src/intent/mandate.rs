//! The mandate of a call: what it is made for, and what the gate's stages make of that.
//!
//! Invariant: a mandate only tightens. Where no project asks for one, nothing is said; where one does, a write without an intent
//! in progress is refused, and so is one outside of what that intent owns.

use std::fmt;
use std::sync::Arc;

use rote_types::{Classify, ErrorKind, command};
use serde_json::{Value, json};

use super::scope::Standing;
use super::{Intent, IntentStatus, IntentsError, Target, select};
use crate::Verdict;

/// What a call is made for.
#[derive(Debug, Clone, Default)]
pub enum Mandate {
    /// No project asks.
    #[default]
    Free,
    /// This intent of the file at this path, which is in progress.
    Of(Arc<Intent>, Arc<str>),
    /// A project asks, and nothing may be changed.
    Refused(Box<IntentRefusal>),
}

/// Says what a call is made for, at the time of each write: a person may stop the work meanwhile.
#[derive(Clone, Default)]
pub struct MandateSource(Option<Arc<dyn Fn() -> Mandate + Send + Sync>>);

impl MandateSource {
    /// Returns one that asks so.
    #[must_use]
    pub fn new(ask: impl Fn() -> Mandate + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// Returns the mandate now.
    #[must_use]
    pub fn now(&self) -> Mandate {
        self.0.as_ref().map_or(Mandate::Free, |ask| ask())
    }
}

impl fmt::Debug for MandateSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("MandateSource").field(&self.0.is_some()).finish()
    }
}

/// Why a project lets nothing be changed, by the codes of the hooks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntentRefusal {
    /// Nobody said what the work is for.
    #[error("`{path}` asks for an intent before anything is changed, and none is selected")]
    Required {
        /// The file of intents.
        path: String,
    },
    /// There is no such intent.
    #[error("there is no intent `{id}` in `{path}`{}", listed(known))]
    NotFound {
        id: String,
        /// The file of intents.
        path: String,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// The intent is not in progress.
    #[error(
        "intent `{id}` is {status} (`{path}` line {line}), and only one that is IN_PROGRESS lets anything be changed"
    )]
    NotActive {
        id: String,
        status: IntentStatus,
        /// The file of intents.
        path: String,
        /// Where it stands there.
        line: u64,
    },
    /// The intent does not own what would be changed.
    #[error("`{target}` is outside of what intent `{id}` owns{}", told(path, *line, entry.as_deref()))]
    Scope {
        id: String,
        /// What would be changed.
        target: String,
        /// What the intent owns.
        owned_scope: Vec<String>,
        /// The file of intents.
        path: String,
        /// The line that decided: of the exclusion, or of the intent.
        line: u64,
        /// The exclusion that decided.
        entry: Option<String>,
    },
    /// The file cannot be understood.
    #[error(transparent)]
    Unreadable(IntentsError),
}

fn listed(known: &[String]) -> String {
    /// More would hide the rest of the message.
    const SHOWN: usize = 10;
    match known {
        [] => ", which has none".to_owned(),
        known => {
            let shown = known.iter().take(SHOWN).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
            format!("; there are {shown}{}", if known.len() > SHOWN { ", …" } else { "" })
        }
    }
}

fn told(path: &str, line: u64, entry: Option<&str>) -> String {
    let excluded = entry.map(|entry| format!(": it is excluded by `{entry}`")).unwrap_or_default();
    format!("{excluded} (`{path}` line {line})")
}

impl IntentRefusal {
    /// Returns the code, which is the rule in the journal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Required { .. } => "INTENT_REQUIRED",
            Self::NotFound { .. } => "INTENT_NOT_FOUND",
            Self::NotActive { .. } => "INTENT_NOT_ACTIVE",
            Self::Scope { .. } => "SCOPE_VIOLATION",
            Self::Unreadable(_) => "INTENTS_UNREADABLE",
        }
    }
}

impl Classify for IntentRefusal {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Denied,
        }
    }

    fn hint(&self) -> Option<String> {
        let list = || command("rote intent ls").to_string();
        match self {
            Self::Required { .. } => {
                let list = command("rote intent ls").note("what there is");
                let select = command("rote intent select").plain("ID").note("works on it from now on");
                Some(format!("{list}\n{select}"))
            }
            Self::NotFound { .. } => Some(list()),
            Self::NotActive { id, status: IntentStatus::Pending | IntentStatus::Blocked, .. } => Some(select(id)),
            Self::NotActive { .. } => Some(list()),
            // An exclusion is a person's word, and wins over each entry.
            Self::Scope { entry: Some(_), id, .. } => Some(command("rote intent show").argument(id).into()),
            Self::Scope { id, target, .. } => {
                let expand = command("rote intent expand").argument(id).argument(format!("tool:{target}"));
                Some(expand.note("asks a person to let the intent own it").into())
            }
            Self::Unreadable(error) => error.hint(),
        }
    }

    fn details(&self) -> Option<Value> {
        let code = self.code();
        Some(match self {
            Self::Required { path } => json!({ "rule": code, "path": path }),
            Self::NotFound { id, path, known } => {
                json!({ "rule": code, "intent_id": id, "path": path, "known": known })
            }
            Self::NotActive { id, status, path, line } => {
                json!({ "rule": code, "intent_id": id, "status": status, "path": path, "line": line })
            }
            Self::Scope { id, target, owned_scope, path, line, entry } => json!({
                "rule": code, "intent_id": id, "target": target, "owned_scope": owned_scope, "path": path,
                "line": line, "entry": entry
            }),
            Self::Unreadable(error) => json!({ "rule": code, "path": error.path, "line": error.line }),
        })
    }
}

impl Mandate {
    /// Returns the id of the intent, where there is one.
    #[must_use]
    pub fn intent(&self) -> Option<&str> {
        match self {
            Self::Of(intent, _) => Some(&intent.id),
            Self::Free | Self::Refused(_) => None,
        }
    }

    /// Whether there is somebody who says what a write is for.
    ///
    /// # Errors
    /// A project asks, and nobody does.
    pub fn given(&self) -> Result<(), IntentRefusal> {
        match self {
            Self::Refused(refusal) => Err((**refusal).clone()),
            Self::Free | Self::Of(..) => Ok(()),
        }
    }

    /// Returns what the scope says of a write: nothing against it, or that a person confirms it where only files are named.
    ///
    /// # Errors
    /// [`IntentRefusal::Scope`].
    pub fn covers(&self, target: &Target<'_>) -> Result<(Verdict, String), IntentRefusal> {
        let Self::Of(intent, path) = self else {
            return Ok((Verdict::Allow, "no intent limits it".to_owned()));
        };
        let (entry, line) = match intent.scope.standing(target) {
            Standing::Inside(entry) => {
                return Ok((Verdict::Allow, format!("intent `{}` owns it by `{entry}`", intent.id)));
            }
            Standing::Open => {
                return Ok((Verdict::Allow, format!("whether intent `{}` owns it says its address", intent.id)));
            }
            Standing::Unnamed => {
                let said =
                    format!("the scope of intent `{}` names files only, so a person confirms each write", intent.id);
                return Ok((Verdict::Confirm, said));
            }
            Standing::Excluded(entry, line) => (Some(entry.to_owned()), line),
            Standing::Outside => (None, intent.line),
        };
        Err(IntentRefusal::Scope {
            id: intent.id.clone(),
            target: format!("{}.{}", target.adapter, target.tool),
            owned_scope: intent.scope.entries().map(str::to_owned).collect(),
            path: path.to_string(),
            line,
            entry,
        })
    }
}
