//! Names to addresses: the system's resolver configuration, or a test's own table.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use hickory_resolver::TokioResolver;
use tokio::sync::OnceCell;

/// Reads one environment variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A name without addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// Finds the addresses of a name. A port, so that tests can answer as a hostile server would.
#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug {
    /// Returns every address of `name`, in order of preference. Called once per request.
    ///
    /// # Errors
    /// [`ResolveError`] when there are none, or nobody could be asked.
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError>;
}

/// The system's resolver: `/etc/hosts` and `/etc/resolv.conf`, read when the first name is asked for.
#[derive(Default)]
pub(crate) struct SystemResolver {
    resolver: OnceCell<TokioResolver>,
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemResolver")
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let make = || async { TokioResolver::builder_tokio()?.build() };
        let resolver = self.resolver.get_or_try_init(make).await;
        let resolver = resolver.map_err(|error| ResolveError(format!("no resolver: {error}")))?;
        // The resolver names its query in terms of its own program.
        let unknown = || ResolveError("no such host is known, or this machine is offline".to_owned());
        let told = |error: String| if error.contains("no records found") { unknown() } else { ResolveError(error) };
        let answer = resolver.lookup_ip(name).await.map_err(|error| told(error.to_string()))?;
        Ok(answer.iter().collect())
    }
}
