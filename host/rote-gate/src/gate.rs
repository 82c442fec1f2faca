//! The gate: admission, start, effect, record, in this order and nowhere else.
//!
//! Invariants: `effect.started` is in the journal before the first byte leaves, and nothing leaves for a number that was
//! ended meanwhile; every call that has a number
//! ends with something recorded under it; a confirm token is used up only by a call that then starts; a dry
//! run ends before the start. What each stage decides is in `stage`, what leaves is in `egress`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rote_govern::audit::{DENIED, PREVIEWED};
use rote_govern::egress::origin_of;
use rote_govern::{Redactor, Verdict};
use rote_home::{Home, Journal};
use rote_types::{Classify, Clock, Entropy, ResponseId, ResponseRef, command};
use rote_vault::Vault;
use rote_workspace::{NewCall, RecordedOutcome, Recording, RequestRecord, meant_reference};

use crate::credential::{self, Choice, Source, Way};
use crate::egress::Egress;
use crate::flight::{Flight, Passage};
use crate::idempotency::{self, Key, Repeats};
use crate::invocation::{ClaimedRequest, Invocation};
use crate::journal::{Entry, Word};
use crate::redaction::{self, Redaction};
use crate::request::Outgoing;
use crate::stage::{Admission, Grant, rule_of};
use crate::{BodyPreview, Confirmation, Environment, GateError, Preview, Resolve, doubt};

/// Most bytes of a body in a preview.
const PREVIEW_BYTES: usize = 4 << 10;

/// What a gate is made of.
#[derive(Clone)]
pub struct GateParts {
    /// The home.
    pub home: Home,
    /// The journal.
    pub journal: Arc<Journal>,
    /// The token store.
    pub vault: Arc<Vault>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The environment, for tokens that the vault does not hold.
    pub env: Environment,
    /// Another resolver than the system's, for tests.
    pub resolver: Option<Arc<dyn Resolve>>,
}

/// The only way out. Shared by reference between calls; calls run at the same time.
pub struct Gate {
    pub(crate) parts: GateParts,
    pub(crate) egress: Egress,
    redaction: Arc<Redaction>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("home", &self.parts.home).finish_non_exhaustive()
    }
}

impl Gate {
    /// Makes a gate. Nothing is connected, resolved or loaded yet.
    ///
    /// # Errors
    /// None today; the signature leaves room for parts that can fail.
    pub fn new(parts: GateParts) -> Result<Self, GateError> {
        let egress = Egress::new(parts.resolver.clone());
        let redaction = Arc::new(Redaction::new(Arc::clone(&parts.vault), Arc::clone(&parts.env)));
        Ok(Self { parts, egress, redaction })
    }

    /// Returns what masks the values that nobody may see.
    #[must_use]
    pub fn redaction(&self) -> &Arc<Redaction> {
        &self.redaction
    }

    /// Passes one request of a call through all stages, sends it and records the answer.
    ///
    /// Dropping the future cancels the request; what is then recorded says so. A dry run leaves its
    /// description in the invocation and ends with [`GateError::Previewed`].
    ///
    /// # Errors
    /// See [`GateError`]: refusals before anything is sent, failures of the remote, and recorded answers
    /// with an error status or a redirect.
    pub async fn send(&self, invocation: &Invocation, claimed: ClaimedRequest) -> Result<ResponseRef, GateError> {
        let redactor = self.redaction.of(&invocation.adapter)?;
        let response = self.number(invocation, &redactor)?;
        let mut admission = Admission::run(invocation, &claimed, redactor);
        let mut entry = Entry::new(&self.parts, &admission, response)?;
        let prepared = self.prepare(&mut admission, &claimed);
        if invocation.dry_run {
            return Err(self.preview(&admission, entry, prepared));
        }
        let prepared = prepared.and_then(|(choice, outgoing)| match self.refuse_same(&admission, &entry) {
            Ok(()) => Ok((choice, outgoing)),
            Err(error) => Err(Box::new(Refused { error, choice })),
        });
        let (choice, mut outgoing) = match prepared {
            Ok(prepared) => prepared,
            Err(refused) => {
                let Refused { error, choice } = *refused;
                if admission.stages.iter().all(|stage| stage.verdict != Verdict::Deny) {
                    entry.refuse(rule_of(&error), &error.to_string(), &admission.redactor);
                }
                return Err(self.refuse(&admission, &entry, &choice, error));
            }
        };
        entry.record.credentials = choice.credentials.iter().map(|one| one.token.clone()).collect();
        let given = Key::give(&self.parts, &mut admission, &mut entry, &mut outgoing);
        let key = match given.and_then(|key| self.start(&admission, &entry).map(|()| key)) {
            Ok(key) => key,
            Err(error) => return Err(self.unsent(&admission, &entry, &choice, error)),
        };
        let again = key.as_ref().is_some_and(|key| key.again);
        let mut flight = Flight::take_off(&self.parts, &admission, entry, request_record(&admission, &choice), again);
        // An error drops the flight, which then says what is known.
        flight.hold()?;
        if let Some(key) = &key {
            key.replace(&self.parts, &mut flight)?;
        }
        let repeats = key.map(|key| Repeats::new(&self.parts, &flight, &admission.redactor, &key));
        let (departure, writes) = (flight.departure.clone(), flight.entry.writes);
        let passage = Passage {
            egress: &self.egress,
            way: way(&admission),
            plain: admission.outgoing.as_ref(),
            credentials: &choice.credentials,
            allowed: invocation.policy.as_ref().as_ref().map_or(&[], |policy| policy.allowed_ranges()),
            limits: &invocation.limits,
            departure: &departure,
            writes,
            repeats,
        };
        let result = passage.run(outgoing).await;
        flight.land(result)
    }

    /// The number under which this request is recorded: the call's own for the first, a new one for others.
    fn number(&self, invocation: &Invocation, redactor: &Redactor) -> Result<ResponseId, GateError> {
        if invocation.dry_run {
            return Ok(invocation.response);
        }
        let sent = invocation.sends.fetch_add(1, Ordering::Relaxed);
        if sent == 0 {
            return Ok(invocation.response);
        }
        if sent >= invocation.limits.sends {
            invocation.sends.store(invocation.limits.sends, Ordering::Relaxed);
            let what = format!("the number of requests of one call of `{}`", invocation.tool.name);
            return Err(GateError::Limit { what, limit: invocation.limits.sends.to_string() });
        }
        let arguments = redactor.value(&invocation.arguments).unwrap_or_else(|| invocation.arguments.clone());
        let (_, response) = invocation.workspace.begin_call(&NewCall {
            adapter: invocation.adapter.id.clone(),
            tool: invocation.tool.name.clone(),
            method: invocation.tool.method,
            access: invocation.tool.access,
            raw_arguments: arguments.clone(),
            arguments,
            uses: Vec::new(),
            flow: invocation.flow.as_ref().map(|flow| flow.name.clone()),
            at: self.parts.clock.now(),
        })?;
        Ok(response)
    }

    /// Chooses the credentials of an admitted request and adds them to a copy of it.
    fn prepare(
        &self,
        admission: &mut Admission<'_>,
        claimed: &ClaimedRequest,
    ) -> Result<(Choice, Outgoing), Box<Refused>> {
        let refused = |error| Box::new(Refused { error, choice: Choice::default() });
        let (adapter, tool) = (&admission.invocation.adapter, &admission.invocation.tool);
        let source = Source { vault: &self.parts.vault, env: &self.parts.env };
        let origin = match &admission.outgoing {
            Some(outgoing) => Some(outgoing.target.origin()),
            // It goes nowhere; the preview still says which credentials it would have carried.
            None => adapter.base_url.as_deref().and_then(|base| origin_of(base).ok()),
        };
        let chosen = credential::choose(&source, adapter, tool, &claimed.credentials, origin.as_deref());
        if let Some(error) = admission.failure.take() {
            return Err(Box::new(Refused { error, choice: chosen.unwrap_or_default() }));
        }
        let mut choice = chosen.map_err(refused)?;
        if let Some(error) = choice.missing.take() {
            return Err(Box::new(Refused { error, choice }));
        }
        let (Some(plain), Some(way)) = (&admission.outgoing, way(admission)) else {
            let error = crate::request::refused("normalise", "the request was not understood".to_owned());
            return Err(refused(error));
        };
        let mut outgoing = plain.clone();
        match credential::inject(&mut outgoing, &choice.credentials, &way) {
            Ok(()) => Ok((choice, outgoing)),
            Err(error) => Err(Box::new(Refused { error, choice })),
        }
    }

    /// Refuses a number that was begun before, and a write of which the same is in doubt.
    fn refuse_same(&self, admission: &Admission<'_>, entry: &Entry) -> Result<(), GateError> {
        doubt::refuse_begun(&self.parts.journal, &admission.invocation.workspace, entry.record.response)?;
        let call = (entry.record.response, entry.record.args_digest);
        match entry.writes {
            true => doubt::refuse_same(&self.parts, admission.invocation, call, &admission.redactor),
            false => Ok(()),
        }
    }

    /// Writes the start, using the confirm token up where one is needed.
    fn start(&self, admission: &Admission<'_>, entry: &Entry) -> Result<(), GateError> {
        if admission.guard.verdict != Verdict::Confirm || blessed(admission) {
            return entry.start(&self.parts);
        }
        let word = Word::new(admission.invocation);
        let refused = match &admission.invocation.confirm {
            None => void_blessing(admission.invocation),
            Some(token) => match entry.start_confirmed(&self.parts, &word, token)? {
                None => return Ok(()),
                refused => refused,
            },
        };
        let mut waiting = entry.clone();
        waiting.record.decision = rote_govern::audit::Decision::Confirm;
        let minted = waiting.mint(&self.parts, &word)?;
        let invocation = admission.invocation;
        let detail =
            Confirmation { impact: admission.impact.clone(), refused, command: repeat(admission, &minted.token) };
        Err(GateError::ConfirmationNeeded {
            adapter: invocation.adapter.id.clone(),
            tool: invocation.tool.name.clone(),
            token: minted.token,
            expires: minted.expires,
            detail: Box::new(detail),
        })
    }

    /// Journals and records a refusal; returns it.
    fn refuse(&self, admission: &Admission<'_>, entry: &Entry, choice: &Choice, error: GateError) -> GateError {
        if let Err(problem) = entry.note(&self.parts, DENIED) {
            tracing::warn!(error = %problem, "a refusal could not be journaled");
        }
        self.unsent(admission, entry, choice, error)
    }

    /// Records that nothing was sent, and why; returns the reason.
    fn unsent(&self, admission: &Admission<'_>, entry: &Entry, choice: &Choice, error: GateError) -> GateError {
        if matches!(error, GateError::BegunBefore { .. }) {
            // The number is that of another effect, which is in doubt.
            return error;
        }
        let recording = Recording {
            request: request_record(admission, choice),
            outcome: RecordedOutcome::Failed {
                kind: error.kind().as_str().to_owned(),
                message: redaction::text(&admission.redactor, error.to_string()),
            },
            started: self.parts.clock.now(),
            duration: std::time::Duration::ZERO,
        };
        if let Err(problem) = admission.invocation.workspace.record(entry.record.response, recording) {
            tracing::warn!(error = %problem, "a refusal could not be recorded");
        }
        error
    }

    /// Leaves the description of a dry run in the invocation.
    fn preview(
        &self,
        admission: &Admission<'_>,
        mut entry: Entry,
        prepared: Result<(Choice, Outgoing), Box<Refused>>,
    ) -> GateError {
        let (choice, late) = match prepared {
            Ok((choice, _)) => (choice, None),
            Err(refused) => (refused.choice, Some(refused.error)),
        };
        let mut stages = admission.stages.clone();
        let mut verdict = admission.verdict();
        if let Some(error) = late.filter(|_| verdict != Verdict::Deny) {
            verdict = Verdict::Deny;
            entry.refuse(rule_of(&error), &error.to_string(), &admission.redactor);
            stages.push(crate::StageVerdict {
                stage: "credential",
                verdict,
                rule: rule_of(&error).into(),
                message: error.to_string().into(),
            });
        }
        for stage in &mut stages {
            stage.message = redaction::text(&admission.redactor, stage.message.to_string()).into();
        }
        let mut record = request_record(admission, &choice);
        if let Some((name, _)) = idempotency::wanted(admission, entry.record.args_digest) {
            record.headers.push((name.to_string(), "<a key of rote's own>".to_owned()));
        }
        let preview = Preview {
            method: record.method,
            url: record.url,
            headers: record.headers,
            body: record.body.as_deref().map(body_preview),
            credentials: choice.previews,
            stages,
            verdict,
            impact: admission.impact.clone(),
        };
        if let Err(error) = entry.note(&self.parts, PREVIEWED) {
            return error;
        }
        // A second request of the same call describes nothing new: the guest stops at the first.
        drop(admission.invocation.preview.set(preview));
        GateError::Previewed
    }
}

/// A refusal, with the credentials that were found by then.
struct Refused {
    error: GateError,
    choice: Choice,
}

/// The request as it is recorded and shown: every credential by its name, and so is a value that was typed in.
fn request_record(admission: &Admission<'_>, choice: &Choice) -> RequestRecord {
    redaction::request(&admission.redactor, plain_record(admission, choice))
}

fn plain_record(admission: &Admission<'_>, choice: &Choice) -> RequestRecord {
    let invocation = admission.invocation;
    let endpoint = format!("adapter/{}", invocation.adapter.id);
    let Some(outgoing) = &admission.outgoing else {
        let clean = |text: &str| text.chars().filter(|c| !c.is_control()).take(2_000).collect::<String>();
        return RequestRecord {
            url: clean(&admission.claimed.url),
            method: clean(&admission.claimed.method),
            endpoint,
            headers: Vec::new(),
            body: None,
        };
    };
    let kinds = credential::kinds(&invocation.adapter, &choice.previews);
    let credential::Masked { url, mut headers, body } = credential::masked(outgoing, &kinds);
    headers.insert(0, ("host".to_owned(), host_header(outgoing)));
    if let Some(body) = &body {
        headers.push(("content-length".to_owned(), body.len().to_string()));
    }
    RequestRecord { url, method: outgoing.method.to_string(), endpoint, headers, body }
}

/// Where the request of a call may go, and how; none when it was not understood.
fn way<'a>(admission: &'a Admission<'_>) -> Option<Way<'a>> {
    let invocation = admission.invocation;
    let cleartext = invocation.policy.as_ref().as_ref().map_or(&[][..], |policy| policy.cleartext());
    Some(Way { route: admission.route.as_ref()?, cleartext, adapter: &invocation.adapter.id })
}

/// Counts the call against the flow's blessing; another call of the run may have used up the last one meanwhile.
fn blessed(admission: &Admission<'_>) -> bool {
    let invocation = admission.invocation;
    let (adapter, tool) = (&invocation.adapter, &invocation.tool.name);
    let blessing = invocation.flow.as_ref().and_then(|flow| flow.blessing.as_ref());
    admission.grant == Some(Grant::Blessing)
        && blessing.is_some_and(|one| one.take(&adapter.id, tool, &invocation.trust(), &invocation.arguments))
}

/// Why the flow's blessing does not lift the confirmation, when it is the adapter that changed.
fn void_blessing(invocation: &Invocation) -> Option<String> {
    let blessing = invocation.flow.as_ref()?.blessing.as_ref()?;
    let change = blessing.change(&invocation.adapter.id, &invocation.trust())?;
    Some(format!("the flow's blessing no longer counts: {change}"))
}

fn host_header(outgoing: &Outgoing) -> String {
    let url = outgoing.target.url();
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn body_preview(body: &[u8]) -> BodyPreview {
    let shown = &body[..body.len().min(PREVIEW_BYTES)];
    BodyPreview {
        text: String::from_utf8_lossy(shown).into_owned(),
        bytes: body.len(),
        truncated: shown.len() < body.len(),
    }
}

/// The command that repeats a call with its token; none for one of a flow, which is repeated by whoever knows the run:
/// the flow run anew would make again what it had made. References stay references: the log of the workspace knows
/// then what the confirmed call was made from, as a flow made of it has to.
fn repeat(admission: &Admission<'_>, token: &str) -> Option<String> {
    let invocation = admission.invocation;
    if invocation.flow.is_some() {
        return None;
    }
    let (arguments, references) = match &invocation.template {
        Some(written) => (written, Some("-t")),
        None => (&invocation.arguments, meant_reference(&invocation.arguments).map(|_| "--literal")),
    };
    let masked = admission.redactor.value(arguments);
    let arguments = masked.as_ref().unwrap_or(arguments);
    let call = command("rote call").argument(&invocation.adapter.id).argument(&invocation.tool.name).json(arguments);
    let call = match references {
        Some(word) => call.plain(word),
        None => call,
    };
    Some(call.option("-w", invocation.workspace.name()).option("--confirm", token).into())
}
