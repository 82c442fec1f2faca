//! The layer check: the table in ARCHITECTURE.md is the law, `cargo metadata` is the fact.
//!
//! It fails on an edge that the table does not list, on an edge that goes sideways or upward, on a crate that
//! the table forgot, on a table row without a crate, on a crate without the workspace's lints, and on code that only
//! one of the profiles compiles.
//! Dev-dependencies are free: tests may reach across.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// One row of the table: its rank and the crates that it may use.
struct Row {
    rank: u32,
    may_use: BTreeSet<String>,
}

/// Compares table and fact.
///
/// # Errors
/// Lists every violation at once.
pub(crate) fn check() -> Result<()> {
    let root = super::repository();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    let table = parse(&text)?;
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;
    let mut problems = Vec::new();
    for package in &metadata.packages {
        check_lints(package, &mut problems)?;
        if package.manifest_path.as_str().contains("/host/") {
            check_edges(package, &table, &mut problems);
            check_profile(package, &mut problems)?;
        }
    }
    for name in table.keys() {
        if !metadata.packages.iter().any(|package| package.name.as_str() == name) {
            problems.push(format!("the table lists `{name}`, which is not a crate of the workspace"));
        }
    }
    ensure!(problems.is_empty(), "layer check failed:\n  {}", problems.join("\n  "));
    println!("layers: {} crates, every edge is in the table", table.len());
    Ok(())
}

/// Reads the rows `| rank | `crate` | purpose | may use |`.
fn parse(text: &str) -> Result<BTreeMap<String, Row>> {
    let mut table = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rank, name, _, may_use] = cells[..] else {
            continue;
        };
        let Ok(rank) = rank.parse() else { continue };
        let may_use = may_use
            .split([',', ' '])
            .filter(|word| !word.is_empty() && *word != "–")
            .map(|word| format!("rote-{word}"))
            .collect();
        table.insert(name.trim_matches('`').to_owned(), Row { rank, may_use });
    }
    if table.is_empty() {
        bail!("ARCHITECTURE.md has no crate table");
    }
    Ok(table)
}

fn check_edges(package: &Package, table: &BTreeMap<String, Row>, problems: &mut Vec<String>) {
    let Some(row) = table.get(package.name.as_str()) else {
        problems.push(format!("`{}` is not in the table", package.name));
        return;
    };
    let edges = package
        .dependencies
        .iter()
        .filter(|edge| edge.kind != DependencyKind::Development && edge.name.starts_with("rote-"));
    for edge in edges {
        let target = table.get(&edge.name).map(|row| row.rank);
        if !row.may_use.contains(&edge.name) {
            problems.push(format!("`{}` uses `{}`, which the table does not allow", package.name, edge.name));
        } else if target.is_none_or(|rank| rank >= row.rank) {
            problems.push(format!("`{}` uses `{}`, which is not below it", package.name, edge.name));
        }
    }
}

fn check_lints(package: &Package, problems: &mut Vec<String>) -> Result<()> {
    let manifest = std::fs::read_to_string(&package.manifest_path)
        .with_context(|| format!("cannot read {}", package.manifest_path))?;
    if !manifest.contains("[lints]\nworkspace = true") {
        problems.push(format!("`{}` does not use the workspace's lints", package.name));
    }
    Ok(())
}

/// What differs between the profile that is tested and the one that is released: code behind either is not tested.
const PROFILE_WORDS: [&str; 2] = ["debug_assertions", "debug_assert"];

/// Refuses code that the tested profile compiles and the release profile does not, or the other way round.
fn check_profile(package: &Package, problems: &mut Vec<String>) -> Result<()> {
    let folder = package.manifest_path.parent().context("a manifest has a folder")?.join("src");
    for path in sources(folder.as_std_path())? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let asks =
            |line: &&str| PROFILE_WORDS.iter().any(|word| line.contains(word)) && !line.contains("debug_assert()");
        if let Some(line) = text.lines().find(asks) {
            problems.push(format!("{} asks for the profile: `{}`", path.display(), line.trim()));
        }
    }
    Ok(())
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(extension) if extension == "rs" => found.push(path),
                _ => {}
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_rank_and_allowed_crates() {
        let table =
            parse("| rank | crate | purpose | may use |\n|---|---|---|---|\n| 3 | `rote-gate` | x | types, home |\n")
                .unwrap();
        let row = &table["rote-gate"];
        assert_eq!(row.rank, 3);
        assert!(row.may_use.contains("rote-home") && row.may_use.len() == 2);
    }

    #[test]
    fn a_text_without_a_table_is_refused() {
        assert!(parse("# nothing").is_err());
    }
}
