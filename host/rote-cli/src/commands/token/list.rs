//! `rote token list`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::bindings;
use crate::render::table::table;
use crate::ui::Report;

/// List the credentials and what they are bound to, without their values
#[derive(Debug, Args)]
pub struct List {}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let tokens = context.app()?.tokens()?;
        let rows: Vec<Vec<String>> = tokens
            .iter()
            .map(|one| {
                let ends = one.expires_at.map(|at| format!("{at:.0}")).unwrap_or_default();
                vec![
                    one.name.clone(),
                    one.kind.clone(),
                    format!("{:.0}", one.created_at),
                    ends,
                    bindings(&one.bindings),
                    one.description.clone(),
                ]
            })
            .collect();
        let text = match rows.is_empty() {
            true => "no credentials yet".to_owned(),
            false => table(&["name", "type", "set", "expires", "bound to", "note"], &rows),
        };
        Ok(Report::new(&tokens, text))
    }
}
