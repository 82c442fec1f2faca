//! `rote flow score`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::ui::Report;

/// Score a flow from 0 to 100, with a reason for each dimension
#[derive(Debug, Args)]
pub struct Score {
    /// Its name, or a path to a flow.wasm
    flow: String,
}

impl Score {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let score = context.host()?.linter()?.score(&context.session()?.flow(&self.flow)?)?;
        let rows: Vec<Vec<String>> = score
            .dimensions
            .iter()
            .map(|one| {
                let points = format!("{:.1} of {:.0}", one.value * one.weight * 100.0, one.weight * 100.0);
                vec![one.name.replace('_', " "), points, one.reasons.join("; ")]
            })
            .collect();
        let head = format!("{} {}: {} of 100 (rubric {})", score.flow, score.version, score.score, score.rubric);
        let text = format!("{head}\n{}", table(&["dimension", "points", "why"], &rows));
        Ok(Report::new(&score, text))
    }
}
