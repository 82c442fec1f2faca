//! A host for unit tests: a flow runs natively, against answers that the test wrote down.
//!
//! Needs the feature `testing`, which belongs into `[dev-dependencies]`. Nothing here reaches a network, a clock or a
//! file. Queries are run by jaq, of which rote's own query engine is made; that one follows jq in more places, such as
//! assignments to what is not there and the words of errors. Limits are not imitated.
//!
//! ```
//! use rote_sdk::testing::FakeHost;
//! use rote_sdk::{Result, Rote, json};
//!
//! fn stars(cx: &Rote) -> Result<u64> {
//!     cx.adapter("github").call("repos/get", &json!({"owner": "octocat", "repo": "hello"}))?.query(".stargazers_count")
//! }
//!
//! let host = FakeHost::new();
//! host.on("github", "repos/get").json(json!({"stargazers_count": 80}));
//! assert_eq!(stars(&host.rote()).unwrap(), 80);
//! assert_eq!(host.calls()[0].arguments["repo"], "hello");
//! ```

mod fake;
mod jq;
mod script;
mod state;

pub use self::fake::FakeHost;
pub use self::script::Script;
pub use self::state::Call;
