//! Where an adapter may reach: URLs by route, addresses by table.
//!
//! Invariants: one URL parser (the `url` crate, which the HTTP client uses as well) reads a URL once, and
//! what it read is what is dialled; a route is derived from the called tool's own method, bases and path
//! template; an address outside the public internet needs a grant that a person gave.

mod address;
mod normalise;
mod route;
mod secret;
mod template;

use rote_types::{Classify, ErrorKind, Refusal, is_hidden};

pub use address::{AddressClass, AllowedRange, address_verdict, classify};
pub use normalise::normalise;
pub use route::{Route, Target, match_url};
pub use secret::{CleartextGrant, is_localhost, may_carry_secret, origin_of};

/// A request that may not leave. The caller or the document is to blame; a retry does not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EgressRefusal {
    /// The text is not a URL that every reader understands alike.
    #[error("URL `{url}` is refused: {problem}")]
    Url {
        /// The text, cut and without control characters.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The URL is not one of the called tool's.
    #[error("URL `{url}` is not one that the tool may reach: {problem}")]
    Route {
        /// The URL without its query.
        url: String,
        /// Which part differs and what was expected.
        problem: String,
    },
    /// The adapter has no usable base URL.
    #[error("base URL `{base}` cannot be used: {problem}")]
    Base {
        /// The base URL.
        base: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The operation has a server of its own that only the description names.
    #[error("nobody decided whether requests go to `{server}`, which only the description names")]
    Server { server: String },
    /// The address is not on the public internet and nobody allowed it.
    #[error("address `{address}` port {port} is refused: {class}")]
    Address {
        address: std::net::IpAddr,
        port: u16,
        /// What kind of address it is, with the document that says so.
        class: AddressClass,
    },
}

impl EgressRefusal {
    /// Returns the name of the rule that decided.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Url { .. } => "egress.url",
            Self::Route { .. } => "egress.route",
            Self::Base { .. } => "egress.base",
            Self::Server { .. } => "egress.server",
            Self::Address { .. } => "egress.address",
        }
    }
}

impl Classify for EgressRefusal {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Denied
    }

    fn details(&self) -> Option<serde_json::Value> {
        Some(serde_json::json!({ "rule": self.rule() }))
    }

    fn refusal(&self) -> Option<Refusal> {
        Some(Refusal::Rule(self.rule().to_owned()))
    }
}

/// A foreign text for a message: cut, a mark for each hidden character.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut kept: String = text.chars().take(LONGEST).map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        kept.push('…');
    }
    kept
}
