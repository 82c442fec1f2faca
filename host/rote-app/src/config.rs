//! What the composition root has to know from outside.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rote_types::Interrupt;

/// The surroundings of one process or one test. There is no default: each field is a decision of the edge.
#[derive(Debug, Clone)]
pub struct AppConfig {
    /// Where everything is kept.
    pub home: PathBuf,
    /// The workspace that was asked for by flag or variable.
    pub workspace: Option<String>,
    /// The current directory, from which a workspace can be found.
    pub directory: Option<PathBuf>,
    /// The environment: credentials are looked up here under the names that a person bound.
    pub environment: Arc<BTreeMap<String, String>>,
    /// Keep the machine key of the vault in the operating system's keyring.
    pub keyring: bool,
    /// How many sandboxes fit into the process at once, 1 to 10,000; 128 when absent.
    pub instances: Option<u32>,
    /// Stops runs of flows.
    pub interrupt: Arc<dyn Interrupt>,
}
