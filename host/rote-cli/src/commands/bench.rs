//! `rote bench`.

use std::path::PathBuf;

use clap::Args;

use crate::bench::{self, Measured};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Measure what a user feels, each figure beside a baseline of the same run
///
/// Everything happens in homes of its own, which are deleted afterwards: installing an adapter against parsing
/// its description, its first call against a warm one, a search over 200 adapters, a one-step `rote run` and the commands of
/// the first hour, with what they print, against `rote --version`, making a flow against replaying it, governed calls against a bare client, queries on a 10 MB
/// response against jq.
#[derive(Debug, Args)]
pub struct Bench {
    /// A description to install, besides the sample API's; repeat for several
    #[arg(long, value_name = "FILE")]
    spec: Vec<PathBuf>,
    /// How often each command runs
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Exit 1 when a goal is missed by more than a quarter
    #[arg(long)]
    check: bool,
}

impl Bench {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let measured = bench::measure(context, ui, &self.spec, self.runs)?;
        let mut lines: Vec<String> = measured.iter().map(ToString::to_string).collect();
        let missed: Vec<&str> = measured.iter().filter(|one| one.is_missed()).map(Measured::name).collect();
        if self.check && !missed.is_empty() {
            lines.push(format!("missed by more than a quarter: {}", missed.join(", ")));
        }
        let exit = u8::from(self.check && !missed.is_empty());
        Ok(Report { exit, ..Report::new(&measured, lines.join("\n")) })
    }
}
