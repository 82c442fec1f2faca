//! One request for a person's word, as it is stored.

use jiff::Timestamp;
use rote_types::sha256;
use rusqlite::Row;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ApprovalId;
use crate::enrolment::Enrolment;
use crate::error::Problem;
use crate::plan::{Issue, Plan, SCOPE_VERSION, plan_hash};
use crate::signed::{Decision, Signed, Subject};

/// How far ahead of the clock a request may have been made, for clocks that are set to the right time (seed 004: 60 s).
const SKEW: i64 = 60;

/// What a request is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Calls of tools.
    Call,
    /// A change of what rote may do.
    Change,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Change => "change",
        }
    }
}

/// How a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nobody has said no, and it was not used; whether somebody said yes says its signature.
    Pending,
    Consumed,
    Expired,
    /// A person said no.
    Rejected,
}

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Consumed => "consumed",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }

    /// What is none of the others counts for nothing any more.
    fn read(text: &str) -> Self {
        [Self::Pending, Self::Consumed, Self::Rejected]
            .into_iter()
            .find(|state| state.as_str() == text)
            .unwrap_or(Self::Expired)
    }
}

/// What a person is told of a request beside its calls. Its digest is in the scope, so that nobody words it otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// It in one sentence.
    pub title: String,
    /// What is sent where, and with which credentials, by their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What asks for a person, where it is not the write guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What came of an earlier approval of the same, where it was used up and nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The command that goes on with the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// A stored request.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub id: ApprovalId,
    pub(crate) nonce: String,
    pub kind: String,
    /// What it holds for, and the calls, as they were hashed; and what was told of it, whose digest is in the first.
    hashed: (String, String),
    told: String,
    /// What it holds for.
    pub scope: Value,
    /// The calls: id, name, arguments.
    pub tool_calls: Value,
    /// The hash of both, in hex, as it is stored.
    pub plan_hash: String,
    pub(crate) key_id: String,
    pub(crate) signed: Option<Signed>,
    state: State,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub consumed_at: Option<Timestamp>,
    pub about: About,
    pub decided_by: Option<String>,
    /// The word with which somebody said no.
    pub denial: Option<String>,
}

/// The id of a call of a request; it is under the hash, so that no request goes by another name.
pub(crate) fn call_id(id: ApprovalId, number: usize) -> String {
    format!("{id}.{number}")
}

impl Envelope {
    /// How it stands at a time.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> State {
        let is_over = self.state == State::Pending && (self.in_time(now).is_err() || !self.is_whole());
        if is_over { State::Expired } else { self.state }
    }

    /// Whether somebody has signed it.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.signed.is_some()
    }

    /// The first digits of the plan's hash (the seed's eight).
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.plan_hash.get(..8).unwrap_or(&self.plan_hash)
    }

    /// Whether it can still be decided and used: a clock that was set back by more than a minute cannot tell.
    pub(crate) fn in_time(&self, now: Timestamp) -> Result<(), Problem> {
        let (issued, ends, now) = (self.issued_at.as_second(), self.expires_at.as_second(), now.as_second());
        if issued.saturating_sub(now) > SKEW {
            return Err(Problem::Ahead(self.issued_at));
        }
        // Strictly before: at the second of its end it is over.
        if ends > now { Ok(()) } else { Err(Problem::Expired(self.expires_at)) }
    }

    /// Why it is not pending, if it is not.
    pub(crate) fn pending(&self, now: Timestamp) -> Result<(), Problem> {
        match self.state {
            State::Pending => self.in_time(now),
            State::Consumed => Err(Problem::Consumed(self.consumed_at)),
            State::Expired => Err(Problem::Expired(self.expires_at)),
            State::Rejected => Err(Problem::Denied(self.denial.clone())),
        }
    }

    /// The ids of its calls, in order.
    pub(crate) fn ids(&self) -> Vec<String> {
        let calls = self.tool_calls.as_array().map(Vec::as_slice).unwrap_or_default();
        calls.iter().filter_map(|call| call["tool_call_id"].as_str().map(str::to_owned)).collect()
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { nonce: &self.nonce, plan_hash: &self.plan_hash, key_id: &self.key_id }
    }

    /// Whether it is what would be asked for: this plan, with these words, for that long.
    pub(crate) fn is_as_asked(&self, plan: &Plan, about: &About, lifetime: jiff::SignedDuration) -> bool {
        let words = |about: &About| (about.title.clone(), about.request.clone(), about.why.clone());
        self.fits(plan).is_ok()
            && words(&self.about) == words(about)
            && self.expires_at.as_second().saturating_sub(self.issued_at.as_second()) == lifetime.as_secs()
    }

    /// Whether what is stored is what was hashed: what a person is shown, and signs.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let own = |(number, id): (usize, String)| id == call_id(self.id, number);
        plan_hash(&self.hashed.0, &self.hashed.1).hex() == self.plan_hash
            && self.scope["about_sha256"] == sha256(self.told.as_bytes()).hex()
            && (1..).zip(self.ids()).all(own)
            && self.scope["issued_at"] == self.issued_at.as_second()
            && self.scope["expires_at"] == self.expires_at.as_second()
    }

    /// Checks everything about it but whether it was used, in the order of the seed; changes nothing. `decisions` are those
    /// that somebody hands in, else the signed ones. Returns what was decided.
    pub(crate) fn check(
        &self,
        enrolment: &Enrolment,
        live: &Plan,
        decisions: Option<&[Decision]>,
    ) -> Result<Vec<Decision>, Problem> {
        match self.state {
            State::Pending => {}
            State::Consumed => return Err(Problem::Consumed(self.consumed_at)),
            State::Expired => return Err(Problem::Expired(self.expires_at)),
            State::Rejected => return Err(Problem::Denied(self.denial.clone())),
        }
        let signed = self.signed.as_ref().ok_or(Problem::Undecided)?;
        let key = enrolment.known(&self.key_id).ok_or(Problem::UnknownKey)?;
        if *key != enrolment.active {
            // Whoever rotates a key lets go of what was asked under it.
            return Err(Problem::Expired(self.expires_at));
        }
        let decided = signed.decisions(&key.bytes, &self.subject())?;
        if decisions.is_some_and(|submitted| submitted != decided) {
            return Err(Problem::Bijection);
        }
        self.fits(live)?;
        let ids = self.ids();
        if decided.len() != ids.len() || decided.iter().zip(&ids).any(|(one, id)| one.tool_call_id != *id) {
            return Err(Problem::Bijection);
        }
        Ok(decided)
    }

    /// Compares what was approved with what would be done.
    pub(crate) fn fits(&self, live: &Plan) -> Result<(), Problem> {
        let version = self.scope["scope_schema_version"].as_u64().unwrap_or(0);
        if version != SCOPE_VERSION {
            return Err(Problem::ScopeVersion(version));
        }
        if !self.is_whole() {
            return Err(Problem::Drift("what is stored of it was changed".to_owned()));
        }
        let ids = self.ids();
        let about = self.scope["about_sha256"].as_str().unwrap_or_default();
        let (issued_at, expires_at) = (self.issued_at.as_second(), self.expires_at.as_second());
        let issue = Issue { ids: &ids, issued_at, expires_at, about };
        let (scope, calls) = (live.scope(version, &issue), live.tool_calls(&ids));
        if ids.len() == live.calls.len() && plan_hash(&scope, &calls).hex() == self.plan_hash {
            return Ok(());
        }
        Err(Problem::Drift(self.difference(&scope, &calls)))
    }

    /// The first thing that differs, in the words of the scope.
    fn difference(&self, scope: &str, calls: &str) -> String {
        let scope: Value = serde_json::from_str(scope).unwrap_or_default();
        let named = [
            ("params_sha256", "the arguments"),
            ("work_item_id", "the workspace or flow"),
            ("workspace_root", "the home"),
            ("agent_name", "the program"),
            ("intent_id", "the intent"),
            ("fingerprints", "the surface of the adapter"),
            ("trust_sha256", "where the adapter goes, with which credentials and policies"),
        ];
        let differs = named.into_iter().find(|(key, _)| self.scope[*key] != scope[*key]);
        match differs {
            Some(("params_sha256", _)) if self.hashed.1 == calls => {
                "the arguments as they are sent, or the file that they name, differ".to_owned()
            }
            Some((_, what)) => format!("{what} differ"),
            None if self.hashed.1 == calls => "what is stored of it was changed".to_owned(),
            None => "the calls differ".to_owned(),
        }
    }

    /// Reads a row; one that this code has not written is none.
    pub(crate) fn from_row(row: &Row<'_>) -> Result<Option<Self>, rusqlite::Error> {
        let text = |name: &str| row.get::<_, String>(name);
        let maybe = |name: &str| row.get::<_, Option<String>>(name);
        let time = |name: &str| row.get::<_, i64>(name).map(|second| Timestamp::from_second(second).ok());
        let id = text("envelope_id")?.parse().ok();
        let (scope, calls) = (text("scope_json")?, text("tool_calls_json")?);
        let (issued, expires) = (time("issued_at")?, time("expires_at")?);
        let consumed: Option<i64> = row.get("consumed_at")?;
        let signed = (maybe("signed_object_json")?, maybe("signature_hex")?);
        let told = text("about_json")?;
        let (nonce, kind, plan_hash, key_id) = (text("nonce")?, text("kind")?, text("plan_hash")?, text("key_id")?);
        let (state, decided_by, denial) = (State::read(&text("state")?), maybe("decided_by")?, maybe("denial")?);
        Ok((|| {
            let signed = match signed {
                (Some(object), Some(signature)) => Some(Signed { object, signature }),
                _ => None,
            };
            let hashed = (scope, calls);
            let (scope, tool_calls) = (serde_json::from_str(&hashed.0).ok()?, serde_json::from_str(&hashed.1).ok()?);
            let about = serde_json::from_str(&told).unwrap_or_default();
            let (issued_at, expires_at) = (issued?, expires?);
            let consumed_at = consumed.and_then(|second| Timestamp::from_second(second).ok());
            let (id, consumed_at) = (id?, consumed_at);
            let row = Self {
                id,
                nonce,
                kind,
                hashed,
                told,
                scope,
                tool_calls,
                plan_hash,
                key_id,
                signed,
                state,
                issued_at,
                expires_at,
                consumed_at,
                about,
                decided_by,
                denial,
            };
            Some(row)
        })())
    }
}
