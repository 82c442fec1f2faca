//! `rote flow list`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::render::units::clip;
use crate::ui::Report;

/// List the flows
#[derive(Debug, Args)]
pub struct List {}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let flows = context.app()?.flows()?;
        let rows: Vec<Vec<String>> = flows
            .iter()
            .map(|one| {
                let about = one.problem.clone().unwrap_or_else(|| one.description.clone());
                let version = one.version.clone().unwrap_or_default();
                let takes = one.parameters.join(", ");
                vec![one.name.clone(), version, one.steps.to_string(), takes, clip(&about, 70)]
            })
            .collect();
        let text = match rows.is_empty() {
            true => "no flows yet".to_owned(),
            false => table(&["name", "version", "steps", "takes", "about"], &rows),
        };
        Ok(Report::new(serde_json::json!({ "total": flows.len(), "flows": flows }), text))
    }
}
