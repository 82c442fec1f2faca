//! Prism: a mock that validates every request against the description it was made from.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::arguments::sample_arguments;
use crate::rote::Rote;

/// What to check.
pub(crate) struct Plan {
    pub(crate) spec: PathBuf,
    pub(crate) url: String,
    pub(crate) most: usize,
    pub(crate) percent: usize,
}

/// Calls operations and counts those that Prism finds no fault with.
pub(crate) fn check(rote: &Rote, plan: &Plan) -> Result<()> {
    let spec = plan.spec.to_str().context("the path of the description is text")?;
    rote.ok(&["adapter", "new", "peer", "--spec", spec, "--base-url", &plan.url, "--yes"])?;
    let folder = rote.home().join("adapters/peer");
    // Every write is wanted here; the write guard itself is checked elsewhere.
    let policy_path = folder.join("config/policies.json");
    let mut policy: Value = serde_json::from_slice(&std::fs::read(&policy_path)?)?;
    policy["safe_list"] = json!(["*"]);
    std::fs::write(&policy_path, policy.to_string())?;
    set_tokens(rote, &folder)?;

    let tools: Value = serde_json::from_slice(&std::fs::read(folder.join("tools.json"))?)?;
    let tools = tools.as_array().or_else(|| tools["tools"].as_array()).context("tools.json is a list")?;
    let mut faults = String::new();
    let (mut called, mut accepted) = (0, 0);
    // Operations with servers of their own do not go to the mock.
    let mocked = tools.iter().filter(|tool| tool.get("servers").is_none());
    for tool in mocked.take(plan.most) {
        let name = tool["name"].as_str().context("a tool has a name")?;
        called += 1;
        match fault(rote, name, &sample_arguments(&tool["inputSchema"]))? {
            None => accepted += 1,
            Some(fault) => writeln!(faults, "  {name}: {fault}")?,
        }
    }
    println!("prism {spec}: {accepted} of {called} requests accepted\n{faults}");
    ensure!(called > 0, "no operation was called");
    ensure!(accepted * 100 >= plan.percent * called, "too many requests were refused");
    Ok(())
}

/// Gives every credential slot a value; Prism checks presence, not truth.
fn set_tokens(rote: &Rote, folder: &std::path::Path) -> Result<()> {
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.join("manifest.json"))?)?;
    for slot in manifest["auth"]["schemes"].as_object().into_iter().flatten().map(|(_, slot)| slot) {
        let name = slot["token_env"].as_str().context("a slot names its token")?;
        let value = if slot["type"] == "basic" { "user:password" } else { "token-for-prism" };
        rote.ok(&["token", "set", name, value, "--yes"])?;
    }
    Ok(())
}

/// Calls one operation and returns what Prism, or rote, found wrong with the request.
fn fault(rote: &Rote, tool: &str, arguments: &Value) -> Result<Option<String>> {
    let outcome = rote.run(&["call", "peer", tool, &arguments.to_string()])?;
    let kind = outcome.envelope["error"]["kind"].as_str().unwrap_or_default();
    if outcome.code != 0 && kind != "upstream" && kind != "auth" {
        return Ok(Some(format!("rote refused {arguments}: {}", outcome.envelope["error"]["message"])));
    }
    let recorded = rote.newest_response()?;
    if let Some(first) = violation(&recorded) {
        return Ok(Some(format!("{first} for {arguments}")));
    }
    let status = recorded["response"]["status"].as_u64().unwrap_or(0);
    Ok(matches!(status, 0 | 401 | 404 | 405 | 415 | 422).then(|| {
        format!("status {status} for {arguments}: {} {}", recorded["request"]["url"], recorded["response"]["body"])
    }))
}

/// Returns the first thing that Prism says is wrong with the request of a recorded answer.
pub(crate) fn violation(recorded: &Value) -> Option<Value> {
    let violations = header(&recorded["response"]["headers"], "sl-violations")?;
    let violations: Vec<Value> = serde_json::from_str(&violations).ok()?;
    violations.into_iter().find(|one| one["location"][0] == "request" && one["severity"] == "Error")
}

/// Looks a header up in a list of pairs, a list of objects, or an object.
fn header(headers: &Value, name: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match headers {
        Value::Object(map) => map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, v)| text(v)),
        Value::Array(list) => list.iter().find_map(|pair| {
            let key = pair[0].as_str().or_else(|| pair["name"].as_str())?;
            key.eq_ignore_ascii_case(name).then(|| text(&pair[1]).or_else(|| text(&pair["value"])))?
        }),
        _ => None,
    }
}
