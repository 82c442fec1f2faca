//! Runs the README's walkthrough: every fenced block marked `sh walkthrough` is one part of one script.
//!
//! The script runs with `set -eu`, the built binary on the path and a temporary directory of its own, so that a
//! command in the README that stopped working fails CI. Background jobs are stopped at the end.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs the walkthrough with `rote`.
///
/// # Errors
/// When a command of the walkthrough fails, or the README has none.
pub(crate) fn run(rote: &Path) -> Result<()> {
    let root = super::repository();
    let readme = std::fs::read_to_string(root.join("README.md")).context("cannot read README.md")?;
    let script = script(&readme);
    ensure!(!script.is_empty(), "README.md has no block marked `sh walkthrough`");
    let binary = rote.canonicalize().with_context(|| format!("no binary at {}", rote.display()))?;
    let folder = binary.parent().context("the binary has a folder")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let scratch = std::env::temp_dir().join(format!("rote-walkthrough-{}", std::process::id()));
    std::fs::create_dir(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let full = format!("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    let status = Command::new("bash")
        .args(["-c", &full])
        .current_dir(&root)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("TMPDIR", &scratch)
        .status()
        .context("cannot start bash");
    // Removed whether or not the script went through; a leftover would only waste space.
    let removed = std::fs::remove_dir_all(&scratch);
    let status = status?;
    ensure!(status.success(), "the README walkthrough failed with {status}");
    removed.with_context(|| format!("cannot remove {}", scratch.display()))?;
    println!("walkthrough: every command of the README ran");
    Ok(())
}

/// Joins the marked blocks.
fn script(readme: &str) -> String {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match (inside, line.trim_end()) {
            (false, "```sh walkthrough") => inside = true,
            (true, "```") => inside = false,
            (true, _) => lines.push(line),
            (false, _) => {}
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn only_marked_blocks_run() {
        let text = "```sh\nno\n```\n```sh walkthrough\nyes\n```\ntext\n```sh walkthrough\nagain\n```\n";
        assert_eq!(script(text), "yes\nagain");
    }
}
