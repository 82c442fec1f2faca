//! `rote adapter list`.

use clap::Args;

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::base_url;
use crate::render::table::table;
use crate::ui::Report;

/// List the installed adapters
#[derive(Debug, Args)]
pub struct List {}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let listed = context.session()?.adapters()?;
        let rows: Vec<Vec<String>> = listed
            .adapters
            .iter()
            .map(|one| {
                let one = &one.line;
                let name = format!("{} {}", one.name, one.version);
                let kind = one.spec_type.as_str().to_owned();
                vec![one.id.to_string(), name, kind, one.tools.to_string(), base_url(one.base_url.as_deref())]
            })
            .collect();
        let mut text = if rows.is_empty() {
            "no adapters yet".to_owned()
        } else {
            table(&["id", "api", "format", "tools", "base url"], &rows)
        };
        for one in &listed.unreadable {
            text.push_str(&format!("\n{}: unreadable: {}", one.id, one.problem));
        }
        let report = Report::new(&listed, text);
        Ok(if rows.is_empty() { report.next("rote adapter new ID openapi.yaml") } else { report })
    }
}
