//! `rote query-stdin`.

use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Result, io};
use crate::render::response::values_text;
use crate::ui::Report;

/// Most bytes of input.
const MAX_INPUT: u64 = 256 << 20;

/// Run a jq program on standard input, with the same engine and limits as `rote query`
#[derive(Debug, Args)]
pub struct QueryStdin {
    /// The jq program
    program: String,
    /// Print texts without quotes
    #[arg(short, long)]
    raw: bool,
}

impl QueryStdin {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let input = context.environment.read_input(MAX_INPUT);
        let input = input.map_err(|error| io("cannot read standard input", &error))?;
        let values = context.session()?.query_text(&self.program, &input)?;
        let parsed: Vec<Value> = values.iter().filter_map(|value| serde_json::from_str(value).ok()).collect();
        Ok(Report::new(json!({ "values": parsed }), values_text(&values, self.raw)).verbatim())
    }
}
