//! `rote adapter allow`.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Let an adapter reach a private address range
///
/// Loopback, private, link-local and metadata addresses are refused unless they are allowed here, whatever an
/// API description or a name server says.
#[derive(Debug, Args)]
pub struct Allow {
    /// The adapter
    id: String,
    /// The range, such as `10.1.2.0/24` or `127.0.0.1/32`
    #[arg(long, value_name = "RANGE")]
    cidr: String,
    /// Only this port [default: any]
    #[arg(long)]
    port: Option<u16>,
    /// Why, for the audit
    #[arg(long, default_value = "allowed by hand")]
    reason: String,
}

impl Allow {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let allowed = context.app()?.allow(&self.id, &self.cidr, self.port, &self.reason)?;
        let text = format!("{} may reach {}", self.id, allowed);
        Ok(Report::new(json!({ "adapter": self.id, "allowed": allowed }), text))
    }
}
