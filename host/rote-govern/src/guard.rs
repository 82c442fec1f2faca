//! The write guard: what may happen to a call, from its method, its hints and the policy.
//!
//! Invariants: pure; a verdict is one of four ordered words and two verdicts are combined by `max`, so a
//! further rule can only tighten. [`guard`] allocates nothing; sentences are built by [`impact`] on demand.

use std::fmt;

use rote_types::{Method, SensitivityTier, ToolHints};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{List, Policy};

/// What may happen to a call; a greater verdict is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It happens.
    #[default]
    Allow,
    /// It happens and the audit says so.
    Audit,
    /// It happens after a person has confirmed it.
    Confirm,
    /// It does not happen.
    Deny,
}

impl Verdict {
    /// Returns the word in the audit and in machine output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Audit => "audit",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a call can break: method, tier of the data and the tool's own warning (rote.md §8 row 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Nothing is changed and nothing personal is read.
    Low,
    /// Something is added or changed, or highly sensitive data is read.
    Medium,
    /// Something is replaced or removed.
    High,
    /// Highly sensitive data is replaced or removed.
    Critical,
}

impl Risk {
    /// Returns the word in the audit and in machine output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What the guard has to know of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFacts<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its toolset.
    pub toolset: &'t str,
    /// Its method.
    pub method: Method,
    /// What it says of itself.
    pub hints: ToolHints,
    /// How sensitive the adapter's data is.
    pub tier: SensitivityTier,
}

/// The rule that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// An entry of one of the policy's lists.
    Listed(List),
    /// The method's default.
    Method,
    /// The tool's own hints (tools without a method).
    Hints,
    /// The tool's name, for want of hints (tools without a method).
    Name,
}

impl Rule {
    /// Returns the rule's name as it stands in refusals and in the audit.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Listed(list) => list.key(),
            Self::Method => "write_guard.method",
            Self::Hints => "write_guard.hints",
            Self::Name => "write_guard.name",
        }
    }
}

/// What the guard says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// What decided.
    pub rule: Rule,
    /// The rule in words.
    pub reason: &'static str,
    /// How much the call can break.
    pub risk: Risk,
}

/// Decides about one call: deny, confirm and safe lists first, then the method, or the hints of a tool
/// that has none.
#[must_use]
pub fn guard(policy: &Policy, tool: &ToolFacts<'_>) -> GuardDecision {
    let (verdict, rule, reason) = match policy.list_of(tool.name, tool.toolset) {
        Some(list @ List::Deny) => (Verdict::Deny, Rule::Listed(list), "the policy denies this tool"),
        Some(list @ List::Confirm) => {
            (Verdict::Confirm, Rule::Listed(list), "the policy wants this tool confirmed each time")
        }
        Some(list @ List::Safe) => (Verdict::Allow, Rule::Listed(list), "the policy lists this tool as safe"),
        None => by_method(tool),
    };
    GuardDecision { verdict, rule, reason, risk: risk(tool) }
}

fn by_method(tool: &ToolFacts<'_>) -> (Verdict, Rule, &'static str) {
    match tool.method {
        Method::Get | Method::Head | Method::Options | Method::Trace => {
            (Verdict::Allow, Rule::Method, "the method reads (RFC 9110 §9.2.1)")
        }
        Method::Post => (Verdict::Audit, Rule::Method, "`POST` is audited"),
        Method::Patch => (Verdict::Audit, Rule::Method, "`PATCH` is audited"),
        Method::Put => (Verdict::Confirm, Rule::Method, "`PUT` replaces and needs confirmation"),
        Method::Delete => (Verdict::Confirm, Rule::Method, "`DELETE` removes and needs confirmation"),
        Method::Mcp => by_hints(tool),
    }
}

fn by_hints(tool: &ToolFacts<'_>) -> (Verdict, Rule, &'static str) {
    // A tool that calls itself both harmless and destructive is treated as destructive.
    if tool.hints.destructive_hint {
        return (Verdict::Confirm, Rule::Hints, "the tool says that it may destroy something");
    }
    if tool.hints.read_only_hint {
        return (Verdict::Allow, Rule::Hints, "the tool says that it only reads");
    }
    if ["get", "list", "search", "read"].iter().any(|verb| tool.name.starts_with(verb)) {
        return (Verdict::Audit, Rule::Name, "the tool gives no hints; its name says that it reads");
    }
    (Verdict::Confirm, Rule::Name, "the tool gives no hints and its name does not say that it reads")
}

fn risk(tool: &ToolFacts<'_>) -> Risk {
    let reads = tool.method.is_read() || (tool.method == Method::Mcp && tool.hints.read_only_hint);
    let removes = matches!(tool.method, Method::Put | Method::Delete) || tool.hints.destructive_hint;
    let sensitive = tool.tier == SensitivityTier::High;
    match (reads && !removes, removes, sensitive) {
        (true, _, false) => Risk::Low,
        (true, _, true) | (false, false, false) => Risk::Medium,
        (false, true, true) => Risk::Critical,
        (false, _, _) => Risk::High,
    }
}

/// Most characters of one argument in an impact sentence.
const IMPACT_VALUE: usize = 40;
/// Most arguments in an impact sentence.
const IMPACT_ARGUMENTS: usize = 4;

/// Says in one sentence what a call would do: the verb, the path and the arguments that name its object.
#[must_use]
pub fn impact(method: Method, tool: &str, path: &str, arguments: &Value) -> String {
    let verb = match method {
        Method::Get | Method::Head | Method::Options | Method::Trace => "reads",
        Method::Post => "creates or acts on",
        Method::Patch => "changes",
        Method::Put => "replaces",
        Method::Delete => "deletes",
        Method::Mcp => "runs",
    };
    let object = if path.is_empty() { tool } else { path };
    let mut sentence = format!("{verb} `{object}`");
    let Value::Object(given) = arguments else {
        return sentence;
    };
    // The parameters of the path say which object; the others only when there are none.
    let in_path = |name: &str| path.contains(&format!("{{{name}}}"));
    let keys: Vec<_> = given.iter().filter(|(name, _)| in_path(name)).collect();
    let shown: Vec<_> = if keys.is_empty() { given.iter().collect() } else { keys };
    for (place, (name, value)) in shown.iter().take(IMPACT_ARGUMENTS).enumerate() {
        let lead = if place == 0 { " with " } else { ", " };
        sentence.push_str(&format!("{lead}`{name}` = {}", short(value)));
    }
    if shown.len() > IMPACT_ARGUMENTS {
        sentence.push_str(&format!(" and {} more", shown.len() - IMPACT_ARGUMENTS));
    }
    sentence
}

/// A value as JSON, cut, without characters that a terminal would act on.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let mut kept: String = text.chars().filter(|c| !c.is_control()).take(IMPACT_VALUE).collect();
    if text.chars().nth(IMPACT_VALUE).is_some() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts(method: Method) -> ToolFacts<'static> {
        ToolFacts {
            name: "things/do",
            toolset: "things",
            method,
            hints: ToolHints::default(),
            tier: SensitivityTier::Low,
        }
    }

    #[test]
    fn each_method_has_its_verdict() {
        let cases = [
            (Method::Get, Verdict::Allow, Risk::Low),
            (Method::Head, Verdict::Allow, Risk::Low),
            (Method::Options, Verdict::Allow, Risk::Low),
            (Method::Trace, Verdict::Allow, Risk::Low),
            (Method::Post, Verdict::Audit, Risk::Medium),
            (Method::Patch, Verdict::Audit, Risk::Medium),
            (Method::Put, Verdict::Confirm, Risk::High),
            (Method::Delete, Verdict::Confirm, Risk::High),
            (Method::Mcp, Verdict::Confirm, Risk::Medium),
        ];
        for (method, verdict, risk) in cases {
            let decision = guard(&Policy::default(), &facts(method));
            assert_eq!((decision.verdict, decision.risk), (verdict, risk), "{method}");
        }
    }

    #[test]
    fn tools_without_a_method_are_judged_by_their_hints_and_names() {
        let judge = |name, read_only_hint, destructive_hint| {
            let hints = ToolHints { read_only_hint, destructive_hint, idempotent_hint: false };
            guard(&Policy::default(), &ToolFacts { name, hints, ..facts(Method::Mcp) }).verdict
        };
        assert_eq!(judge("x", true, false), Verdict::Allow);
        assert_eq!(judge("x", false, true), Verdict::Confirm);
        assert_eq!(judge("get_x", true, true), Verdict::Confirm);
        assert_eq!(judge("search_x", false, false), Verdict::Audit);
        assert_eq!(judge("x", false, false), Verdict::Confirm);
    }

    #[test]
    fn a_listed_tool_follows_its_list() {
        let policy = |list: &str| {
            let text = format!(r#"{{"version":1,"{list}":["things/*"]}}"#);
            Policy::parse(text.as_bytes(), "p").unwrap()
        };
        for (list, verdict) in
            [("deny_list", Verdict::Deny), ("confirm_list", Verdict::Confirm), ("safe_list", Verdict::Allow)]
        {
            for method in [Method::Get, Method::Delete] {
                let decision = guard(&policy(list), &facts(method));
                assert_eq!(decision.verdict, verdict);
                assert_eq!(decision.rule.as_str(), list);
            }
        }
    }

    #[test]
    fn risk_grows_with_the_tier_and_with_a_destructive_hint() {
        let judge = |method, tier, destructive_hint| {
            let hints = ToolHints { destructive_hint, ..ToolHints::default() };
            guard(&Policy::default(), &ToolFacts { hints, tier, ..facts(method) }).risk
        };
        assert_eq!(judge(Method::Get, SensitivityTier::High, false), Risk::Medium);
        assert_eq!(judge(Method::Post, SensitivityTier::High, false), Risk::High);
        assert_eq!(judge(Method::Post, SensitivityTier::Low, true), Risk::High);
        assert_eq!(judge(Method::Delete, SensitivityTier::High, false), Risk::Critical);
    }

    #[test]
    fn verdicts_are_ordered_from_loose_to_strict() {
        assert!(
            Verdict::Allow < Verdict::Audit && Verdict::Audit < Verdict::Confirm && Verdict::Confirm < Verdict::Deny
        );
    }

    #[test]
    fn an_impact_names_the_object_and_stays_short() {
        let text = impact(Method::Delete, "pets/remove", "/pets/{id}", &json!({"x": 1, "id": "7"}));
        assert_eq!(text, "deletes `/pets/{id}` with `id` = \"7\"");
        let long = impact(Method::Post, "t", "/t", &json!({"a": "x".repeat(500), "b": "\u{1b}]52;c"}));
        assert!(long.chars().count() < 120 && !long.contains('\u{1b}'), "{long}");
    }
}
