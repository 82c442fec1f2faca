//! Names that a shell completes: read as they stand on disk, without a word to the journal or the vault.

use rote_types::AdapterId;
use rote_workspace::{Workspace, workspace_names};
use serde_json::Value;

use crate::{AppError, Session};

/// Of what names are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// Installed adapters.
    Adapters,
    /// The tools of an adapter.
    Tools(String),
    /// The arguments of a tool of an adapter.
    Arguments(String, String),
    /// The values that an argument of a tool of an adapter may have, where its description lists them.
    Values(String, String, String),
    /// Flows of the home.
    Flows,
    /// Workspaces, those of runs included.
    Workspaces,
    /// The responses of the workspace in use, `@1` and so on.
    Responses,
}

impl Session {
    /// Returns names, sorted.
    ///
    /// # Errors
    /// What they belong to is not there or cannot be read.
    pub fn names(&self, of: &Names) -> Result<Vec<String>, AppError> {
        let home = self.host.home()?;
        Ok(match of {
            Names::Adapters => texts(self.host.adapters()?.ids()?),
            Names::Tools(id) => {
                self.host.adapters()?.peek(&id.parse::<AdapterId>()?)?.tool_names().map(str::to_owned).collect()
            }
            Names::Arguments(id, tool) => {
                let tool = self.host.adapters()?.peek(&id.parse::<AdapterId>()?)?.tool(tool)?;
                tool.input_schema["properties"]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| name.clone())
                    .collect()
            }
            Names::Values(id, tool, argument) => {
                let tool = self.host.adapters()?.peek(&id.parse::<AdapterId>()?)?.tool(tool)?;
                listed(&tool.input_schema, &tool.input_schema["properties"][argument])
            }
            Names::Flows => texts(self.host.library()?.names()?),
            Names::Workspaces => texts(workspace_names(home)?),
            Names::Responses => match self.resolve()? {
                Some((name, _)) => texts(Workspace::open(home, &name)?.ls()?.into_iter().map(|one| one.id)),
                None => Vec::new(),
            },
        })
    }
}

/// The values that a schema lists, as they are typed.
fn listed(root: &Value, schema: &Value) -> Vec<String> {
    let target = schema["$ref"].as_str().and_then(|place| root.pointer(place.strip_prefix('#')?));
    let schema = target.unwrap_or(schema);
    let typed = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (schema["enum"].as_array(), schema["type"].as_str()) {
        (Some(values), _) => values.iter().filter(|value| !value.is_null()).map(typed).collect(),
        (None, Some("boolean")) => vec!["false".to_owned(), "true".to_owned()],
        (None, _) => Vec::new(),
    }
}

fn texts(names: impl IntoIterator<Item: ToString>) -> Vec<String> {
    names.into_iter().map(|name| name.to_string()).collect()
}
