//! `rote bench`.

use std::path::PathBuf;

use clap::Args;

use crate::bench;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Measure what a user feels, each figure beside a baseline of the same run
///
/// Everything happens in homes of its own, which are deleted afterwards: installing an adapter against parsing
/// its description, a one-step `rote run` against `rote --version`, a query on a 10 MB response against jq.
#[derive(Debug, Args)]
pub struct Bench {
    /// A description to install, besides the sample API's; repeat for several
    #[arg(long, value_name = "FILE")]
    spec: Vec<PathBuf>,
    /// How often each command runs
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
}

impl Bench {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let measured = bench::measure(context, ui, &self.spec, self.runs)?;
        let lines: Vec<String> = measured.iter().map(ToString::to_string).collect();
        Ok(Report::new(&measured, lines.join("\n")))
    }
}
