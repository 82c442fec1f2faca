//! `rote inject`.

use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::error::{Result, io, usage};
use crate::render::response;
use crate::ui::Report;

/// Most bytes of a document that is injected.
const MAX_DOCUMENT: u64 = 64 << 20;

/// Record a JSON or YAML document of your own as a response
#[derive(Debug, Args)]
pub struct Inject {
    /// The file, or `-` for standard input
    file: PathBuf,
    /// What to call it in listings [default: the file's name]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

impl Inject {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let stdin = self.file.as_os_str() == "-";
        let bytes = if stdin {
            let read = context.environment.read_input(MAX_DOCUMENT);
            read.map_err(|error| io("cannot read standard input", &error))?
        } else {
            context.session()?.read_file(&self.file, MAX_DOCUMENT)?
        };
        let stem = self.file.file_name().and_then(|name| name.to_str());
        let name = self.name.as_deref().or(if stdin { Some("stdin") } else { stem });
        let name = name.ok_or_else(|| usage("the document has no name", "rote inject FILE --as NAME"))?;
        let view = context.session()?.inject(name, &bytes)?;
        let text = response::block(&view);
        Ok(Report::new(&view, text))
    }
}
