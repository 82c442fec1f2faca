//! What a caller can choose.

use std::collections::BTreeMap;

use rote_types::{Manifest, Tool};
use serde_json::Value;

use crate::BindError;

/// Which tools are bound, and what stands at the top of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BindOptions {
    /// Names of tools. Empty, and no toolsets either, means every tool.
    pub tools: Vec<String>,
    /// Names of toolsets, whose tools are added to `tools`.
    pub toolsets: Vec<String>,
    /// Text for a comment below the first line, such as a licence.
    pub header: Option<String>,
    /// What tools answer, by their names: JSON Schemas. TypeScript has them as types.
    pub answers: BTreeMap<String, Value>,
}

impl BindOptions {
    /// Whether `tool` is chosen.
    pub(crate) fn chooses(&self, tool: &Tool) -> bool {
        (self.tools.is_empty() && self.toolsets.is_empty())
            || self.tools.contains(&tool.name)
            || self.toolsets.contains(&tool.toolset)
    }

    /// Checks that every name in the options names something.
    pub(crate) fn check(&self, manifest: &Manifest, tools: &[Tool]) -> Result<(), BindError> {
        let adapter = || manifest.id.to_string();
        if let Some(name) = self.tools.iter().find(|name| tools.iter().all(|tool| tool.name != **name)) {
            return Err(BindError::UnknownTool { adapter: adapter(), tool: name.clone() });
        }
        match self.toolsets.iter().find(|name| tools.iter().all(|tool| tool.toolset != **name)) {
            Some(name) => Err(BindError::UnknownToolset { adapter: adapter(), toolset: name.clone() }),
            None => Ok(()),
        }
    }
}
