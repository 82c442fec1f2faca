//! `rote flow …`.

mod answer;
mod author;
mod bless;
mod derive;
mod health;
mod index;
mod infer;
mod info;
mod lint;
mod list;
mod pending;
mod release;
mod remove;
mod repin;
mod review;
mod schema;
mod score;
mod search;
mod stats;
mod template;
mod validate;

pub(super) use author::language;
use clap::Subcommand;
pub(super) use derive::Decompile;
pub(super) use template::{ANSWER, answered};

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Report, Ui};

/// Make, build, test, bless and look at flows
#[derive(Debug, Subcommand)]
pub enum Flow {
    #[command(subcommand)]
    Template(template::Template),
    List(list::List),
    Info(info::Info),
    New(author::New),
    Build(author::Build),
    Dev(author::Dev),
    Test(author::Test),
    Fork(derive::Fork),
    Bump(derive::Bump),
    Export(derive::Export),
    Decompile(derive::Decompile),
    #[command(subcommand)]
    Pending(pending::Pending),
    Bless(bless::Bless),
    Unbless(bless::Unbless),
    Stats(stats::Stats),
    Analytics(stats::Analytics),
    Validate(validate::Validate),
    Lint(lint::Lint),
    Score(score::Score),
    Health(health::Health),
    Doctor(health::Doctor),
    Repin(repin::Repin),
    Schema(schema::Schema),
    Review(review::Review),
    Answer(answer::Answer),
    Release(release::Release),
    Remove(remove::Remove),
    Search(search::Search),
    Index(index::Index),
    Infer(infer::Infer),
}

impl Flow {
    /// Whether it looks at what runs would meet.
    pub(super) fn is_checkup(&self) -> bool {
        matches!(self, Self::Health(_) | Self::Doctor(_))
    }

    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        match self {
            Self::Template(command) => command.run(context),
            Self::List(command) => command.run(context),
            Self::Info(command) => command.run(context),
            Self::New(command) => command.run(context),
            Self::Build(command) => command.run(context),
            Self::Dev(command) => command.run(context, ui),
            Self::Test(command) => command.run(context),
            Self::Fork(command) => command.run(context),
            Self::Bump(command) => command.run(context),
            Self::Export(command) => command.run(context),
            Self::Decompile(command) => command.run(context),
            Self::Pending(command) => command.run(context),
            Self::Bless(command) => command.run(context, ui),
            Self::Unbless(command) => command.run(context, ui),
            Self::Stats(command) => command.run(context),
            Self::Analytics(command) => command.run(context),
            Self::Validate(command) => command.run(context),
            Self::Lint(command) => command.run(context),
            Self::Score(command) => command.run(context),
            Self::Health(command) => command.run(context),
            Self::Doctor(command) => command.run(context),
            Self::Repin(command) => command.run(context, ui),
            Self::Schema(_) => Ok(schema::Schema::run()),
            Self::Review(command) => command.run(context),
            Self::Answer(command) => command.run(context),
            Self::Release(command) => command.run(context),
            Self::Remove(command) => command.run(context, ui),
            Self::Search(command) => command.run(context, ui),
            Self::Index(command) => command.run(context),
            Self::Infer(command) => command.run(context),
        }
    }
}
