//! `rote vars`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::table::table;
use crate::ui::Report;

/// List the variables of the workspace
#[derive(Debug, Args)]
pub struct Vars {}

impl Vars {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let variables = context.session()?.variables()?;
        let rows: Vec<Vec<String>> = variables
            .iter()
            .map(|one| {
                let source = match (one.source_response, &one.source_query) {
                    (Some(id), Some(query)) => format!("{id} {query}"),
                    (Some(id), None) => id.to_string(),
                    _ => "set by hand".to_owned(),
                };
                vec![format!("${}", one.name), one.value.to_string(), source]
            })
            .collect();
        let text =
            if rows.is_empty() { "no variables yet".to_owned() } else { table(&["name", "value", "from"], &rows) };
        Ok(Report::new(&variables, text))
    }
}
