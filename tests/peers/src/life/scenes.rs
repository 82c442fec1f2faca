//! The scenes in order. Each goes on where the one before it ended.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::Stage;

type Scene = fn(&mut Stage) -> Result<()>;

/// The life.
pub(super) const ALL: [(&str, Scene); 12] = [
    ("make an adapter", adapter),
    ("look", look),
    ("write", write),
    ("crystallize and check", crystallize),
    ("run: a person confirms", confirm),
    ("bless; go on with a stopped run", bless),
    ("run in three forms, record, replay with no server", outputs),
    ("release and find", release),
    ("bind", bind),
    ("fork, export, decompile, bump", derive),
    ("the description grows: compatible", compatible),
    ("the description grows: breaking", breaking),
];

/// The run that is repeated throughout.
const RUN: &str = "rote run report owner=acme repo=site labels=bug";

/// The write that waits for a person: the policy says so.
const CREATE: &str = "rote call github issues/create -t -p owner=octocat -p repo=Hello-World \
                      -p 'title=Again: @1{.[0].title}' -p body=Seen. -p 'labels=[\"bug\"]'";

fn adapter(stage: &mut Stage) -> Result<()> {
    stage.step(
        "rote adapter new github github.json --base-url URL --bearer-token GITHUB_TOKEN --yes",
        0,
        &["15 of 15 generated", "fingerprint"],
    )?;
    // GitHub's description names no way to authenticate.
    stage.step("rote token set GITHUB_TOKEN ghp-for-the-check --yes", 0, &["stored GITHUB_TOKEN"])?;
    stage.step("rote adapter info github", 0, &["credential GITHUB_TOKEN (bearer) — vault", "issues/create POST"])?;
    stage.step("rote adapter list", 0, &["github"])?;
    // As a person does with an editor.
    let path = stage.home().join("adapters/github/config/policies.json");
    let mut policy: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    policy["confirm_list"] = json!(["issues/create"]);
    std::fs::write(&path, policy.to_string()).context("cannot write the policy")
}

fn look(stage: &mut Stage) -> Result<()> {
    stage.step("rote init triage", 0, &["made workspace triage"])?;
    stage.step("rote probe github 'list issues' --limit 3", 0, &["1. issues/list-for-repo"])?;
    let list = "rote call github issues/list-for-repo -p owner=octocat -p repo=Hello-World -p labels=bug";
    stage.step(&format!("{list} -p state=shut"), 2, &[r#""shut" is not one of "open""#])?;
    stage.step(&format!("{list} -p state=open"), 0, &["@1 200 OK"])?;
    stage.step("rote @1 '.[0] | {number, title}'", 0, &[r#"{"number":1347,"title":"Found a bug"}"#])?;
    stage.step("rote @1 '[.[].labels[].name]'", 0, &[r#"["bug"]"#])?;
    stage.step("rote expect @1 'length == 1' '.[0].state == \"open\"'", 0, &["true"])?;
    Ok(())
}

fn write(stage: &mut Stage) -> Result<()> {
    stage.step(&format!("{CREATE} --dry-run"), 0, &["write_guard confirm", "nothing was sent"])?;
    let refused = stage.step(CREATE, 5, &["needs confirmation", "hint:"])?;
    stage.hint(&refused, 0, &["@3 201 Created"])?;
    stage.hint(&refused, 5, &["the confirm token was used"])?;
    let comment = "rote call github issues/create-comment -t -p owner=octocat -p repo=Hello-World \
                   -p 'issue_number=@3{.number}' -p body=Noted.";
    stage.step(comment, 0, &["@5 201 Created"])?;
    stage.step("rote @5 '{id, body}'", 0, &[r#"{"id":1,"body":"Me too"}"#])?;
    stage.step("rote ls", 0, &["@2 github issues/create error", "@3 github issues/create 201"])?;
    Ok(())
}

fn crystallize(stage: &mut Stage) -> Result<()> {
    let create = "rote flow template create --workspace triage --name report --param owner=octocat \
                  --param repo=Hello-World --param labels=bug --tag issues --pages s1=no";
    // The answer names another page, and an `expect` looked through the list: this page alone is meant. The confirmed call was made
    // from the list, so the list is a step.
    let says = ["(3 steps)", "s3 WRITES", "may write", "replayed 3 calls", "next:"];
    stage.step(create, 0, &says)?;
    stage.step("rote flow lint report", 0, &["0 errors, 0 warnings"])?;
    stage.step("rote flow validate report", 0, &["report 0.1.0 is a flow…", "payload plan of 3 steps"])?;
    stage.step("rote flow score report", 0, &["of 100"])?;
    stage.step("rote run report owner=acme repo=site", 2, &["parameter `labels` is missing"])?;
    stage.step(&format!("{RUN} --dry-run"), 0, &["report would make 3 calls"])?;
    Ok(())
}

fn confirm(stage: &mut Stage) -> Result<()> {
    let stopped = stage.step(RUN, 5, &["`issues/create` of adapter `github` needs confirmation", "hint:"])?;
    stage.hint(&stopped, 0, &["report completed: 3 calls", "s5 github/issues/create-comment"])?;
    Ok(())
}

fn bless(stage: &mut Stage) -> Result<()> {
    stage.step(RUN, 5, &["needs confirmation"])?;
    stage.step("rote flow bless report", 5, &["nobody agreed, and nothing was changed"])?;
    let says = ["at most 1 call in a run", "none asks, each is recorded", "next:"];
    stage.step("rote flow bless report --yes --max-calls 1", 0, &says)?;
    stage.step("rote run --resume latest", 0, &["report completed: 3 calls", "s3 github/issues/create"])?;
    // An adapter that goes elsewhere stops the flow before anything is sent. Typing the address granted it, so the
    // policies are others than those that the flow was blessed under.
    stage.step("rote adapter set github base_url http://127.0.0.1:1 --yes", 0, &["http://127.0.0.1"])?;
    stage.step(RUN, 7, &["Made against: URL", "Goes to now: http://127.0.0.1:1", "hint: rote flow repin report"])?;
    stage.step("rote adapter set github base_url URL --yes", 0, &["URL"])?;
    stage.step(RUN, 5, &["policies.json was changed since"])?;
    stage.step("rote flow bless report --yes --max-calls 1", 0, &says)?;
    stage.step("rote run --resume latest", 0, &["report completed: 3 calls"])?;
    stage.step("rote run --resume latest", 10, &["hint: rote run report"])?;
    Ok(())
}

fn outputs(stage: &mut Stage) -> Result<()> {
    stage.step(&format!("{RUN} --output human"), 0, &["s1 github/issues/list-for-repo @1 200"])?;
    stage.step(&format!("{RUN} --output summary"), 0, &["3 of 3 steps done"])?;
    stage.step(&format!("{RUN} --output json"), 0, &[r#"{"id":1,"body":"Me too"}"#])?;
    stage.step(&format!("{RUN} --record run.rec"), 0, &["report completed: 3 calls"])?;
    stage.step("rote adapter set github base_url http://127.0.0.1:1 --yes", 0, &["http://127.0.0.1"])?;
    stage.step("rote flow test --replay run.rec", 0, &["3 calls answered, output as recorded"])?;
    stage.step("rote adapter set github base_url URL --yes", 0, &["URL"])?;
    Ok(())
}

fn release(stage: &mut Stage) -> Result<()> {
    stage.step("rote flow search 'create an issue and comment'", 0, &["no "])?;
    stage.step("rote flow release report", 0, &["released report 0.1.0", "its blessing no longer counts"])?;
    stage.step(RUN, 5, &["needs confirmation"])?;
    stage.step("rote flow bless report --yes", 0, &["blessed report"])?;
    stage.step(RUN, 0, &["report completed: 3 calls"])?;
    let says = ["1. [ATOMIC] report", "[OK] adapter/github", "run rote run report"];
    stage.step("rote flow search 'create an issue and comment'", 0, &says)?;
    stage.step("rote flow info report", 0, &["takes", "may write", "made from workspace triage"])?;
    stage.step("rote flow list", 0, &["report 0.1.0 released"])?;
    stage.step("rote flow health report", 0, &["report 0.1.0: is healthy", "blessing valid", "runs"])?;
    stage.step("rote flow stats report", 0, &["report 8 100 %…"])?;
    Ok(())
}

fn bind(stage: &mut Stage) -> Result<()> {
    stage.step("rote bind github --lang ts --out github.ts", 0, &["wrote github.ts"])?;
    stage.step("rote bind github --lang rust --tool issues/create --out github.rs", 0, &["wrote github.rs"])?;
    let manifest: Value = serde_json::from_slice(&std::fs::read(stage.home().join("adapters/github/manifest.json"))?)?;
    let fingerprint = manifest["fingerprint"].as_str().context("a manifest has a fingerprint")?;
    for name in ["github.ts", "github.rs"] {
        let text = std::fs::read_to_string(stage.work().join(name))?;
        ensure!(text.contains(fingerprint) && text.contains("issues/create"), "{name} is not pinned:\n{text}");
    }
    Ok(())
}

fn derive(stage: &mut Stage) -> Result<()> {
    stage.step("rote flow fork report --as note", 0, &["forked report as note 0.1.0", "next:"])?;
    stage.step("rote flow export report --lang rust --out crate", 0, &["crate/src/lib.rs"])?;
    stage.step("rote flow export report --out main.ts", 0, &["main.ts", "next:"])?;
    stage.step("rote flow build main.ts --out script.wasm", 0, &["built report 0.1.0…"])?;
    stage.step("rote flow test ./script.wasm --replay run.rec", 0, &["3 calls answered"])?;
    let says = ["name: report", r#"title: "Again: {the "#, "gives"];
    stage.step("rote flow decompile report", 0, &says)?;
    stage.step("rote flow bump report minor", 0, &["released report 0.2.0"])?;
    stage.step("rote flow doctor", 1, &["note 0.1.0 healthy", "report 0.2.0 1 problem"])?;
    stage.step("rote flow bless report --yes", 0, &["blessed report"])?;
    stage.step(RUN, 0, &["report completed: 3 calls"])?;
    Ok(())
}

fn compatible(stage: &mut Stage) -> Result<()> {
    stage.step("rote adapter new github changed.json --base-url URL", 5, &["replace the one that is installed?"])?;
    stage.step(
        "rote adapter new github changed.json --base-url URL --bearer-token GITHUB_TOKEN --yes",
        0,
        &["15 of 15 generated"],
    )?;
    let says = [
        "Github adapter fingerprint mismatch",
        "issues/create: compatible",
        "issues/create-comment: identical",
        "issues/list-for-repo: identical",
        "hint:",
    ];
    let stopped = stage.step(RUN, 7, &says)?;
    stage.step("rote flow health report", 1, &["adapters github compatible", "fix: rote flow repin report"])?;
    let shown = stage.hint(&stopped, 5, &["issues/create: compatible", "nobody agreed, and nothing was changed"])?;
    stage.hint(&shown, 0, &["repinned report: 0.2.0 is now 0.2.1", "its blessing is void", "next:"])?;
    stage.step("rote flow bless report --yes", 0, &["blessed report"])?;
    stage.step(RUN, 0, &["report completed: 3 calls", "s3 github/issues/create @2 201"])?;
    Ok(())
}

fn breaking(stage: &mut Stage) -> Result<()> {
    stage.step(
        "rote adapter new github breaking.json --base-url URL --bearer-token GITHUB_TOKEN --yes",
        0,
        &["15 of 15 generated"],
    )?;
    stage.step(RUN, 7, &["issues/create: breaking (argument `priority` is now required)"])?;
    stage.step("rote flow repin report --yes", 10, &["repinning flow `report` may break it"])?;
    // The same description gives the same fingerprint: the pin and the blessing hold again.
    stage.step(
        "rote adapter new github changed.json --base-url URL --bearer-token GITHUB_TOKEN --yes",
        0,
        &["15 of 15 generated"],
    )?;
    stage.step(RUN, 0, &["report completed: 3 calls"])?;
    stage.step("rote flow list", 0, &["report 0.2.1 released", "note 0.1.0 draft"])?;
    stage.step("rote audit verify", 0, &["each follows from the one before and none is missing"])?;
    Ok(())
}
