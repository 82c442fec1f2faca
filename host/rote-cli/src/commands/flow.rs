//! `rote flow …`.

mod info;
mod list;
mod template;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Make flows from what a workspace did, and look at them
#[derive(Debug, Subcommand)]
pub enum Flow {
    #[command(subcommand)]
    Template(template::Template),
    List(list::List),
    Info(info::Info),
}

impl Flow {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        match self {
            Self::Template(command) => command.run(context),
            Self::List(command) => command.run(context),
            Self::Info(command) => command.run(context),
        }
    }
}
