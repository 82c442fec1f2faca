//! `rote flow fork`, `bump`, `export` and `decompile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rote_app::{Form, VersionPart, Written};
use rote_types::{Language, command};
use serde_json::json;

use super::language;
use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Copy a flow under a new name, as a draft
#[derive(Debug, Args)]
pub struct Fork {
    /// Its name, or a path to a flow.wasm
    flow: String,
    /// The new name
    #[arg(long = "as", value_name = "NAME")]
    name: String,
    /// What the copy does [default: the same]
    #[arg(short, long)]
    description: Option<String>,
}

impl Fork {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let forked = context.host()?.author()?.fork(
            &context.session()?.flow(&self.flow)?,
            &self.name.parse()?,
            self.description,
        )?;
        let text = format!("forked {} as {} {}", self.flow, forked.frontmatter.name, forked.frontmatter.version);
        Ok(Report::new(&forked, text).next(forked.frontmatter.run_command(&self.name)))
    }
}

/// Make the next version of a flow in its place; what is released stays released
///
/// A released flow is held against what is installed and linted again, and gets a new digest: a blessing of it ends, and
/// flows that run it are made anew.
#[derive(Debug, Args)]
pub struct Bump {
    /// The flow's name
    flow: String,
    /// Which part of the version goes up
    #[arg(default_value = "patch")]
    part: Part,
    /// Make it a draft, to be built anew: a search does not find it until it is released
    #[arg(long)]
    draft: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Major,
    Minor,
    Patch,
}

impl Bump {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let part = match self.part {
            Part::Major => VersionPart::Major,
            Part::Minor => VersionPart::Minor,
            Part::Patch => VersionPart::Patch,
        };
        let (host, name) = (context.host()?, self.flow.parse()?);
        let released = if self.draft { None } else { context.block_on(host.releases()?.bump(&name, part))?? };
        if let Some(done) = released {
            let mut lines = vec![format!("released {} {}; what it does is as it was", done.name, done.version)];
            lines.extend(done.notes.iter().map(|note| format!("  note: {note}")));
            return Ok(Report::new(&done, lines.join("\n")));
        }
        let bumped = host.library()?.bump(&name, part)?;
        let text = format!(
            "{} is now a draft of {}; a search does not find it until that is released",
            self.flow, bumped.frontmatter.version
        );
        let report = Report::new(&bumped, text);
        if matches!(bumped.frontmatter.form, Form::Plan) {
            return Ok(report.next(command("rote flow release").argument(&self.flow)));
        }
        // A build takes the version of its source: one that says the old one would take it back.
        let version = &bumped.frontmatter.version;
        let changed = format!("write `version: {version}` in the frontmatter of the source before it is built again");
        Ok(report
            .next(changed)
            .next(command("rote flow build").plain("<source>"))
            .next(command("rote flow release").argument(&self.flow)))
    }
}

/// Write a crystallized flow as TypeScript or Rust sources, to edit and build
#[derive(Debug, Args)]
pub struct Export {
    /// Its name, or a path to a flow.wasm
    flow: String,
    /// The language
    #[arg(long, value_name = "LANG", default_value = "ts", value_parser = language())]
    lang: Language,
    /// The file, or for Rust the folder [default: the flow's name]
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Replace files that are there and say something else
    #[arg(short, long)]
    force: bool,
}

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let default = match self.lang {
            Language::TypeScript => PathBuf::from("main.ts"),
            Language::Rust => PathBuf::from(&self.flow),
        };
        let out = self.out.unwrap_or(default);
        let session = context.session()?;
        let (flow, path) = (session.flow(&self.flow)?, session.outside_home(&out)?);
        let exported = session.host().library()?.export(&flow, self.lang, &path, self.force)?;
        let text = exported.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("\n");
        Ok(Report::new(&exported, text).next(command("rote flow build").argument(out.display())))
    }
}

/// Show a flow as text: its frontmatter, then its steps or its code
#[derive(Debug, Args)]
pub struct Decompile {
    /// Its name, or a path to a flow.wasm
    flow: String,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Decompile {
    pub(in crate::commands) fn run(self, context: &Context) -> Result<Report> {
        let session = context.session()?;
        let text = session.host().library()?.decompile(&session.flow(&self.flow)?)?;
        match self.output {
            None => Ok(Report::new(json!({ "flow": self.flow, "text": text }), text).verbatim()),
            Some(path) => {
                session.write_source(&path, &text, Written::Text(&text))?;
                Ok(Report::new(json!({ "flow": self.flow, "path": path }), format!("wrote {}", path.display())))
            }
        }
    }
}
