//! `rote clean`.

use std::time::Duration;

use clap::Args;

use rote_app::{CleanFilter, Kept, KeptFor};

use super::ls::unreadable;
use crate::context::Context;
use crate::error::Result;
use crate::render::units::plural;
use crate::ui::Report;

/// Remove whole workspaces
#[derive(Debug, Args)]
pub struct Clean {
    /// Only those not used for that long, such as `30d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Only those without a response
    #[arg(long)]
    empty: bool,
    /// Only those whose name matches, such as `run-*`
    #[arg(long, value_name = "GLOB")]
    pattern: Option<String>,
    /// All of them
    #[arg(long)]
    all: bool,
    /// Say which, remove nothing
    #[arg(long)]
    dry_run: bool,
}

fn age(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not an age; use a number with `d`, `h`, `m` or `s`");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

impl Clean {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let filter =
            CleanFilter { older_than: self.older_than, empty: self.empty, pattern: self.pattern, all: self.all };
        let done = context.session()?.clean(&filter, self.dry_run)?;
        let names: Vec<String> = done.cleaning.removed.iter().map(|name| format!("  {name}")).collect();
        let verb = if done.dry_run { "would remove" } else { "removed" };
        let head = format!("{verb} {}", plural(names.len(), "workspace"));
        let text = [vec![head], names, kept(&done.cleaning.kept)].concat().join("\n");
        Ok(Report::new(&done, text + &unreadable(&done.cleaning.unreadable)))
    }
}

/// How many were kept, and why; nothing where none was.
fn kept(kept: &[Kept]) -> Vec<String> {
    const REASONS: [(KeptFor, &str); 3] = [
        (KeptFor::InDoubt, "with a write in doubt (rote doubts)"),
        (KeptFor::GoingOn, "that runs in another process"),
        (KeptFor::Stopped, "with a run that stopped after it wrote and can be resumed (--all or --pattern removes it)"),
    ];
    let count = |because| kept.iter().filter(|one| one.because == because).count();
    let told = REASONS.into_iter().filter(|(because, _)| count(*because) > 0);
    let told: Vec<String> = told.map(|(because, words)| format!("{} {words}", count(because))).collect();
    if told.is_empty() { Vec::new() } else { vec![format!("kept {}: {}", kept.len(), told.join(", "))] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("2d"), Ok(Duration::from_secs(172_800)));
        assert_eq!(age("90s"), Ok(Duration::from_secs(90)));
        for bad in ["", "d", "3", "3w", "-1d", "9999999999999999999d", "1é"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
