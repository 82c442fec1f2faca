//! `rote token list`.

use clap::Args;
use rote_app::TokenInfo;

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::bindings;
use crate::render::table::table;
use crate::ui::Report;

/// The column of the bindings.
const BOUND_TO: usize = 4;

/// List the credentials and what they are bound to, without their values
#[derive(Debug, Args)]
pub struct List {}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let tokens = context.session()?.tokens()?;
        let rows: Vec<Vec<String>> = tokens.iter().flat_map(rows_of).collect();
        let text = if rows.is_empty() {
            "no credentials yet".to_owned()
        } else {
            table(&["name", "type", "set", "expires", "bound to", "note"], &rows)
        };
        Ok(Report::new(&tokens, text))
    }
}

/// One row for each binding: where a credential may go is what the list is for, and no cell has room for all of it.
fn rows_of(token: &TokenInfo) -> Vec<Vec<String>> {
    let ends = token.expires_at.map(|at| format!("{at:.0}")).unwrap_or_default();
    let set = format!("{:.0}", token.created_at);
    let mut first = vec![token.name.clone(), token.kind.clone(), set, ends, String::new(), token.description.clone()];
    let mut bound = token.bindings.iter().map(|one| bindings(std::slice::from_ref(one)));
    first[BOUND_TO] = bound.next().unwrap_or_default();
    let further = bound.map(|binding| {
        let mut row = vec![String::new(); first.len()];
        row[BOUND_TO] = binding;
        row
    });
    let further: Vec<_> = further.collect();
    std::iter::once(first).chain(further).collect()
}
