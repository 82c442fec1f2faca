//! The runtime pass: one replay against a recording, whose outcome is looked at in all three output forms.

use rote_types::{CommandLine, FlowName, command};

use super::component::human_missing;
use super::finding::{Finding, Findings, Position};
use crate::contract::Contract;
use crate::error::ReplayError;
use crate::evidence::Evidence;
use crate::recording::is_same;
use crate::replay::Replayed;
use crate::{FlowError, Linter, Package};

/// Most characters of a value that is shown.
const MAX_SHOWN_CHARS: usize = 120;

const RECORD: &str = "--record test.rec";

/// The command that leaves a recording.
pub(super) fn record(flow: &FlowName) -> CommandLine {
    command("rote run").argument(flow).plain(RECORD)
}

impl Linter {
    pub(super) async fn lint_replay(
        &self,
        package: &Package,
        evidence: Option<Evidence>,
        findings: &mut Findings,
    ) -> Result<(), FlowError> {
        let name = &package.frontmatter.name;
        let Some(evidence) = evidence else {
            let message = "there is no recording to replay, so what it gives was not looked at";
            let schemas = package.frontmatter.parameter_schemas();
            let run = schemas.fold(command("rote run").argument(name), |run, (name, _)| run.blank(name));
            let run = run.plain(RECORD);
            let lint = command("rote flow lint").argument(name).plain("--replay test.rec");
            let finding = Finding::note("RECORDING_MISSING", Position::Run, message);
            findings.push(finding.command(format!("{run}, then {lint}")));
            return Ok(());
        };
        if let Some(other) = evidence.flow.as_deref().filter(|flow| *flow != name.as_str()) {
            let message = format!("`{}` is a recording of flow `{other}`", evidence.source);
            let finding = Finding::warning("RECORDING_OTHER", Position::Run, message);
            findings.push(finding.command(record(name)));
        }
        let tape = evidence.tape.as_deref();
        match self.replayer.replay(package, evidence.parameters.clone(), &evidence.calls, tape).await {
            Ok(replayed) => look_at(package, &evidence, replayed, findings),
            Err(FlowError::Replay(ReplayError::Stale { stale })) => {
                let arguments = shown(&stale.arguments);
                let message = format!("it asks for `{}` with {arguments}, which was not recorded", stale.question);
                let finding = Finding::error("REPLAY_STALE", Position::Run, message);
                findings.push(finding.command(record(name)));
            }
            // The component was refused: that is a finding of its own already.
            Err(FlowError::Load(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn look_at(package: &Package, evidence: &Evidence, replayed: Replayed, findings: &mut Findings) {
    let name = &package.frontmatter.name;
    for call in &replayed.unasked {
        let message = format!("the recording has a call of `{call}` that it did not ask for");
        let finding = Finding::warning("CALLS_UNASKED", Position::Run, message);
        findings.push(finding.command(record(name)));
    }
    let outcome = match replayed.outcome {
        Ok(outcome) => outcome,
        // A run that failed when it was recorded and fails again does what it did.
        Err(_) if evidence.tape.is_some() && evidence.expected.is_none() => return,
        Err(error) => {
            let message = format!("it ends without a result: {error}");
            let finding = Finding::error("REPLAY_FAILED", Position::Run, message);
            findings.push(finding.edit("correct the flow, or record a run that shows what it does now"));
            return;
        }
    };
    let schema = &package.frontmatter.output.schema;
    let problem = if schema.is_null() {
        None
    } else {
        Contract::new(schema).ok().and_then(|contract| contract.problem(&outcome.result))
    };
    if let Some(problem) = problem {
        let message = format!("the result does not fit `output.schema`: {problem}");
        let finding = Finding::error("RESULT_SCHEMA", Position::frontmatter("/output/schema"), message);
        findings.push(finding.edit("correct `output.schema`, or the result"));
    }
    if let Some(expected) = &evidence.expected
        && !is_same(&expected.result, &outcome.result)
    {
        let (was, is) = (shown(&expected.result), shown(&outcome.result));
        let message = format!("the result was {was} and is {is} now");
        let finding = Finding::error("REPLAY_DIFFERS", Position::Run, message);
        findings.push(finding.command(record(name)));
    }
    if outcome.human.is_empty() && !findings.has("OUTPUT_HUMAN_MISSING") {
        findings.push(human_missing("the run shows a person nothing".to_owned(), Position::Run));
    }
    if outcome.summary.is_empty() {
        let finding = Finding::warning("OUTPUT_SUMMARY_MISSING", Position::Run, "the run has no summary line");
        findings.push(finding.edit("give one line for a log or a chat as the summary"));
    }
}

fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
