//! `rote bind`.

use std::path::PathBuf;

use clap::Args;
use rote_app::Written;
use rote_types::Language;
use serde_json::json;

use super::flow::language;
use crate::context::Context;
use crate::error::Result;
use crate::render::units::size;
use crate::ui::Report;

/// Write typed functions for an adapter's tools, pinned to its fingerprint
///
/// A tool or an argument that changed is then an error of the compiler before it is one of a run.
#[derive(Debug, Args)]
pub struct Bind {
    /// The adapter
    adapter: String,
    /// The language
    #[arg(long, value_name = "LANG", default_value = "ts", value_parser = language())]
    lang: Language,
    /// Only this tool; repeat it for more
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Bind {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let session = context.session()?;
        let code = session.bind(&self.adapter, self.lang, &self.tools)?;
        let Some(out) = self.out else {
            return Ok(Report::new(json!({ "adapter": self.adapter, "code": code }), code).verbatim());
        };
        session.write_source(&out, &code, Written::Bindings)?;
        let data = json!({ "adapter": self.adapter, "path": out, "bytes": code.len() });
        Ok(Report::new(data, format!("wrote {} ({})", out.display(), size(code.len() as u64))))
    }
}
