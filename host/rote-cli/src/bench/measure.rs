//! The measurements, one function each.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rote_app::AppError;
use rote_types::ErrorKind;
use serde_json::Value;

use super::Measured;
use super::process::{Took, median, program, rote, time};
use crate::context::Context;
use crate::demo::DOCUMENT;
use crate::error::{Result, io};
use crate::ui::Ui;

/// Most bytes of a description that is parsed as the baseline.
const MOST_SPEC_BYTES: u64 = 256 << 20;
/// Descriptions that are larger have a goal of their own.
const LARGE_SPEC_BYTES: usize = 16 << 20;
/// Rows of the response that is queried: about 10 MB of JSON.
const ROWS: usize = 100_000;
const PROGRAM: &str = "[.[] | select(.id % 1000 == 0) | .name] | length";

/// Takes every measurement, telling each as it comes.
pub(crate) fn measure(context: &Context, ui: &mut Ui<'_>, specs: &[PathBuf], runs: u32) -> Result<Vec<Measured>> {
    let folder = tempfile::tempdir().map_err(|error| io("cannot make a temporary folder", &error))?;
    let sample = folder.path().join("tracker.yaml");
    write(&sample, DOCUMENT)?;
    let mut all = Vec::new();
    for spec in std::iter::once(&sample).chain(specs) {
        ui.talk(&format!("installing {}", spec.display()));
        all.push(adapter_new(context, folder.path(), spec, runs.min(5))?);
    }
    ui.talk("calling and searching adapters");
    all.extend(super::adapters::measure(folder.path(), &sample, runs)?);
    ui.talk("running flows");
    all.extend(super::runs::measure(folder.path(), &sample, runs)?);
    ui.talk("querying a 10 MB response");
    all.push(query(folder.path(), runs.min(10))?);
    Ok(all)
}

#[expect(clippy::disallowed_methods, reason = "files of the benchmark's own temporary folder, not of a home")]
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| io(format!("cannot write {}", path.display()), &error))
}

pub(super) fn fresh(folder: &Path) -> Result<tempfile::TempDir> {
    tempfile::tempdir_in(folder).map_err(|error| io("cannot make a temporary home", &error))
}

pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| AppError::new(ErrorKind::Usage, format!("`{}` is no text", path.display())).into())
}

/// `rote adapter new`, in a new home each time, against parsing the same bytes into a JSON value.
fn adapter_new(context: &Context, folder: &Path, spec: &Path, runs: u32) -> Result<Measured> {
    let spec = spec.canonicalize().map_err(|error| io(format!("cannot read {}", spec.display()), &error))?;
    let took = median(runs, || {
        let home = fresh(folder)?;
        time(&mut rote(home.path(), &["adapter", "new", "bench", "--spec", text(&spec)?, "--yes"])?)
    })?;
    let bytes = context.session()?.read_file(&spec, MOST_SPEC_BYTES)?;
    let start = Instant::now();
    let parsed = serde_json::from_slice::<Value>(&bytes).is_ok();
    let parse = parsed.then(|| start.elapsed());
    let name = spec.file_name().unwrap_or_default().to_string_lossy();
    let (goal, at_most, at_most_mib) = match bytes.len() > LARGE_SPEC_BYTES {
        true => ("3000 ms and 300 MiB for Microsoft Graph's 20 MB", Duration::from_secs(3), 300.0),
        false => ("1000 ms and 200 MiB for GitHub and Stripe", Duration::from_secs(1), 200.0),
    };
    let mut measured = Measured::new(format!("adapter new {name}"), took.wall, goal)
        .against("parsing it as JSON", parse)
        .at_most(at_most);
    measured.peak_mib = Some(mib(took.peak_bytes));
    measured.at_most_mib = Some(at_most_mib);
    Ok(measured)
}

fn mib(bytes: u64) -> f64 {
    // A megabyte count is far below 2^52, so nothing is lost.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^52")]
    let bytes = bytes as f64;
    bytes / f64::from(1 << 20)
}

/// A jq query on a recorded response of about 10 MB, against jq on the same bytes.
fn query(folder: &Path, runs: u32) -> Result<Measured> {
    let rows: Vec<String> = (0..ROWS)
        .map(|n| format!(r#"{{"id":{n},"name":"row {n}","note":"{}","tags":["a","b"]}}"#, "x".repeat(50)))
        .collect();
    let file = folder.join("rows.json");
    write(&file, &format!("[{}]", rows.join(",")))?;
    let home = fresh(folder)?;
    time(&mut rote(home.path(), &["init", "bench"])?)?;
    time(&mut rote(home.path(), &["inject", text(&file)?])?)?;
    let ask = || time(&mut rote(home.path(), &["query", "@1", PROGRAM])?);
    ask()?;
    let took = median(runs, ask)?;
    let jq = median(runs, || jq(&file)).ok().map(|took| took.wall);
    Ok(Measured::new("query on 10 MB", took.wall, "as fast as jq").against("jq", jq))
}

fn jq(file: &Path) -> Result<Took> {
    time(&mut program("jq", &[PROGRAM, text(file)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mebibyte_is_two_to_the_twentieth() {
        assert!((mib(3 << 20) - 3.0).abs() < f64::EPSILON);
    }
}
