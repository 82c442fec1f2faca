//! `rote adapter allow`.

use clap::Args;
use rote_types::{CommandLine, command};
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// The reason of whoever gives none.
const BY_HAND: &str = "allowed by hand";

/// Let an adapter reach a private address range, or send credentials unencrypted
///
/// Loopback, private, link-local and metadata addresses are refused unless they are allowed here, whatever an
/// API description or a name server says. Over http a credential goes to this machine only, unless it is allowed here.
#[derive(Debug, Args)]
pub struct Allow {
    /// The adapter
    id: String,
    /// The range, such as `10.1.2.0/24` or `127.0.0.1/32`
    #[arg(long, value_name = "RANGE", required_unless_present = "cleartext")]
    cidr: Option<String>,
    /// Let credentials travel unencrypted to where the adapter's requests go now
    #[arg(long, conflicts_with_all = ["cidr", "port"])]
    cleartext: bool,
    /// Only this port [default: any]
    #[arg(long)]
    port: Option<u16>,
    /// Why, for the audit
    #[arg(long, default_value = BY_HAND)]
    reason: String,
    #[command(flatten)]
    yes: Yes,
}

impl Allow {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let head = || command("rote adapter allow").argument(&self.id);
        let reason = |line: CommandLine| match self.reason.as_str() {
            BY_HAND => line,
            reason => line.option("--reason", reason),
        };
        let Some(cidr) = &self.cidr else {
            let session = context.session()?;
            let origins = session.cleartext_origins(&self.id)?;
            let question = format!("let `{}` send credentials unencrypted to {}?", self.id, origins.join(", "));
            let consent = self.yes.agree(context, ui, &question, reason(head().plain("--cleartext")))?;
            session.allow_cleartext(&self.id, &origins, &self.reason, consent)?;
            let text = format!("{} may send credentials unencrypted to {}", self.id, origins.join(", "));
            return Ok(Report::new(json!({ "adapter": self.id, "cleartext": origins }), text));
        };
        let session = context.session()?;
        session.installed(&self.id)?;
        let port = self.port.map(|port| format!(" port {port}")).unwrap_or_default();
        let question = format!("let `{}` reach {cidr}{port}?", self.id);
        let mut command = head().option("--cidr", cidr);
        if let Some(port) = self.port {
            command = command.option("--port", port);
        }
        let consent = self.yes.agree(context, ui, &question, reason(command))?;
        let allowed = session.allow(&self.id, cidr, self.port, &self.reason, consent)?;
        let text = format!("{} may reach {}", self.id, allowed);
        Ok(Report::new(json!({ "adapter": self.id, "allowed": allowed }), text))
    }
}
