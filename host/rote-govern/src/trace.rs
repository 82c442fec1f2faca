//! `agent_trace.jsonl` of a project: who changed which lines for which intent, one line for each write, denied ones too.
//!
//! The shape is that of Agent Trace 0.1.0 (<https://agent-trace.dev>, its trace record), with the fields beside it that Roo Code's governance
//! hooks have. The line is made from one event of the journal alone, so that the file can be made again byte for byte.

use jiff::Timestamp;
use rote_types::Sha256Digest;
use rote_types::event::{EFFECT_DENIED, EFFECT_FAILED, EFFECT_FINISHED, EFFECT_IN_DOUBT};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::audit::{Decision, EffectOutcome, EffectRecord, JournalLine};
use crate::intent::MutationClass;
use crate::traced::{LineRange, Traced, TracedFile};

/// Version of Agent Trace.
const VERSION: &str = "0.1.0";
/// One line of a project's `agent_trace.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceLine {
    /// The folder of the project.
    pub project: String,
    /// The line, without its newline.
    pub line: String,
}

/// What an event says of one effect.
struct Told<'e> {
    traced: &'e Traced,
    tool: String,
    decision: Option<Decision>,
    outcome: &'static str,
    more: Map<String, Value>,
}

/// Returns the line of an event, or none for an event that has none: of what was not a write, or not in a project, and of what is
/// not an end.
#[must_use]
pub fn trace_line(event: JournalLine<'_>) -> Option<TraceLine> {
    // Most events have none, and are not read for it.
    event.body.get("traced")?;
    match event.kind {
        EFFECT_DENIED => {
            let record = EffectRecord::deserialize(event.body).ok()?;
            let traced = record.traced.as_deref()?;
            let more = Map::from_iter([
                ("rule".to_owned(), record.rule.clone().into()),
                ("reason".to_owned(), record.reason.clone().into()),
            ]);
            let tool = format!("{}.{}", record.adapter, record.tool);
            line(event, &Told { traced, tool, decision: Some(record.decision), outcome: "denied", more })
        }
        EFFECT_FINISHED | EFFECT_FAILED | EFFECT_IN_DOUBT => {
            let ended = EffectOutcome::deserialize(event.body).ok()?;
            let traced = ended.traced.as_deref()?;
            let mut more = Map::new();
            more.extend(ended.status.map(|status| ("status".to_owned(), status.into())));
            more.extend(ended.exit_code.map(|code| ("exit_code".to_owned(), code.into())));
            more.extend(ended.error.clone().map(|error| ("error".to_owned(), error.into())));
            let outcome = match event.kind {
                EFFECT_FINISHED => "finished",
                EFFECT_FAILED => "failed",
                _ => "in_doubt",
            };
            let tool = format!("{}.{}", ended.adapter, ended.tool);
            line(event, &Told { traced, tool, decision: ended.decision, outcome, more })
        }
        _ => None,
    }
}

fn line(event: JournalLine<'_>, told: &Told<'_>) -> Option<TraceLine> {
    let Told { traced, tool, decision, outcome, more } = told;
    let contributor = match &traced.model {
        Some(model) => json!({ "type": "ai", "entity_type": "AI", "model_id": model, "model_identifier": model }),
        None => json!({ "type": "unknown" }),
    };
    let vcs = traced
        .revision
        .as_ref()
        .map(|revision| json!({ "type": "git", "revision": revision, "revision_id": revision }));
    let mut own = Map::from_iter([
        ("effect_id".to_owned(), json!(event.effect)),
        ("seq".to_owned(), event.seq.into()),
        ("tool".to_owned(), tool.clone().into()),
        ("decision".to_owned(), json!(decision)),
        ("outcome".to_owned(), (*outcome).into()),
        ("mutation_class_source".to_owned(), source(traced)),
    ]);
    own.extend(more.clone());
    // Of what was not done nothing was seen.
    if traced.files.iter().any(|file| file.before.is_some() || file.after.is_some()) {
        let pre = traced.files.iter().map(|file| (file.path.clone(), json!(file.before)));
        own.insert("pre_hash".to_owned(), Value::Object(pre.collect()));
    }
    let first = traced.files.iter().find(|file| file.after.is_some());
    let record = Record {
        version: VERSION,
        id: event.effect.map(|effect| effect.0.clone()).unwrap_or_default(),
        timestamp: event.at,
        vcs,
        tool: json!({ "name": "rote" }),
        intent_id: traced.intent.as_deref(),
        mutation_class: traced.mutation_class,
        content_hash: first.and_then(|file| file.after),
        ranges: first.map_or(&[], |file| &file.ranges),
        files: traced.files.iter().map(|file| told_of(file, &contributor, traced.intent.as_deref())).collect(),
        contributor: &contributor,
        metadata: json!({ "rote": own }),
    };
    let line = serde_json::to_string(&record).ok()?;
    Some(TraceLine { project: traced.project.clone(), line })
}

fn source(traced: &Traced) -> Value {
    match (traced.mutation_class, traced.declared) {
        (None, _) => Value::Null,
        (Some(_), true) => "declared".into(),
        (Some(_), false) => "inferred".into(),
    }
}

/// A file, under its name in the format and under that of the hooks.
fn told_of(file: &TracedFile, contributor: &Value, intent: Option<&str>) -> Value {
    let related: Vec<Value> = intent
        .iter()
        .map(|intent| json!({ "type": "specification", "url": format!("intent:{intent}"), "value": intent }))
        .collect();
    let conversation = json!({ "contributor": contributor, "ranges": file.ranges, "related": related });
    json!({
        "path": file.path, "relative_path": file.path, "content_hash": file.after, "conversations": [conversation]
    })
}

/// The members of a line, in their order.
#[derive(Serialize)]
struct Record<'r> {
    version: &'r str,
    id: String,
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    vcs: Option<Value>,
    tool: Value,
    intent_id: Option<&'r str>,
    mutation_class: Option<MutationClass>,
    content_hash: Option<Sha256Digest>,
    ranges: &'r [LineRange],
    contributor: &'r Value,
    files: Vec<Value>,
    metadata: Value,
}

#[cfg(test)]
mod tests {
    use rote_types::{EffectId, sha256};

    use super::*;

    fn traced() -> Traced {
        let text = "export const value = 2\n";
        Traced {
            project: "/work/shop".to_owned(),
            intent: Some("INT-001".to_owned()),
            model: Some("m/x".to_owned()),
            mutation_class: Some(MutationClass::IntentEvolution),
            declared: false,
            revision: Some("a1b2".to_owned()),
            files: vec![TracedFile {
                path: "src/app.ts".to_owned(),
                after: Some(sha256(text.as_bytes())),
                before: None,
                ranges: LineRange::whole(text).into_iter().collect(),
            }],
        }
    }

    fn of(kind: &str, body: &Value) -> Option<Value> {
        let at = "2026-11-27T08:00:00Z".parse().unwrap();
        let effect = EffectId("5b1e5e2e-4e9a-4a26-9b52-6a2f0f4b8f10".to_owned());
        let line = trace_line(JournalLine { seq: 7, at, kind, effect: Some(&effect), body })?;
        assert_eq!(line.project, "/work/shop");
        Some(serde_json::from_str(&line.line).unwrap())
    }

    /// B-11 of the hooks' conformance table, with its vector.
    #[test]
    fn a_line_has_the_fields_of_both_formats() {
        let body = json!({
            "adapter": "fs", "tool": "write_to_file", "workspace": "w", "response": 3, "status": 201, "duration_ms": 1,
            "decision": "audit", "traced": traced()
        });
        let line = of(EFFECT_FINISHED, &body).unwrap();
        let hash = "sha256:57face33e60fb88709785931cefa38525ba057260fc78e6de21d447ac387d6ed";
        let range = json!({ "start_line": 1, "end_line": 1, "content_hash": hash });
        assert_eq!(line["version"], "0.1.0");
        assert_eq!((&line["intent_id"], &line["content_hash"]), (&json!("INT-001"), &json!(hash)));
        assert_eq!(line["ranges"], json!([range]));
        assert_eq!(line["contributor"]["model_identifier"], "m/x");
        let file = &line["files"][0];
        assert_eq!((&file["path"], &file["relative_path"]), (&json!("src/app.ts"), &json!("src/app.ts")));
        let conversation = &file["conversations"][0];
        assert_eq!((&conversation["contributor"]["type"], &conversation["ranges"]), (&json!("ai"), &json!([range])));
        assert_eq!(conversation["related"][0]["value"], "INT-001");
        assert_eq!(line["vcs"], json!({ "type": "git", "revision": "a1b2", "revision_id": "a1b2" }));
        let own = &line["metadata"]["rote"];
        assert_eq!(
            (&own["outcome"], &own["tool"], &own["seq"]),
            (&json!("finished"), &json!("fs.write_to_file"), &json!(7))
        );
        assert_eq!((&own["mutation_class_source"], &own["decision"]), (&json!("inferred"), &json!("audit")));
    }

    #[test]
    fn what_is_not_an_end_or_not_in_a_project_has_no_line() {
        let body = json!({
            "adapter": "fs", "tool": "write_to_file", "workspace": "w", "response": 3, "duration_ms": 1,
            "traced": traced()
        });
        assert_eq!(of("effect.started", &body), None);
        let outside = json!({ "adapter": "fs", "tool": "x", "workspace": "w", "response": 3, "duration_ms": 1 });
        assert_eq!(of(EFFECT_FINISHED, &outside), None);
        assert_eq!(of(EFFECT_FINISHED, &json!({ "traced": 3 })), None);
    }
}
