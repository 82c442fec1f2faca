//! Other flows.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::misfit;
use crate::host::HostHandle;
use crate::{Result, json};

/// Other flows, by name: the released ones that the frontmatter pins by digest.
#[derive(Debug, Clone)]
pub struct Flows {
    pub(crate) host: HostHandle,
}

impl Flows {
    /// Runs a flow to its end and returns its result. Runs nest at most 8 deep.
    ///
    /// # Errors
    /// [`Cause::Denied`](crate::Cause::Denied) when the frontmatter does not pin the flow,
    /// [`Cause::Flow`](crate::Cause::Flow) when its result does not fit `T`, else what the flow fails with.
    pub fn run<T: DeserializeOwned>(&self, name: &str, parameters: &(impl Serialize + ?Sized)) -> Result<T> {
        let result = self.host.run_flow(name, &serde_json::to_string(parameters)?)?;
        json::read(&result).map_err(|problem| misfit("the result of the flow", name, problem))
    }
}
