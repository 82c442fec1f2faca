//! `rote flow validate`.

use clap::Args;

use rote_types::command;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::facts;
use crate::render::units::size;
use crate::ui::Report;

/// Check that a file is a flow: digest, sections, frontmatter, payload, world
#[derive(Debug, Args)]
pub struct Validate {
    /// Its name, or a path to a flow.wasm
    flow: String,
}

impl Validate {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let held = context.host()?.linter()?.validate(&context.session()?.flow(&self.flow)?)?;
        let bytes = size(u64::try_from(held.bytes).unwrap_or(u64::MAX));
        let rows: Vec<(&str, String)> = held.checks.iter().map(|one| (one.check, one.found.clone())).collect();
        let head = format!("{} {} is a flow ({bytes}, {})", held.flow, held.version, held.sha256);
        let text = format!("{head}\n{}", facts(&rows));
        let next = command("rote flow lint").argument(&self.flow);
        Ok(Report::new(&held, text).next(next))
    }
}
