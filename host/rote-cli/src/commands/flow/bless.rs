//! `rote flow bless` and `unbless`.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use rote_app::{BlessRequest, FlowInfo, FlowStatus, write_lines};
use rote_types::{CommandLine, command};
use serde_json::json;

use crate::ask::Yes;
use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::units::second;
use crate::ui::{Report, Ui};

/// Allow a flow, exactly as it is, to make its writes without a token each time
///
/// The permissions are signed with a key of this machine. They end with their time, and with any change of the flow.
#[derive(Debug, Args)]
pub struct Bless {
    /// The flow's name
    flow: String,
    /// Most calls of each tool in one run
    #[arg(long, value_name = "N")]
    max_calls: Option<u32>,
    /// What arguments must be, as JSON: {"adapter/tool": {"argument": {"enum": ["a"]}}}; also glob (`*` stays
    /// within a / segment, `**` crosses), minimum, maximum
    #[arg(long, value_name = "JSON")]
    constrain: Option<String>,
    /// How many days it holds [default: until it is taken back]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: Option<u32>,
    #[command(flatten)]
    yes: Yes,
}

impl Bless {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let session = context.session()?;
        let blessings = session.host().blessings()?;
        let info = FlowInfo::read(&blessings, &session.flow(&self.flow)?)?;
        let offer = blessings.offer_blessing(self.request(session.user())?)?;
        let writes = write_lines(&offer.writes, &[]).join("\n  ");
        let until = offer.expires_at.map_or_else(|| "it is taken back".to_owned(), second);
        let ends = match info.frontmatter.status {
            FlowStatus::Draft => "\n  it is a draft, and a release is another program: this ends with it",
            _ => "",
        };
        let question = format!("let `{}` write without asking?\n  {writes}\n  until {until}{ends}", self.flow);
        let consent = self.yes.agree(context, ui, &question, self.command())?;
        let blessed = session.bless(&offer, consent)?;
        let until = blessed.permissions.expires_at.map_or_else(String::new, |at| format!(" until {}", second(at)));
        let head = format!("blessed {}{until}", self.flow);
        let text = format!("{head}\n  {writes}{ends}");
        Ok(Report::new(&blessed, text).next(info.frontmatter.run_command(&self.flow)))
    }
}

impl Bless {
    fn request(&self, by: &str) -> Result<BlessRequest> {
        let constraints = match &self.constrain {
            None => BTreeMap::new(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                let hint = "--constrain '{\"adapter/tool\": {\"argument\": {\"enum\": [\"a\"]}}}'";
                usage(format!("the constraints do not fit: {error}"), hint)
            })?,
        };
        Ok(BlessRequest {
            flow: self.flow.parse()?,
            max_calls: self.max_calls,
            constraints,
            lifetime: self.days.map(|days| Duration::from_secs(u64::from(days) * 86_400)),
            by: by.to_owned(),
        })
    }

    /// The command as it was typed: with other bounds it would allow something else.
    fn command(&self) -> CommandLine {
        let mut line = command("rote flow bless").argument(&self.flow);
        if let Some(most) = self.max_calls {
            line = line.option("--max-calls", most);
        }
        if let Some(constraints) = &self.constrain {
            line = line.option("--constrain", constraints);
        }
        match self.days {
            Some(days) => line.option("--days", days),
            None => line,
        }
    }
}

/// Take a blessing back: the flow's writes need tokens again
#[derive(Debug, Args)]
pub struct Unbless {
    /// The flow's name
    flow: String,
    #[command(flatten)]
    yes: Yes,
}

impl Unbless {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let (session, flow) = (context.session()?, self.flow.parse()?);
        let is_blessed = session.host().blessings()?.has_blessing(&flow)?;
        let was = is_blessed && {
            let question = format!("take the blessing of `{flow}` back?");
            let unbless = command("rote flow unbless").argument(&flow);
            session.unbless(&flow, self.yes.agree_alone(context, ui, &question, unbless)?)?
        };
        let text = if was { "is no longer blessed" } else { "was not blessed" };
        Ok(Report::new(json!({ "flow": self.flow, "was_blessed": was }), format!("{} {text}", self.flow)))
    }
}
