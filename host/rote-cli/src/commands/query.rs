//! `rote query @N`, also written `rote @N`.

use clap::{Args, Subcommand};
use rote_app::BodyView;
use rote_types::{ResponseId, command};
use serde_json::{Value, json};

use crate::commands::condition;
use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::response;
use crate::ui::{Report, Ui};

/// Rows of a body that are shown when a response is looked at without a program.
const ROWS: usize = 5;
/// Most lines of a whole body on a terminal.
const MAX_LINES: usize = 100;

/// Look at a recorded response: its shape, its body, or what a jq program makes of it
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub struct Query {
    #[command(subcommand)]
    about: Option<About>,
    /// The response, such as `@7`
    #[arg(value_name = "@N", required = true)]
    response: Option<ResponseId>,
    /// The jq program; without one, the shape and the first rows are shown
    program: Option<String>,
    /// Print texts without quotes
    #[arg(short, long)]
    raw: bool,
    /// Unwrap an MCP envelope (`content[0].text`) first
    #[arg(short, long)]
    mcp: bool,
    /// Keep the result in a variable
    #[arg(short, long, value_name = "VAR")]
    save: Option<String>,
    /// Print the whole body as it was received
    #[arg(long, conflicts_with_all = ["program", "save", "mcp"])]
    body: bool,
}

#[derive(Debug, Subcommand)]
enum About {
    /// Show what a body is like as a JSON Schema (2020-12)
    Schema {
        /// The response
        #[arg(value_name = "@N")]
        response: ResponseId,
    },
    #[command(flatten)]
    Condition(condition::Condition),
}

impl Query {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        match (self.about, self.response, self.program) {
            (Some(About::Schema { response: id }), ..) => {
                let session = context.session()?;
                let (schema, bytes) = (session.schema(id)?, session.view(id, 0)?.response.bytes);
                let report = Report::new(&schema, response::folded(&schema));
                if bytes == 0 || report.text.len() as u64 <= bytes {
                    return Ok(report);
                }
                // Of a small body its schema has more words than itself.
                Ok(report.next(command("rote query").argument(id).plain("--body").note("is shorter")))
            }
            (Some(About::Condition(condition)), ..) => condition.run(context, ui),
            (None, Some(id), None) if self.body => body(context, id),
            (None, Some(id), None) if self.save.is_none() && !self.mcp => {
                let view = context.session()?.view(id, ROWS)?;
                let text = response::block(&view);
                Ok(Report::new(&view, text))
            }
            (None, Some(id), program) => {
                let program = program.unwrap_or_else(|| ".".to_owned());
                let query = rote_app::Query { response: id, program, unwrap_mcp: self.mcp, save_as: self.save };
                let result = context.session()?.query(&query)?;
                let values: Vec<Value> =
                    result.values.iter().filter_map(|value| serde_json::from_str(value).ok()).collect();
                let saved = result.saved.as_ref().map(|variable| variable.name.clone());
                let data = json!({ "response": id, "program": result.program, "values": values, "saved": saved, "unlogged": result.unlogged });
                let text = match &saved {
                    Some(name) => format!("saved as ${name}"),
                    // A pipe gets all of it, and a person who asked for a part that part.
                    None if ui.terminal && result.program.trim() == "." => {
                        cut(&response::values_text(&result.values, self.raw), id)
                    }
                    None => response::values_text(&result.values, self.raw),
                };
                if let Some(why) = &result.unlogged {
                    ui.talk(&format!("note: the query is not in the log: {why}"));
                }
                Ok(Report::new(data, text).verbatim())
            }
            (None, None, _) => Err(usage("no response was named", "rote @1 '.'")),
        }
    }
}

/// A text of no more lines than a person looks through; what is left out is counted, with the command that prints it.
fn cut(text: &str, id: ResponseId) -> String {
    let more = text.lines().count().saturating_sub(MAX_LINES);
    if more == 0 {
        return text.to_owned();
    }
    let shown: Vec<&str> = text.lines().take(MAX_LINES).collect();
    format!("{}\n… {more} more lines; all: {}", shown.join("\n"), command("rote query").argument(id).plain("--body"))
}

fn body(context: &Context, id: ResponseId) -> Result<Report> {
    let body = context.session()?.body(id)?;
    let text = body_text(&body);
    Ok(Report::new(&body, text).verbatim())
}

/// Returns a whole body; for bytes, where they are.
pub(super) fn body_text(body: &BodyView) -> String {
    match body {
        BodyView::Empty => String::new(),
        BodyView::Json { text } | BodyView::Text { text, .. } => text.clone(),
        BodyView::Binary { path, .. } => path.clone(),
        BodyView::LeftOut { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_is_cut_with_a_count_and_a_short_one_is_whole() {
        let lines = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(cut(&lines(MAX_LINES), ResponseId(7)), lines(MAX_LINES));
        let long = cut(&lines(MAX_LINES + 3), ResponseId(7));
        assert!(long.ends_with("… 3 more lines; all: rote query @7 --body"), "{long}");
    }
}
