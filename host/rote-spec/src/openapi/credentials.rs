//! Parameters that are credentials by name and place, such as Slack's `token` in header, query and body.
//!
//! They become slots that the gate fills: as arguments their values would stand in clear in every record. The table is
//! small and judged on real descriptions; where a name has other meanings too (`token`, `key`), the parameter's own
//! description has to say that it authenticates. Four rules keep out what belongs to somebody else:
//!
//! - What most operations of an API ask for is the caller's own, wherever it stands. Nothing less makes a slot of a
//!   member of a JSON body or of an optional field of a form.
//! - An operation that is about tokens or keys, by its path or its id (`/tokens/introspect`, `/oauth/revoke`), takes
//!   them as its object in query and form.
//! - In query and form a name that needs its description has to be required; in a header too.
//! - A body with variants is left as it is.
//!
//! A required one stands beside each way to authenticate. An optional one is used when a person bound a value: it is one
//! more way after those of the description, and stands beside required ones where the description has none.

mod found;

use rote_types::AuthKind;

use crate::access::words_of;
use crate::openapi::operation::Place as Operation;

pub(crate) use found::{Common, add_to, take};

/// Where a credential can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Header,
    Query,
    /// A field of a form, of pairs or of parts.
    Form,
    /// A member of the object that a JSON body is.
    Json,
}

/// Whether a name alone says what the value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Enough,
    WithDescription,
}

/// Place, name in lower case without `-` and `_`, and what it says. Those of a form hold for JSON too.
const TABLE: [(Place, &str, Says); 21] = [
    (Place::Header, "apikey", Says::Enough),
    (Place::Header, "xapikey", Says::Enough),
    (Place::Header, "apitoken", Says::Enough),
    (Place::Header, "xapitoken", Says::Enough),
    (Place::Header, "authtoken", Says::Enough),
    (Place::Header, "xauthtoken", Says::Enough),
    (Place::Header, "accesstoken", Says::Enough),
    (Place::Header, "xaccesstoken", Says::Enough),
    (Place::Header, "token", Says::WithDescription),
    (Place::Header, "xtoken", Says::WithDescription),
    (Place::Query, "apikey", Says::Enough),
    (Place::Query, "apitoken", Says::Enough),
    (Place::Query, "authtoken", Says::Enough),
    (Place::Query, "accesstoken", Says::Enough),
    (Place::Query, "token", Says::WithDescription),
    (Place::Query, "key", Says::WithDescription),
    (Place::Form, "apikey", Says::Enough),
    (Place::Form, "apitoken", Says::Enough),
    (Place::Form, "authtoken", Says::Enough),
    (Place::Form, "accesstoken", Says::WithDescription),
    (Place::Form, "token", Says::WithDescription),
];

/// Words by which a description says that a value authenticates the caller.
const EVIDENCE: [&str; 8] =
    ["authenticat", "authoriz", "api key", "api token", "access token", "bearer", "credential", "oauth"];

/// Words in a path or an id by which an operation is about credentials themselves.
const OBJECTS: [&str; 15] = [
    "apikey",
    "apikeys",
    "credential",
    "credentials",
    "introspect",
    "introspection",
    "key",
    "keys",
    "oauth",
    "oauth2",
    "revocation",
    "revoke",
    "secrets",
    "token",
    "tokens",
];

/// Fewest operations that have to ask for the same before it is taken for what the whole API wants.
const FEWEST: usize = 3;

/// What is said of one field of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'d> {
    pub(crate) place: Place,
    pub(crate) name: &'d str,
    pub(crate) required: bool,
    pub(crate) is_text: bool,
    pub(crate) description: &'d str,
}

impl Field<'_> {
    /// The name as the table has it.
    pub(crate) fn plain(&self) -> String {
        self.name.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect()
    }

    /// Whether the field may be a credential, by its name, its place and its description.
    pub(crate) fn may_be(&self) -> bool {
        let described = || {
            let text = self.description.to_lowercase();
            EVIDENCE.iter().any(|word| text.contains(word))
        };
        self.is_text && self.says().is_some_and(|says| says == Says::Enough || described())
    }

    /// Whether it is the caller's own credential; `common` when most operations of the API ask for one of this name.
    pub(crate) fn is_credential(&self, about_credentials: bool, common: bool) -> bool {
        let alone = || match self.place {
            Place::Header => self.required || self.says() == Some(Says::Enough),
            Place::Query => !about_credentials && (self.required || self.says() == Some(Says::Enough)),
            Place::Form => !about_credentials && self.required,
            Place::Json => false,
        };
        self.may_be() && (common || alone())
    }

    /// How it travels.
    pub(crate) fn kind(&self) -> AuthKind {
        let name = self.name.to_owned();
        match self.place {
            Place::Header => AuthKind::ApiKeyHeader { name },
            Place::Query => AuthKind::ApiKeyQuery { name },
            Place::Form | Place::Json => AuthKind::ApiKeyForm { name },
        }
    }

    fn says(&self) -> Option<Says> {
        let place = if self.place == Place::Json { Place::Form } else { self.place };
        let plain = self.plain();
        TABLE.iter().find(|(where_, word, _)| *where_ == place && *word == plain).map(|(.., says)| *says)
    }
}

/// Whether so many of all operations are most of them.
pub(crate) fn is_common(asking: usize, all: usize) -> bool {
    asking >= FEWEST && asking * 2 > all
}

/// Whether an operation is about credentials, by the fixed segments of its path and its id.
pub(crate) fn is_about_credentials(path: &str, operation_id: &str) -> bool {
    let fixed = path.split('/').filter(|segment| !segment.contains('{'));
    fixed.chain([operation_id]).flat_map(words_of).any(|word| OBJECTS.contains(&word.as_str()))
}

fn is_about(operation: &Operation<'_>) -> bool {
    is_about_credentials(operation.path, operation.operation.text("operationId").unwrap_or(""))
}

#[cfg(test)]
pub(crate) mod tests;
