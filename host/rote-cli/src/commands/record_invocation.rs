//! `rote record-invocation`.

use clap::Args;
use rote_app::RunEnd;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Count a run of a flow that was made elsewhere, as the SDK's exit hook does
#[derive(Debug, Args)]
pub struct RecordInvocation {
    /// The flow's name
    flow: String,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    duration_ms: u64,
    /// Why it failed [default: it did not]
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
}

impl RecordInvocation {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let end = self.error.as_deref().map_or(RunEnd::Completed, RunEnd::Stopped);
        context.host()?.analytics()?.record_invocation(&self.flow.parse()?, None, end, self.duration_ms)?;
        Ok(Report::new(json!({ "flow": self.flow }), format!("counted a run of {}", self.flow)))
    }
}
