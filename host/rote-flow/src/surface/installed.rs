//! The adapters of this home as flows look at them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rote_adapter::{Adapter, AdapterError, Adapters};
use rote_gate::{Asked, Outlook};
use rote_govern::Verdict;
use rote_govern::intent::Mandate;
use rote_types::{AdapterId, Manifest, Tool, TrustRoot};
use serde_json::{Map, Value};

use super::{Reading, Surface};
use crate::FlowError;

/// Opens an adapter, `None` when it is not installed.
pub(crate) fn opened(adapters: &Adapters, id: &AdapterId) -> Result<Option<Arc<Adapter>>, FlowError> {
    match adapters.open(id) {
        Ok(adapter) => Ok(Some(adapter)),
        Err(AdapterError::NotInstalled { .. }) => Ok(None),
        Err(error) => Err(FlowError::adapter(id, &error)),
    }
}

fn known(adapter: &Adapter, id: &AdapterId, tool: &str) -> Result<Option<Arc<Tool>>, FlowError> {
    match adapter.tool(tool) {
        Ok(tool) => Ok(Some(tool)),
        Err(AdapterError::UnknownTool { .. }) => Ok(None),
        Err(error) => Err(FlowError::adapter(id, &error)),
    }
}

impl Surface for Adapters {
    fn manifest(&self, adapter: &AdapterId) -> Result<Option<Manifest>, FlowError> {
        Ok(opened(self, adapter)?.map(|adapter| Manifest::clone(adapter.manifest())))
    }

    fn tool(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Tool>, FlowError> {
        let Some(opened) = opened(self, adapter)? else { return Ok(None) };
        Ok(known(&opened, adapter, tool)?.map(|tool| Tool::clone(&tool)))
    }

    fn read(&self, adapter: &AdapterId, tools: &[&str]) -> Result<Option<Reading>, FlowError> {
        let Some(opened) = opened(self, adapter)? else { return Ok(None) };
        let mut found = BTreeMap::new();
        for name in tools {
            found.extend(known(&opened, adapter, name)?.map(|tool| ((*name).to_owned(), tool)));
        }
        Ok(Some(Reading::new(Arc::clone(opened.manifest()), found)))
    }

    fn verdict(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Verdict>, FlowError> {
        let (Some(opened), Some(tool)) = (opened(self, adapter)?, self.tool(adapter, tool)?) else { return Ok(None) };
        let arguments = Value::Object(Map::new());
        let asked = Asked {
            adapter: opened.manifest(),
            policy: opened.policy(),
            tool: &tool,
            arguments: &arguments,
            pin: None,
            flow: None,
            mandate: &Mandate::Free,
            blessing: None,
        };
        Ok(Some(Outlook::of(&asked).verdict))
    }

    fn trust(&self, adapter: &AdapterId) -> Result<Option<TrustRoot>, FlowError> {
        Ok(opened(self, adapter)?.map(|adapter| adapter.trust()))
    }
}
