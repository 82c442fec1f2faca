//! `rote flow list`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::render::units::{MAX_LINE, clip};
use crate::ui::Report;

/// List the flows
#[derive(Debug, Args)]
pub struct List {
    /// Only those that something keeps from running here
    #[arg(long)]
    unhealthy: bool,
}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let mut flows = context.host()?.library()?.list()?;
        if self.unhealthy {
            let healthy = context.host()?.doctor()?.all()?.into_iter().filter(|one| one.healthy).map(|one| one.name);
            let healthy: Vec<String> = healthy.collect();
            flows.retain(|one| !healthy.contains(&one.name));
        }
        let rows: Vec<Vec<String>> = flows
            .iter()
            .map(|one| {
                let about = one.problem.clone().unwrap_or_else(|| one.description.clone());
                let version = one.version.clone().unwrap_or_default();
                let takes = one.parameters.join(", ");
                vec![
                    one.name.clone(),
                    version,
                    one.status.map(|status| status.as_str().to_owned()).unwrap_or_default(),
                    one.form.map(|form| form.as_str().to_owned()).unwrap_or_default(),
                    takes,
                    clip(&about, MAX_LINE),
                ]
            })
            .collect();
        let text = match rows.is_empty() {
            true if self.unhealthy => "every flow is healthy".to_owned(),
            true => "no flows yet".to_owned(),
            false => table(&["name", "version", "status", "form", "takes", "about"], &rows),
        };
        Ok(Report::new(serde_json::json!({ "total": flows.len(), "flows": flows }), text))
    }
}
