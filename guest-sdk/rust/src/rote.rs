//! The entry point of a flow's author.

use serde::Serialize;

use crate::host::HostHandle;
use crate::query::Source;
use crate::status;
use crate::{Adapter, Clock, Files, Flows, Log, Output, Query, Response, Result, Steps, Tokens, Vars};

/// What a run is given: everything that a flow can reach.
#[derive(Debug, Clone)]
pub struct Rote {
    pub(crate) host: HostHandle,
}

impl Rote {
    /// Returns an adapter by its id; `adapter/github` and `github` are the same. Nothing is looked up until it is
    /// used; an adapter that the flow did not declare is [`Denied`](crate::Cause::Denied) then.
    #[must_use]
    pub fn adapter(&self, endpoint: &str) -> Adapter {
        Adapter::new(self.host.clone(), endpoint)
    }

    /// Starts a query of a recorded response's body.
    pub fn query(&self, response: &Response) -> Query {
        Query::new(self.host.clone(), Source::Response(response.id()))
    }

    /// Starts a query of a value that the flow has.
    ///
    /// # Errors
    /// [`Cause::Flow`](crate::Cause::Flow) when the value has no JSON form.
    pub fn query_value<T: Serialize + ?Sized>(&self, value: &T) -> Result<Query> {
        Ok(Query::new(self.host.clone(), Source::Value(serde_json::to_string(value)?)))
    }

    /// Returns the variables of the run's workspace.
    #[must_use]
    pub fn vars(&self) -> Vars {
        Vars { host: self.host.clone() }
    }

    /// Returns the named blobs of the run's workspace.
    #[must_use]
    pub fn files(&self) -> Files {
        Files { host: self.host.clone() }
    }

    /// Returns the other flows.
    #[must_use]
    pub fn flows(&self) -> Flows {
        Flows { host: self.host.clone() }
    }

    /// Returns the steps that are shown while the flow runs.
    #[must_use]
    pub fn tasks(&self) -> Steps {
        Steps { host: self.host.clone() }
    }

    /// Returns what the run shows and returns.
    #[must_use]
    pub fn output(&self) -> Output {
        Output { host: self.host.clone() }
    }

    /// Returns the run's log.
    #[must_use]
    pub fn log(&self) -> Log {
        Log { host: self.host.clone() }
    }

    /// Returns time and randomness.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock { host: self.host.clone() }
    }

    /// Returns which credentials are there; never their values.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens { host: self.host.clone() }
    }

    /// Checks that adapters are the pinned ones and that their credentials are there, all fingerprints first.
    ///
    /// The host checks the same before a run; this is for a flow that wants to fail before its first write, when an
    /// adapter is only used on some paths.
    ///
    /// # Errors
    /// [`Cause::FingerprintMismatch`](crate::Cause::FingerprintMismatch) for an adapter that drifted,
    /// [`Cause::Auth`](crate::Cause::Auth) for credentials that are missing (blame: user), and what
    /// [`Adapter::status`] fails with. A retry does not help.
    pub fn preflight(&self, adapters: &[&str]) -> Result<()> {
        status::preflight(self, adapters)
    }
}
