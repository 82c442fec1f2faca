//! The whole life of a flow on a GitHub-shaped server, typed as a user types it, and compared with what is expected.
//!
//! Prism answers from GitHub's description and finds fault with every request that does not fit it. Each step names
//! the exit code and the lines that matter; all of them together are the transcript in `life.expected.txt`.

mod scenes;
mod stage;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::prism;
use stage::Stage;

/// What to check.
pub(crate) struct Plan {
    pub(crate) rote: PathBuf,
    pub(crate) spec: PathBuf,
    pub(crate) url: String,
    pub(crate) update: bool,
}

/// The transcript that is expected.
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/life.expected.txt");

/// The operation whose description changes during the life.
const CHANGED: &str = "/paths/~1repos~1{owner}~1{repo}~1issues/post/requestBody/content/application~1json/schema";

/// Plays every scene, then compares the transcript.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    let text = std::fs::read_to_string(&plan.spec).with_context(|| format!("cannot read {}", plan.spec.display()))?;
    let spec: Value = serde_json::from_str(&text).context("the description is JSON")?;
    let mut stage = Stage::new(&plan.rote, &plan.url)?;
    stage.file("github.json", &text);
    stage.file("changed.json", &changed(&spec, false)?.to_string());
    stage.file("breaking.json", &changed(&spec, true)?.to_string());
    for (title, scene) in scenes::ALL {
        stage.title(title);
        scene(&mut stage).with_context(|| format!("life of a flow: {title}"))?;
    }
    let answers = faultless(&stage)?;
    println!("\nlife of a flow: {} steps, {answers} answers, no request that Prism found fault with", stage.steps());
    compare(&stage.transcript(), plan.update)
}

/// Returns the description with one more property of a new issue, required or not.
fn changed(spec: &Value, required: bool) -> Result<Value> {
    let mut spec = spec.clone();
    let body = spec.pointer_mut(CHANGED).context("the description has the operation `issues/create`")?;
    body["properties"]["priority"] = json!({ "type": "string", "enum": ["low", "high"] });
    if required {
        let names = body["required"].as_array_mut().context("a new issue has required properties")?;
        names.push(json!("priority"));
    }
    Ok(spec)
}

/// Counts the answers of all workspaces, none of which may say that the request did not fit the description.
fn faultless(stage: &Stage) -> Result<usize> {
    let mut answers = 0;
    for workspace in std::fs::read_dir(stage.home().join("rote/workspaces"))? {
        for file in std::fs::read_dir(workspace?.path().join(".rote/responses"))? {
            let path = file?.path();
            let recorded: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
            if let Some(fault) = prism::violation(&recorded) {
                bail!("Prism found fault with the request of {}: {fault}", path.display());
            }
            answers += usize::from(recorded["response"]["status"].as_u64().is_some_and(|status| status > 0));
        }
    }
    Ok(answers)
}

/// Compares with the expected transcript, or writes it.
fn compare(seen: &str, update: bool) -> Result<()> {
    if update {
        std::fs::write(EXPECTED, seen).with_context(|| format!("cannot write {EXPECTED}"))?;
        println!("wrote {EXPECTED}");
        return Ok(());
    }
    let expected = std::fs::read_to_string(EXPECTED).with_context(|| format!("cannot read {EXPECTED}"))?;
    let difference = similar::TextDiff::from_lines(expected.as_str(), seen);
    let shown = difference.unified_diff().context_radius(0).header("expected", "seen").to_string();
    ensure!(expected == seen, "the transcript is another one; when that is right: rote-peers life … --update\n{shown}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_the_fixture_can_be_changed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/specs/github-subset.openapi.json");
        let spec: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let (compatible, breaking) = (changed(&spec, false).unwrap(), changed(&spec, true).unwrap());
        assert!(compatible != spec && breaking != compatible);
        assert!(changed(&json!({}), false).is_err());
    }
}
