//! `rote explore`.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::render::adapter::answer;
use crate::ui::Report;

/// Find tools of all adapters that fit an intent
#[derive(Debug, Args)]
pub struct Explore {
    /// What you want to do, in your own words
    intent: String,
    /// Most tools to show
    #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=50))]
    limit: u16,
}

impl Explore {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let (found, unreadable) = context.session()?.explore(&self.intent, usize::from(self.limit))?;
        let text = answer(&found, true);
        let data = json!({ "intent": self.intent, "tools": found.fits, "near": found.near, "unreadable": unreadable });
        Ok(Report::new(data, text))
    }
}
