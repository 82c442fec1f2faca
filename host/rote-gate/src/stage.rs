//! The stages of admission, in order, each a small function over what is known so far.
//!
//! Invariants: a stage looks and does not act; it can only tighten, and the verdicts are combined by `max`;
//! the one exception is the grant, which lowers a `Confirm` of the write guard and nothing else. Stages that
//! this version has no rules for are here by name and always pass.

use std::borrow::Cow;
use std::sync::Arc;

use rote_govern::egress::{Route, address_verdict};
use rote_govern::reach::{bases, mapped, origin};
use rote_govern::{GuardDecision, Policy, Redactor, Rule, ToolFacts, Verdict, guard, impact, tool_digest};
use rote_types::command;

use crate::invocation::{ClaimedRequest, Invocation};
use crate::request::{Outgoing, normalise};
use crate::{GateError, StageVerdict};

/// What the stages have found out.
pub(crate) struct Admission<'i> {
    pub(crate) invocation: &'i Invocation,
    pub(crate) claimed: &'i ClaimedRequest,
    pub(crate) route: Option<Route>,
    pub(crate) outgoing: Option<Outgoing>,
    pub(crate) guard: GuardDecision,
    pub(crate) impact: String,
    pub(crate) stages: Vec<StageVerdict>,
    /// The error of the first stage that denied.
    pub(crate) failure: Option<GateError>,
    /// What lowers the guard's `Confirm`.
    pub(crate) grant: Option<Grant>,
    /// Masks what is written or shown of the call.
    pub(crate) redactor: Arc<Redactor>,
}

/// What a person gave beforehand; it is used up with the start of the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grant {
    /// The flow's blessing covers the call.
    Blessing,
    /// A confirm token was presented.
    Token,
}

type Stage = fn(&mut Admission<'_>) -> StageVerdict;

/// In this order. What follows the grant (journal, effect, record) is in `gate`.
const STAGES: [Stage; 8] = [normalised, fingerprint, hard_floor, intent, scope, optimistic_lock, write_guard, grant];

impl<'i> Admission<'i> {
    /// Runs every stage; a denial does not hide what the later ones say.
    pub(crate) fn run(invocation: &'i Invocation, claimed: &'i ClaimedRequest, redactor: Arc<Redactor>) -> Self {
        let tool = &invocation.tool;
        let facts = ToolFacts {
            name: &tool.name,
            toolset: &tool.toolset,
            method: tool.method,
            access: tool.access,
            raised_by: tool.raised_by(&invocation.arguments),
            tier: invocation.adapter.sensitivity_tier,
        };
        let decision = match invocation.policy.as_ref() {
            Ok(policy) => guard(policy, &facts),
            // The hard floor denies; this is for the risk and the method's own verdict only.
            Err(_) => guard(&Policy::default(), &facts),
        };
        let masked = redactor.value(&invocation.arguments);
        let arguments = masked.as_ref().unwrap_or(&invocation.arguments);
        let mut admission = Self {
            invocation,
            claimed,
            route: None,
            outgoing: None,
            guard: decision,
            impact: impact(&facts, &tool.path, arguments),
            stages: Vec::with_capacity(STAGES.len()),
            failure: None,
            grant: None,
            redactor,
        };
        for stage in STAGES {
            let verdict = stage(&mut admission);
            admission.stages.push(verdict);
        }
        admission
    }

    /// The strictest verdict of all stages, with a guard's `Confirm` lowered by a grant.
    pub(crate) fn verdict(&self) -> Verdict {
        let lowered = |stage: &StageVerdict| match stage.verdict {
            Verdict::Confirm if self.grant.is_some() && stage.stage == "write_guard" => Verdict::Audit,
            verdict => verdict,
        };
        self.stages.iter().map(lowered).max().unwrap_or(Verdict::Deny)
    }

    /// The stage that decided: the first of the strictest.
    pub(crate) fn decisive(&self) -> Option<&StageVerdict> {
        let strictest = self.stages.iter().map(|stage| stage.verdict).max()?;
        match strictest {
            Verdict::Deny => self.stages.iter().find(|stage| stage.verdict == strictest),
            Verdict::Confirm if self.grant == Some(Grant::Blessing) => {
                self.stages.iter().find(|stage| stage.stage == "grant")
            }
            _ => self.stages.iter().find(|stage| stage.stage == "write_guard"),
        }
    }

    fn deny(&mut self, stage: &'static str, rule: String, error: GateError) -> StageVerdict {
        let message = Cow::Owned(error.to_string());
        self.failure.get_or_insert(error);
        StageVerdict { stage, verdict: Verdict::Deny, rule: Cow::Owned(rule), message }
    }
}

/// Whether the tool changes something.
pub(crate) fn writes(invocation: &Invocation) -> bool {
    invocation.tool.access.changes()
}

fn pass(stage: &'static str, message: impl Into<Cow<'static, str>>) -> StageVerdict {
    StageVerdict { stage, verdict: Verdict::Allow, rule: Cow::Borrowed(stage), message: message.into() }
}

/// Reads the claim, matches it against the tool's own route and, where the host is an address, the table.
fn normalised(admission: &mut Admission<'_>) -> StageVerdict {
    const STAGE: &str = "normalise";
    let invocation = admission.invocation;
    let (adapter, tool) = (&invocation.adapter, &invocation.tool);
    let egress = |refusal| GateError::Egress { refusal, adapter: Some(adapter.id.clone()) };
    let route = match bases(adapter, tool).and_then(|bases| Route::new(tool.method, &bases, &tool.path)) {
        Ok(route) => route,
        Err(refusal) => return admission.deny(STAGE, refusal.rule().to_owned(), egress(refusal)),
    };
    let claimed = match mapped(adapter, tool, &admission.claimed.url) {
        Cow::Borrowed(_) => Cow::Borrowed(admission.claimed),
        Cow::Owned(url) => Cow::Owned(ClaimedRequest { url, ..admission.claimed.clone() }),
    };
    let result = normalise(&claimed, tool, &route, &invocation.limits).map_err(|error| match error {
        GateError::Egress { refusal, .. } => egress(refusal),
        other => other,
    });
    admission.route = Some(route);
    let outgoing = match result {
        Ok(outgoing) => outgoing,
        Err(error) => return admission.deny(STAGE, rule_of(&error), error),
    };
    if let (Some(address), Ok(policy)) = (outgoing.target.literal(), invocation.policy.as_ref()) {
        let port = outgoing.target.port();
        if let Err(refusal) = address_verdict(address, policy.allowed_ranges(), port) {
            return admission.deny(STAGE, refusal.rule().to_owned(), egress(refusal));
        }
    }
    let message = match outgoing.dropped.as_slice() {
        [] => Cow::Borrowed("the request fits the tool's method and path"),
        dropped => Cow::Owned(format!("the request fits the tool; left out: {}", dropped.join(", "))),
    };
    admission.outgoing = Some(outgoing);
    pass(STAGE, message)
}

/// Compares what is installed with what was pinned, and the tool with the manifest.
fn fingerprint(admission: &mut Admission<'_>) -> StageVerdict {
    const STAGE: &str = "fingerprint";
    let invocation = admission.invocation;
    let (adapter, tool) = (&invocation.adapter, &invocation.tool);
    let mismatch = |subject: &str, expected: &str, installed: &str| GateError::FingerprintMismatch {
        adapter: adapter.id.clone(),
        subject: subject.to_owned(),
        expected: expected.to_owned(),
        installed: installed.to_owned(),
    };
    let digest = match tool_digest(tool) {
        Ok(digest) => digest,
        Err(error) => {
            let error = crate::request::refused("fingerprint", error.to_string());
            return admission.deny(STAGE, STAGE.to_owned(), error);
        }
    };
    let subject = format!("the digest of tool `{}`", tool.name);
    let listed = adapter.tool_digests.get(&tool.name);
    if listed != Some(&digest) {
        let error = mismatch(&subject, listed.map_or("absent", |listed| listed.0.as_str()), &digest.0);
        return admission.deny(STAGE, "fingerprint.tool".into(), error);
    }
    let Some(pin) = &invocation.pin else {
        return pass(STAGE, "the tool is the one in the manifest; nothing is pinned");
    };
    if pin.fingerprint != adapter.fingerprint {
        let error = mismatch("fingerprint", pin.fingerprint.as_str(), adapter.fingerprint.as_str());
        return admission.deny(STAGE, "fingerprint.adapter".into(), error);
    }
    if pin.tool_digest != digest {
        let error = mismatch(&subject, &pin.tool_digest.0, &digest.0);
        return admission.deny(STAGE, "fingerprint.tool".into(), error);
    }
    let target = admission.outgoing.as_ref().map(|outgoing| origin(outgoing.target.url().as_str()));
    if let (Some(now), Some(pinned)) = (target, &pin.goes_to)
        && !pinned.contains(&now)
    {
        let names: Vec<&str> = pinned.iter().map(String::as_str).collect();
        let pinned = if names.is_empty() { "nowhere".to_owned() } else { names.join("` or `") };
        let error = mismatch("where its requests go", &pinned, &now);
        return admission.deny(STAGE, "fingerprint.origin".into(), error);
    }
    pass(STAGE, "adapter and tool are the pinned ones")
}

/// What no grant can lift: an unreadable policy, the deny list.
fn hard_floor(admission: &mut Admission<'_>) -> StageVerdict {
    const STAGE: &str = "hard_floor";
    let invocation = admission.invocation;
    let policy = match invocation.policy.as_ref() {
        Ok(policy) => policy,
        Err(error) => {
            return admission.deny(STAGE, "policy.unreadable".into(), GateError::Policy(error.clone()));
        }
    };
    let Rule::Listed(list @ rote_govern::List::Deny) = admission.guard.rule else {
        return pass(STAGE, "the policy denies nothing here");
    };
    let tool = &invocation.tool;
    let entry = policy.entry(list, &tool.name, &tool.toolset).unwrap_or_default();
    let error = GateError::Denied {
        rule: list.key().to_owned(),
        message: format!("`{}` of adapter `{}` is denied by `{entry}` in {list}", tool.name, invocation.adapter.id),
        hint: Some(format!("remove `{entry}` from {list} in adapters/{}/config/policies.json", invocation.adapter.id)),
    };
    admission.deny(STAGE, list.key().to_owned(), error)
}

/// Work items and intents come with the orchestration issue; until then every call has the intent `CLI`.
fn intent(_: &mut Admission<'_>) -> StageVerdict {
    pass("intent", "no intent is required here")
}

/// A flow may write with the tools in its write permissions and with no other.
fn scope(admission: &mut Admission<'_>) -> StageVerdict {
    const STAGE: &str = "scope";
    let invocation = admission.invocation;
    let Some(flow) = &invocation.flow else {
        return pass(STAGE, "a person calls; the scope is the adapter");
    };
    if !writes(invocation) {
        return pass(STAGE, "reads are within every flow's scope");
    }
    let (adapter, tool) = (&invocation.adapter.id, &invocation.tool.name);
    let permitted = flow.write_permissions.iter().any(|one| one.adapter == *adapter && one.tool == *tool);
    if permitted {
        return pass(STAGE, "the tool is among the flow's write permissions");
    }
    let error = GateError::Denied {
        rule: "flow.write_permissions".into(),
        message: format!("flow `{}` may not write with `{tool}` of adapter `{adapter}`", flow.name),
        hint: Some(command("rote flow info").argument(&flow.name).into()),
    };
    admission.deny(STAGE, "flow.write_permissions".into(), error)
}

/// Files and entity tags come with the file effects; until then there is nothing to be stale.
fn optimistic_lock(_: &mut Admission<'_>) -> StageVerdict {
    pass("optimistic_lock", "nothing here can be stale")
}

/// The write guard's own verdict.
fn write_guard(admission: &mut Admission<'_>) -> StageVerdict {
    let decision = &admission.guard;
    StageVerdict {
        stage: "write_guard",
        verdict: decision.verdict,
        rule: Cow::Borrowed(decision.rule.as_str()),
        message: Cow::Borrowed(decision.reason),
    }
}

/// A blessing or a presented token may lower a `Confirm`; a token is judged when it is consumed.
fn grant(admission: &mut Admission<'_>) -> StageVerdict {
    const STAGE: &str = "grant";
    if admission.guard.verdict != Verdict::Confirm {
        return pass(STAGE, "no grant is needed");
    }
    if is_blessed(admission.invocation) {
        admission.grant = Some(Grant::Blessing);
        return StageVerdict {
            stage: STAGE,
            verdict: Verdict::Audit,
            rule: Cow::Borrowed("blessing"),
            message: Cow::Borrowed("a person blessed the flow for this call"),
        };
    }
    if admission.invocation.confirm.is_none() {
        return StageVerdict {
            stage: STAGE,
            verdict: Verdict::Confirm,
            rule: Cow::Borrowed("confirm_token"),
            message: Cow::Borrowed("a person has to confirm with a token"),
        };
    }
    admission.grant = Some(Grant::Token);
    StageVerdict {
        stage: STAGE,
        verdict: Verdict::Audit,
        rule: Cow::Borrowed("confirm_token"),
        message: Cow::Borrowed("a confirm token was presented; it is checked and used up with the start"),
    }
}

fn is_blessed(invocation: &Invocation) -> bool {
    let (adapter, tool) = (&invocation.adapter, &invocation.tool.name);
    let blessing = invocation.flow.as_ref().and_then(|flow| flow.blessing.as_ref());
    blessing.is_some_and(|one| one.permits(&adapter.id, tool, &invocation.trust(), &invocation.arguments))
}

/// The rule behind an error of the first stage.
pub(crate) fn rule_of(error: &GateError) -> String {
    match error {
        GateError::Denied { rule, .. } => rule.clone(),
        GateError::Egress { refusal, .. } => refusal.rule().to_owned(),
        GateError::Limit { .. } => "limit".to_owned(),
        GateError::BegunBefore { .. } => "begun_before".to_owned(),
        GateError::SameInDoubt { .. } => "same_in_doubt".to_owned(),
        GateError::Auth { .. } => "credential.missing".to_owned(),
        GateError::Unbound { .. } => "credential.unbound".to_owned(),
        GateError::Policy(_) => "policy.unreadable".to_owned(),
        _ => "normalise".to_owned(),
    }
}
