//! Parameters that are credentials by name and place, such as Slack's required `token` in header, query and form.
//!
//! They become slots that the gate fills: as arguments their values would stand in clear in every record. The table is
//! small and judged on real descriptions; where a name has other meanings too (`token`, `key`), the parameter's own
//! description has to say that it authenticates. An optional one stays an argument: the operation works without it.

use rote_types::{AuthKind, SecurityAlternative};

use crate::documents::Node;
use crate::parameters::Declarations;
use crate::reader::Reader;

/// Where a credential can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Header,
    Query,
    Form,
}

/// Whether a name alone says what the value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Enough,
    WithDescription,
}

/// Place, name in lower case without `-` and `_`, and what it says.
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

/// Returns how the parameter travels when it is a credential.
pub(crate) fn kind(node: &Node<'_>, name: &str, place: Place) -> Option<AuthKind> {
    if !node.flag("required") || !is_text(node) {
        return None;
    }
    let plain: String = name.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let (_, _, says) = TABLE.iter().find(|(where_, word, _)| *where_ == place && *word == plain)?;
    let described = || {
        let text = node.text("description").unwrap_or("").to_lowercase();
        EVIDENCE.iter().any(|word| text.contains(word))
    };
    if *says == Says::WithDescription && !described() {
        return None;
    }
    let name = name.to_owned();
    Some(match place {
        Place::Header => AuthKind::ApiKeyHeader { name },
        Place::Query => AuthKind::ApiKeyQuery { name },
        Place::Form => AuthKind::ApiKeyForm { name },
    })
}

/// How a required `Authorization` header travels, from what is said of it.
fn authorization(node: &Node<'_>, name: &str) -> AuthKind {
    let text = node.text("description").unwrap_or("").to_lowercase();
    match (text.contains("bearer"), text.contains("basic")) {
        (true, false) => AuthKind::Bearer,
        (false, true) => AuthKind::Basic,
        _ => AuthKind::ApiKeyHeader { name: name.to_owned() },
    }
}

fn is_text(node: &Node<'_>) -> bool {
    let kind = node.get("schema").as_ref().and_then(|schema| schema.text("type")).or_else(|| node.text("type"));
    kind.is_none_or(|kind| kind == "string")
}

/// Adds what an operation's own parameters want to each way to authenticate.
pub(crate) fn add_to(
    alternatives: &mut Vec<SecurityAlternative>,
    reader: &Reader<'_>,
    declarations: &Declarations<'_>,
) {
    let mut found = declarations.credentials.clone();
    if let (true, Some(declared)) = (alternatives.is_empty(), &declarations.authorization) {
        // OpenAPI asks to ignore such a header, in favour of a security section; here there is none.
        found.push((authorization(&declared.node, declared.name), reader.place(&declared.node)));
    }
    let slots: Vec<String> = found.into_iter().map(|(kind, place)| reader.schemes.parameter(kind, &place)).collect();
    if slots.is_empty() {
        return;
    }
    if alternatives.is_empty() {
        alternatives.push(Vec::new());
    }
    for alternative in alternatives.iter_mut() {
        let new: Vec<&String> = slots.iter().filter(|slot| !alternative.contains(slot)).collect();
        let new: Vec<String> = new.into_iter().cloned().collect();
        alternative.extend(new);
    }
    let mut seen = std::collections::BTreeSet::new();
    alternatives.retain(|alternative| seen.insert(alternative.clone()));
}
