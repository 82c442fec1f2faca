//! What the gate writes to the journal: refusals, starts and outcomes.
//!
//! Invariants: a start is durable before the effect, on disk for a write; a token is used up in the same
//! transaction as the start that it is for; what the guard does not pass in silence is projected as well.

use std::time::Duration;

use jiff::Timestamp;
use rote_govern::audit::{
    CONFIRMATION_CONSUMED, CONFIRMATION_REQUESTED, Decision, EffectOutcome, EffectRecord, STARTED, is_guarded,
};
use rote_govern::{CONFIRM_LIFETIME, Redactor, Verdict, args_digest, confirm_token, token_hash};
use rote_home::{Durability, Event, NewEvent, NewToken, TokenBinding, TokenClaim};
use rote_types::{ConfirmScope, EffectId, ResponseId, TrustRoot};
use serde_json::{Value, json};

use crate::gate::GateParts;
use crate::invocation::Invocation;
use crate::stage::{Admission, Grant, writes};
use crate::{GateError, projection};

/// What the journal says of one effect.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) effect: EffectId,
    pub(crate) record: EffectRecord,
    pub(crate) writes: bool,
}

/// A minted token.
pub(crate) struct Minted {
    pub(crate) token: String,
    pub(crate) expires: Timestamp,
}

impl Entry {
    /// Describes the effect of an admitted (or refused) request.
    pub(crate) fn new(parts: &GateParts, admission: &Admission<'_>, response: ResponseId) -> Result<Self, GateError> {
        let invocation = admission.invocation;
        let tool = &invocation.tool;
        let arguments = args_digest(&invocation.arguments)
            .map_err(|error| crate::request::refused("arguments", error.to_string()))?;
        let decision = match admission.verdict() {
            Verdict::Deny => Decision::Deny,
            Verdict::Confirm => Decision::Confirm,
            _ if admission.grant == Some(Grant::Token) => Decision::Confirmed,
            Verdict::Audit => Decision::Audit,
            Verdict::Allow => Decision::Allow,
        };
        let (rule, reason) = admission
            .decisive()
            .map_or_else(Default::default, |stage| (stage.rule.to_string(), stage.message.to_string()));
        let mask = |text: String| crate::redaction::text(&admission.redactor, text);
        let url = admission.outgoing.as_ref().map_or_else(String::new, |outgoing| {
            let mut url = outgoing.target.url().clone();
            url.set_query(None);
            url.into()
        });
        let digest = invocation.adapter.tool_digests.get(&tool.name).cloned();
        let record = EffectRecord {
            adapter: invocation.adapter.id.clone(),
            tool: tool.name.clone(),
            method: tool.method,
            url: mask(url),
            writes: writes(invocation),
            decision,
            rule,
            reason: mask(reason),
            risk_level: admission.guard.risk,
            impact: admission.impact.clone(),
            dry_run: invocation.dry_run,
            flow: invocation.flow.as_ref().map(|flow| flow.name.clone()),
            workspace: invocation.workspace.identity().clone(),
            run: invocation.flow.as_ref().and_then(|flow| flow.root.id.clone()),
            response,
            fingerprint: invocation.adapter.fingerprint.clone(),
            tool_digest: digest.unwrap_or_else(|| rote_types::ToolDigest(String::new())),
            args_digest: arguments,
            credentials: Vec::new(),
            idempotency_key: None,
        };
        Ok(Self { effect: EffectId(parts.entropy.uuid()), record, writes: writes(invocation) })
    }

    /// Changes what was decided, for a refusal that comes after the stages.
    pub(crate) fn refuse(&mut self, rule: String, reason: &str, redactor: &Redactor) {
        self.record.decision = Decision::Deny;
        self.record.rule = rule;
        self.record.reason = redactor.text(reason).into_owned();
    }

    fn event(&self, kind: &'static str) -> NewEvent {
        NewEvent { kind, effect: Some(self.effect.clone()), body: body(&self.record) }
    }

    /// Writes that something did not happen, or only in words.
    pub(crate) fn note(&self, parts: &GateParts, kind: &'static str) -> Result<(), GateError> {
        let append = || -> Result<((), Vec<Event>), GateError> {
            let events = parts.journal.append(parts.clock.now(), Durability::Process, &[self.event(kind)])?;
            Ok(((), events))
        };
        match is_guarded(kind, self.record.decision) {
            true => projection::with_guard_log(&parts.home, &parts.journal, &self.record.adapter, append),
            false => append().map(drop),
        }
    }

    /// Writes that the effect is about to happen.
    pub(crate) fn start(&self, parts: &GateParts) -> Result<(), GateError> {
        let durability = if self.writes { Durability::Disk } else { Durability::Process };
        let append = || -> Result<((), Vec<Event>), GateError> {
            Ok(((), parts.journal.append(parts.clock.now(), durability, &[self.event(STARTED)])?))
        };
        match is_guarded(STARTED, self.record.decision) {
            true => projection::with_guard_log(&parts.home, &parts.journal, &self.record.adapter, append),
            false => append().map(drop),
        }
    }

    /// Uses a token up and writes that the effect is about to happen; returns why not when it is no good.
    pub(crate) fn start_confirmed(
        &self,
        parts: &GateParts,
        word: &Word,
        token: &str,
    ) -> Result<Option<String>, GateError> {
        let Some(hash) = token_hash(token) else {
            return Ok(Some("the confirm token is not 16 lower-case hex digits".to_owned()));
        };
        let claim = TokenClaim { hash, binding: self.binding(word) };
        let used = json!({
            "adapter": self.record.adapter, "tool": self.record.tool, "token_hash": hash, "scope": word.scope,
        });
        let used = NewEvent { kind: CONFIRMATION_CONSUMED, effect: Some(self.effect.clone()), body: used };
        let append = || -> Result<(Option<String>, Vec<Event>), GateError> {
            let now = parts.clock.now();
            match parts.journal.append_consuming(now, &claim, &[used, self.event(STARTED)])? {
                Ok(events) => Ok((None, events)),
                Err(refusal) => Ok((Some(refusal.to_string()), Vec::new())),
            }
        };
        let refused = projection::with_guard_log(&parts.home, &parts.journal, &self.record.adapter, append)?;
        self.project_tokens(parts);
        Ok(refused)
    }

    /// Mints a token for exactly this call and writes that it is wanted. Only its hash is kept.
    pub(crate) fn mint(&self, parts: &GateParts, word: &Word) -> Result<Minted, GateError> {
        let mut random = [0; 8];
        parts.entropy.fill(&mut random);
        let token = confirm_token(random);
        let hash = token_hash(&token).expect("a minted token is 16 hex digits");
        let created_at = parts.clock.now();
        let expires_at = created_at
            .checked_add(CONFIRM_LIFETIME)
            .map_err(|error| GateError::Setup { what: "the clock", message: error.to_string() })?;
        parts.journal.put_token(&NewToken { hash, binding: self.binding(word), created_at, expires_at })?;
        self.note(parts, CONFIRMATION_REQUESTED)?;
        self.project_tokens(parts);
        Ok(Minted { token, expires: expires_at })
    }

    fn project_tokens(&self, parts: &GateParts) {
        let adapter = &self.record.adapter;
        if let Err(error) = projection::write_nonces(&parts.home, &parts.journal, adapter, parts.clock.now()) {
            tracing::warn!(%adapter, %error, "the list of confirm tokens is behind the journal");
        }
    }

    fn binding(&self, word: &Word) -> TokenBinding {
        TokenBinding {
            adapter: self.record.adapter.clone(),
            trust: word.trust.clone(),
            tool: self.record.tool.clone(),
            arguments: self.record.args_digest,
            scope: word.scope.clone(),
        }
    }

    /// Writes how the effect ended.
    pub(crate) fn close(&self, parts: &GateParts, kind: &'static str, ending: &Ending) -> Result<(), GateError> {
        let outcome = EffectOutcome {
            adapter: self.record.adapter.clone(),
            tool: self.record.tool.clone(),
            workspace: self.record.workspace.clone(),
            response: self.record.response,
            status: ending.status,
            bytes: ending.bytes,
            error: ending.error.clone(),
            duration_ms: u64::try_from(ending.duration.as_millis()).unwrap_or(u64::MAX),
        };
        let event = NewEvent { kind, effect: Some(self.effect.clone()), body: body(&outcome) };
        parts.journal.append(parts.clock.now(), Durability::Process, &[event])?;
        Ok(())
    }
}

/// How an effect ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ending {
    pub(crate) status: Option<u16>,
    pub(crate) bytes: Option<u64>,
    pub(crate) error: Option<String>,
    pub(crate) duration: Duration,
}

/// What a confirm token rests on beyond the call itself.
pub(crate) struct Word {
    trust: TrustRoot,
    scope: ConfirmScope,
}

impl Word {
    /// A flow runs in a new workspace each time, so its tokens count in the flow instead.
    pub(crate) fn new(invocation: &Invocation) -> Self {
        let scope = match &invocation.flow {
            Some(flow) => ConfirmScope::Flow(flow.name.clone()),
            None => ConfirmScope::Workspace(invocation.workspace.name().clone()),
        };
        Self { trust: invocation.trust(), scope }
    }
}

fn body(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("audit records have string keys and finite numbers only")
}
