//! The tour, step by step. Each step types what a person would and checks what it claims.

use rote_types::event::EFFECT_STARTED;
use serde_json::Value;

use super::promises;
use super::tour::{Ran, Stage};
use crate::error::{Result, io};
use crate::render::units::{count, size};

/// The made-up credential; the tour proves that it is seen by the sample API and by nobody else.
pub(super) const SECRET: &str = "tracker-pat-5f2c9e71d04b8a36";
/// Its base64 form, which an API could echo as well.
const SECRET_BASE64: &str = "dHJhY2tlci1wYXQtNWYyYzllNzFkMDRiOGEzNg";

/// Plays all steps in order.
pub(super) fn play(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.open()?;
    adapter(stage)?;
    probe(stage)?;
    read(stage)?;
    query(stage)?;
    credential(stage)?;
    write(stage)?;
    confirm(stage)?;
    errors(stage)?;
    private_address(stage)?;
    crystallize(stage)?;
    run(stage)?;
    promises::play(stage)?;
    tamper(stage)?;
    drift(stage)?;
    audit(stage)
}

/// Returns the path and query of the latest request that the sample API got.
fn last_target(stage: &Stage<'_, '_>) -> String {
    stage.server.requests().last().map(|request| format!("{} {}", request.method, request.target)).unwrap_or_default()
}

fn adapter(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("An API description becomes a sandboxed component, without a toolchain")?;
    let base = stage.server.base_url();
    let ran = stage.typed(&["adapter", "new", "tracker", "openapi.yaml", "--base-url", &base], 6)?;
    let info = stage.quiet(&["adapter", "info", "tracker", "--json"], "");
    let tools = info.json("/data/tools").as_array().map_or(0, Vec::len);
    // The document has one operation id more than operations: that of its webhook.
    let operations = super::DOCUMENT.matches("operationId:").count() - 1;
    let bytes = info.json("/data/component/bytes").as_u64().unwrap_or(0);
    let holds = ran.code == 0 && tools == operations && bytes > 0;
    stage.claim(holds, format!("{tools} tools from {operations} operations, in one component of {}", size(bytes)))
}

fn probe(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("An intent finds its tool")?;
    let ran = stage.typed(&["probe", "tracker", "list issues", "--limit", "1"], 6)?;
    let first = ran.stdout.lines().next().unwrap_or_default();
    stage.claim(first.contains("listIssues"), "the tool that fits comes first, with what it takes")
}

fn read(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A call is recorded, and shown in short")?;
    stage.quiet(&["init", "triage"], "");
    let words = ["call", "tracker", "listIssues", "-p", "project=atlas", "-p", "labels=bug", "-p", "sort=comments"];
    let ran = stage.typed(&words, 3)?;
    let sent = last_target(stage);
    let holds = ran.code == 0 && sent.starts_with("GET /v1/projects/atlas/issues?") && sent.contains("labels=bug");
    stage.claim(holds && ran.stdout.starts_with("@1 200"), format!("the API got `{sent}`; the answer is @1"))
}

fn query(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("Questions are asked of the record, not of the network")?;
    let before = stage.server.requests().len();
    let ran = stage.typed(&["@1", ".[0] | {number, title, comments}"], 3)?;
    let same = stage.server.requests().len() == before;
    let stats = stage.quiet(&["ls", "--json"], "");
    let whole = stats.json("/data/stats/response_tokens").as_u64().unwrap_or(0);
    let saved = stats.json("/data/stats/tokens_saved").as_u64().unwrap_or(0);
    let holds = ran.code == 0 && same && saved > 0 && saved < whole;
    stage.claim(holds, format!("no request; {} of {} tokens never reached the reader", count(saved), count(whole)))
}

fn credential(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A credential reaches the API and nothing else")?;
    stage.typed_with(&["token", "set", "TRACKER_TOKEN", "--stdin", "--yes"], SECRET, 1)?;
    stage.quiet(&["init", "trials"], "");
    stage.quiet(&["init", "triage"], "");
    let ran = stage.typed(&["-w", "trials", "call", "tracker", "whoAmI"], 2)?;
    let echoed = stage.typed(&["-w", "trials", "@1", ".headers.authorization"], 1)?;
    let sent = stage.server.requests().last().is_some_and(|request| {
        request.headers.iter().any(|(name, value)| name == "authorization" && value.contains(SECRET))
    });
    let clean = [&ran, &echoed].iter().all(|ran| !ran.text().contains(SECRET));
    let files = stage.on_disk(SECRET.as_bytes()).len() + stage.on_disk(SECRET_BASE64.as_bytes()).len();
    let holds = ran.code == 0 && sent && clean && files == 0;
    stage.claim(holds, format!("the API got it and echoed it; it stands in {files} files and in no output"))
}

fn write(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A write uses an earlier answer, and is audited")?;
    let words = ["call", "tracker", "addComment", "-t", "-p", "project=atlas", "-p", "number=@1{.[0].number}"];
    let ran = stage.typed(&[&words[..], &["-p", "body=Seen by triage."]].concat(), 2)?;
    let events = stage.quiet(&["audit", "tail", "--json"], "");
    let logged = events.json("/data").as_array().is_some_and(|events| {
        events.iter().any(|event| event["kind"] == EFFECT_STARTED && event["body"]["tool"] == "addComment")
    });
    let sent = last_target(stage);
    let holds = ran.code == 0 && logged && sent.starts_with("POST /v1/projects/atlas/issues/");
    stage.claim(holds, format!("`{sent}` stood in the journal before it was sent"))
}

fn confirm(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A deletion waits for a person, and the yes fits that one call only")?;
    let call = ["-w", "trials", "call", "tracker", "deleteIssue", "-p", "project=beacon", "-p", "number=1"];
    let before = stage.server.requests().len();
    let refused = stage.typed(&call, 3)?;
    let untouched = stage.server.requests().len() == before;
    let token = confirm_token(&stage.quiet(&[&call[..], &["--json"]].concat(), ""));
    let other = ["-w", "trials", "call", "tracker", "deleteIssue", "-p", "project=beacon", "-p", "number=2"];
    let misused = stage.quiet(&[&other[..], &["--confirm", &token]].concat(), "");
    let done = stage.typed(&[&call[..], &["--confirm", &token]].concat(), 1)?;
    let again = stage.quiet(&[&call[..], &["--confirm", &token]].concat(), "");
    let deleted = stage.server.requests().iter().filter(|request| request.method == "DELETE").count();
    let codes = (refused.code, misused.code, done.code, again.code);
    let holds = untouched && codes == (5, 5, 0, 5) && deleted == 1;
    stage.claim(holds, "nothing was sent without it; it worked neither for issue 2 nor a second time")
}

/// Takes the token out of a refusal.
fn confirm_token(refused: &Ran) -> String {
    let details = refused.json("/error/details");
    details["confirm_token"].as_str().unwrap_or("0000000000000000").to_owned()
}

fn errors(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("What goes wrong says so, with an exit code to branch on")?;
    let words = ["-w", "trials", "call", "tracker", "getIssue", "-p", "project=atlas", "-p", "number=9999"];
    let missing = stage.typed(&words, 2)?;
    let mistyped = stage.typed(&["-w", "trials", "call", "tracker", "listIssues", "-p", "projct=atlas"], 2)?;
    let asked = stage.quiet(&["-w", "trials", "ls", "--json"], "");
    let kept = asked.json("/data/responses").as_array().is_some_and(|all| all.iter().any(|one| one["status"] == 404));
    let holds = missing.code == 8 && kept && mistyped.code == 2 && mistyped.text().contains("project");
    stage.claim(holds, "the 404 is on record; the wrong name was caught before any request")
}

fn private_address(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("A description cannot send rote to a private address")?;
    let document = format!(
        "openapi: 3.1.0\ninfo: {{title: Shady, version: '1'}}\nservers: [{{url: '{}'}}]\npaths:\n  /projects:\n    get:\n      operationId: steal\n      responses: {{'200': {{description: ok}}}}\n",
        stage.server.base_url()
    );
    stage.write("shady.yaml", document.as_bytes()).map_err(|error| io("cannot write `shady.yaml`", &error))?;
    stage.quiet(&["adapter", "new", "shady", "shady.yaml"], "");
    let before = stage.server.requests().len();
    let ran = stage.typed(&["-w", "trials", "call", "shady", "steal"], 2)?;
    let holds = ran.code == 6 && stage.server.requests().len() == before;
    stage.claim(holds, "refused before a connection; only a person's `--base-url` or `adapter allow` grants it")
}

fn crystallize(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("The workspace becomes a program: one flow.wasm")?;
    let words = ["flow", "template", "create", "--workspace", "triage", "--name", "first-look"];
    let words = [&words[..], &["--param", "project=atlas", "--param", "body=Seen by triage."]].concat();
    let before = stage.server.requests().len();
    let ran = stage.typed(&words, 7)?;
    let info = stage.quiet(&["flow", "info", "first-look", "--json"], "");
    let writes = info.json("/data/frontmatter/write_permissions");
    let writes: Vec<&Value> = writes.as_array().into_iter().flatten().collect();
    let exact = writes.len() == 1 && writes[0]["tool"] == "addComment";
    let holds = ran.code == 0 && exact && stage.server.requests().len() == before;
    stage.claim(holds, "it gave the recorded result again with no network, and may write with addComment only")
}

fn run(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("The second time is one command, with other parameters")?;
    for project in ["beacon", "cargo-bay"] {
        let parameter = format!("project={project}");
        let ran = stage.typed(&["run", "first-look", &parameter, "body=Looked at."], 2)?;
        let sent: Vec<String> =
            stage.server.requests().iter().rev().take(2).map(|one| format!("{} {}", one.method, one.target)).collect();
        let place = format!("/v1/projects/{project}/issues");
        let wrote = sent.first().is_some_and(|line| line.starts_with(&format!("POST {place}/")));
        let listed = sent.get(1).is_some_and(|line| line.starts_with(&format!("GET {place}?")));
        stage
            .claim(ran.code == 0 && wrote && listed, format!("listed {project}, then commented on its first issue"))?;
    }
    Ok(())
}

fn tamper(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("One changed byte, and it does not run")?;
    let path = stage.home().join("flows/first-look/flow.wasm");
    let failed = |error: std::io::Error| io("cannot change `flow.wasm`", &error);
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_to_end(&mut file, &mut bytes));
    // Somewhere in the payload, which stands behind the code.
    let middle = bytes.len() - bytes.len() / 50;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    stage.write("tampered.wasm", &bytes).map_err(failed)?;
    let before = stage.server.requests().len();
    let ran = stage.typed(&["run", "./tampered.wasm", "project=beacon", "body=x"], 2)?;
    let holds = read.is_ok() && ran.code == 10 && stage.server.requests().len() == before;
    stage.claim(holds, format!("byte {} of {} was flipped; nothing of it ran", count_of(middle), count_of(bytes.len())))
}

fn count_of(number: usize) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX))
}

fn drift(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("An API that changed under a flow stops it")?;
    let changed = super::DOCUMENT.replacen("schema: { type: integer, minimum: 1 }", "schema: { type: string }", 1);
    stage.write("changed.yaml", changed.as_bytes()).map_err(|error| io("cannot write `changed.yaml`", &error))?;
    let base = stage.server.base_url();
    let ran = stage.quiet(&["adapter", "new", "tracker", "changed.yaml", "--base-url", &base, "--yes"], "");
    let before = stage.server.requests().len();
    let stopped = stage.typed(&["run", "first-look", "project=beacon", "body=x"], 6)?;
    let holds = changed != super::DOCUMENT && ran.code == 0 && stopped.code == 7;
    stage.claim(holds && stage.server.requests().len() == before, "exit 7 before any call, naming what changed")
}

fn audit(stage: &mut Stage<'_, '_>) -> Result<()> {
    stage.step("And all of it is on record")?;
    let ran = stage.typed(&["audit", "verify"], 1)?;
    let writes = stage.server.requests().iter().filter(|request| request.method != "GET").count();
    let tail = stage.quiet(&["audit", "tail", "-n", "1000", "--json"], "");
    let started = tail.json("/data").as_array().map_or(0, |events| {
        let write = |event: &&Value| event["kind"] == EFFECT_STARTED && event["body"]["method"] != "GET";
        events.iter().filter(write).count()
    });
    let holds = ran.code == 0 && started == writes;
    stage.claim(holds, format!("{started} writes in the journal, {writes} at the API; the chain of hashes is whole"))
}
