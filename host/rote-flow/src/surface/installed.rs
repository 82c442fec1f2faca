//! The adapters of this home as flows look at them.

use std::sync::Arc;

use rote_adapter::{Adapter, AdapterError, Adapters};
use rote_gate::Outlook;
use rote_govern::Verdict;
use rote_types::{AdapterId, Manifest, Tool, TrustRoot};
use serde_json::{Map, Value};

use super::Surface;
use crate::FlowError;

/// Opens an adapter, `None` when it is not installed.
pub(crate) fn opened(adapters: &Adapters, id: &AdapterId) -> Result<Option<Arc<Adapter>>, FlowError> {
    match adapters.open(id) {
        Ok(adapter) => Ok(Some(adapter)),
        Err(AdapterError::NotInstalled { .. }) => Ok(None),
        Err(error) => Err(FlowError::adapter(id, &error)),
    }
}

impl Surface for Adapters {
    fn manifest(&self, adapter: &AdapterId) -> Result<Option<Manifest>, FlowError> {
        Ok(opened(self, adapter)?.map(|adapter| Manifest::clone(adapter.manifest())))
    }

    fn tool(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Tool>, FlowError> {
        let Some(opened) = opened(self, adapter)? else {
            return Ok(None);
        };
        match opened.tool(tool) {
            Ok(tool) => Ok(Some(Tool::clone(&tool))),
            Err(AdapterError::UnknownTool { .. }) => Ok(None),
            Err(error) => Err(FlowError::adapter(adapter, &error)),
        }
    }

    fn verdict(&self, adapter: &AdapterId, tool: &str) -> Result<Option<Verdict>, FlowError> {
        let (Some(opened), Some(tool)) = (opened(self, adapter)?, self.tool(adapter, tool)?) else { return Ok(None) };
        let arguments = Value::Object(Map::new());
        Ok(Some(Outlook::of(opened.manifest(), opened.policy(), &tool, &arguments, None).verdict))
    }

    fn trust(&self, adapter: &AdapterId) -> Result<Option<TrustRoot>, FlowError> {
        Ok(opened(self, adapter)?.map(|adapter| adapter.trust()))
    }
}
