//! `rote flow answer`.

use clap::Args;

use super::template::{answered, report};
use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Say what the recording of a draft did not decide; the flow is made again with the answers
#[derive(Debug, Args)]
pub struct Answer {
    /// The flow's name
    flow: String,
    /// A question, by its number or its id, and its answer; `rote flow review` shows both
    #[arg(value_name = "QUESTION=ANSWER", required = true)]
    answers: Vec<String>,
}

impl Answer {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let answers: Vec<(String, String)> =
            answered(&self.answers, "QUESTION=ANSWER, as `rote flow review` shows them")?.into_iter().collect();
        let crystallizer = context.host()?.crystallizer()?;
        let made = context.block_on(crystallizer.answer(&self.flow.parse()?, &answers))??;
        Ok(report(&made))
    }
}
