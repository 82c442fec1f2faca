//! What is approved: the scope and the calls, and the hash over both.
//!
//! Invariants: every key of a scope is written, null where nothing was said, so that a key that is added later never widens
//! an old envelope; the hash is over bytes that are stored as they were hashed.

use std::collections::BTreeMap;

use rote_types::{Sha256Digest, sha256};
use serde_json::{Map, Value, json};

use crate::canonical::canonical;

/// The version of the scopes that rote writes: version 1 is the seed's, 2 adds what a call of rote rests on.
pub const SCOPE_VERSION: u64 = 2;
/// What an approval is for, in the seed's word.
const TOOLSET_MODE: &str = "require_write_approval";
/// The keys of version 1 that nothing is said of.
const UNUSED: [&str; 6] =
    ["allowed_paths", "max_cost_cents", "child_scope", "parent_envelope_id", "session_id", "scope_tags"];

/// One call, or one change of what rote may do.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// What is called, as `adapter/tool`; of a change its kind.
    pub tool_name: String,
    /// With which arguments, values of the vault masked.
    pub args: Value,
    /// Headers that a person added, values of the vault masked.
    pub headers: Vec<(String, String)>,
    /// SHA-256 of arguments and headers as they are sent.
    pub params: Sha256Digest,
}

impl PlannedCall {
    /// The call as it is stored; without headers it has the three members of the seed.
    fn to_json(&self, id: &str) -> Value {
        let mut call = json!({ "tool_call_id": id, "tool_name": self.tool_name, "args": self.args });
        if !self.headers.is_empty() {
            call["headers"] = json!(self.headers);
        }
        call
    }
}

/// What holds when something is approved, and has to hold when it is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// For whom: `workspace:<name>`, `flow:<name>`, or `policy` for a change of what rote may do.
    pub context: String,
    /// The home, absolute.
    pub root: String,
    /// The program that does it.
    pub agent: String,
    /// The intent that it is made for.
    pub intent: Option<String>,
    /// The surface of each adapter that is called.
    pub fingerprints: BTreeMap<String, String>,
    /// Digest of all that a person's word about each of these rests on.
    pub trust: BTreeMap<String, String>,
    /// In order.
    pub calls: Vec<PlannedCall>,
}

/// What an envelope gives a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue<'i> {
    pub(crate) ids: &'i [String],
    /// Seconds since 1970.
    pub(crate) issued_at: i64,
    pub(crate) expires_at: i64,
    /// Digest of what a person is told beside the calls.
    pub(crate) about: &'i str,
}

impl Plan {
    /// What tells one plan from another, whenever it is asked for.
    pub(crate) fn binding(&self) -> Sha256Digest {
        let issue = Issue { ids: &[], issued_at: 0, expires_at: 0, about: "" };
        let calls = self.calls.iter().map(|call| call.to_json("")).collect();
        sha256(format!("{}\n{}", self.scope(SCOPE_VERSION, &issue), canonical(&calls)).as_bytes())
    }

    /// The scope as it is stored. Version 1 has twelve keys, and nothing of what follows them.
    pub(crate) fn scope(&self, version: u64, issue: &Issue<'_>) -> String {
        let mut scope = Map::from_iter([
            ("work_item_id".to_owned(), json!(self.context)),
            ("scope_schema_version".to_owned(), json!(version)),
            ("tool_call_ids".to_owned(), json!(issue.ids)),
            ("workspace_root".to_owned(), json!(self.root)),
            ("agent_name".to_owned(), json!(self.agent)),
            ("toolset_mode".to_owned(), json!(TOOLSET_MODE)),
        ]);
        scope.extend(UNUSED.map(|key| (key.to_owned(), Value::Null)));
        if version >= SCOPE_VERSION {
            let digests: Vec<_> = self.calls.iter().map(|call| call.params.hex()).collect();
            scope.extend([
                ("intent_id".to_owned(), json!(self.intent)),
                ("fingerprints".to_owned(), json!(self.fingerprints)),
                ("params_sha256".to_owned(), json!(digests)),
                ("trust_sha256".to_owned(), json!(self.trust)),
                ("issued_at".to_owned(), json!(issue.issued_at)),
                ("expires_at".to_owned(), json!(issue.expires_at)),
                ("about_sha256".to_owned(), json!(issue.about)),
            ]);
        }
        canonical(&Value::Object(scope))
    }

    /// The calls as they are stored.
    pub(crate) fn tool_calls(&self, ids: &[String]) -> String {
        canonical(&ids.iter().zip(&self.calls).map(|(id, call)| call.to_json(id)).collect())
    }
}

/// The hash that is signed: over the canonical object that has both texts as its members.
pub(crate) fn plan_hash(scope: &str, tool_calls: &str) -> Sha256Digest {
    sha256(format!(r#"{{"scope":{scope},"tool_calls":{tool_calls}}}"#).as_bytes())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The plan of the vector in which the envelopes of the seed are given.
    pub(crate) fn vector() -> (Plan, [String; 2]) {
        let call = |tool: &str, args: Value| PlannedCall {
            tool_name: tool.to_owned(),
            args,
            headers: Vec::new(),
            params: sha256(b""),
        };
        let plan = Plan {
            context: "ctx-0001".to_owned(),
            root: "/tmp/ws".to_owned(),
            agent: "chat".to_owned(),
            intent: None,
            fingerprints: BTreeMap::new(),
            trust: BTreeMap::new(),
            calls: vec![
                call("write_file", json!({"path": "a.txt", "content": "héllo 😀\n"})),
                call("execute", json!({"command": "echo hi", "timeout": 30})),
            ],
        };
        (plan, ["call-1".to_owned(), "call-2".to_owned()])
    }

    #[test]
    fn the_hash_of_the_vector() {
        let (plan, ids) = vector();
        let issue = Issue { ids: &ids, issued_at: 5, expires_at: 6, about: "" };
        let hash = plan_hash(&plan.scope(1, &issue), &plan.tool_calls(&ids));
        assert_eq!(hash.hex(), "7ebfb1e0e8fe9be6325df1352250dab3b535dab05539d61d11374152c77c9f6a");
    }

    #[test]
    fn whatever_is_other_is_another_plan() {
        let (plan, _) = vector();
        let changes: [fn(&mut Plan); 9] = [
            |plan| plan.context.push('x'),
            |plan| plan.root.push('x'),
            |plan| plan.agent.push('x'),
            |plan| plan.intent = Some("INT-1".to_owned()),
            |plan| drop(plan.fingerprints.insert("a".to_owned(), "f".to_owned())),
            |plan| drop(plan.trust.insert("a".to_owned(), "f".to_owned())),
            |plan| plan.calls[0].args["path"] = json!("b.txt"),
            |plan| plan.calls[0].headers.push(("X-Reason".to_owned(), "x".to_owned())),
            |plan| plan.calls[0].params = sha256(b"other"),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut other = plan.clone();
            change(&mut other);
            assert_ne!(other.binding(), plan.binding(), "{number}");
            let issue = Issue { ids: &[], issued_at: 5, expires_at: 6, about: "" };
            let hash = |plan: &Plan| plan_hash(&plan.scope(2, &issue), &plan.tool_calls(&vector().1));
            assert_ne!(hash(&other), hash(&plan), "{number}");
        }
    }
}
