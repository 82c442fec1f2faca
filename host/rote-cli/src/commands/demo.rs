//! `rote demo`.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::Context;
use crate::demo::{DOCUMENT, TrackerServer, tour};
use crate::error::{Result, io};
use crate::render::units::plural;
use crate::ui::{Report, Ui};

/// Show rote's main job on a sample API, proving each claim (exit 1 when one fails)
#[derive(Debug, Args)]
pub struct Demo {
    #[command(subcommand)]
    only: Option<Only>,
}

#[derive(Debug, Subcommand)]
enum Only {
    /// Serve the sample API until Ctrl-C
    Serve {
        /// The port; 0 takes a free one
        #[arg(long, default_value_t = 8741)]
        port: u16,
    },
    /// Print the sample API's OpenAPI document
    Spec,
}

impl Demo {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        match self.only {
            None => tour(ui),
            Some(Only::Spec) => Ok(Report::new(json!({ "document": DOCUMENT }), DOCUMENT).verbatim()),
            Some(Only::Serve { port }) => serve(context, ui, port),
        }
    }
}

/// Serves until the process is told to stop.
fn serve(context: &Context, ui: &mut Ui<'_>, port: u16) -> Result<Report> {
    let taken = format!("cannot serve the sample API on port {port}");
    let server = TrackerServer::start(port).map_err(|error| io(taken, &error))?;
    let base_url = server.base_url();
    // Whoever reads that it serves may stop it at once.
    context.listen()?;
    if ui.json {
        ui.show(&Report::new(json!({ "base_url": base_url }), ""))?;
    } else {
        ui.out(&format!("{base_url}\n"))?;
        ui.talk("serving until Ctrl-C; `rote demo spec` prints the description");
    }
    context.until_stopped()?;
    let count = server.requests().len();
    let data = json!({ "base_url": base_url, "requests": count });
    let text = format!("answered {}", plural(count, "request"));
    Ok(Report { data_was_shown: ui.json, ..Report::new(data, text) })
}
