//! Authentication: the document's schemes as credential slots, and what each operation needs.
//!
//! Slots carry names, never values. A scheme that nobody declared is never invented: evidence of one ends up
//! in the reason, where a person reads it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use rote_types::{AuthKind, AuthSlot, Authentication, SecurityAlternative, SpecType};

use crate::documents::{Documents, Node};
use crate::notices::{Notes, Notices};
use crate::prose::slug;

/// Most alternatives of one operation that are read.
const MOST_ALTERNATIVES: usize = 64;

/// The schemes of a document and what was seen of their use.
#[derive(Debug, Default)]
pub(crate) struct Schemes {
    usable: BTreeMap<String, (AuthKind, String)>,
    unsupported: BTreeMap<String, String>,
    /// Whether nothing in the document says which operation needs which scheme.
    unassigned: bool,
    /// Operations that can answer 401 or 403.
    pub(crate) refusals: Cell<usize>,
    /// Operations that declare an `Authorization` header as a parameter.
    pub(crate) authorization_headers: Cell<usize>,
}

/// What one operation needs.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) alternatives: Vec<SecurityAlternative>,
    pub(crate) scopes: Vec<String>,
}

impl Schemes {
    /// Reads the schemes of the document.
    pub(crate) fn read(documents: &Documents, spec_type: SpecType, notices: &Notices) -> Self {
        let root = documents.root();
        let declared = if spec_type == SpecType::Swagger2 {
            root.get("securityDefinitions")
        } else {
            root.get("components").and_then(|components| components.get("securitySchemes"))
        };
        let mut schemes = Self::default();
        for (name, node) in declared.iter().flat_map(|list| list.members().collect::<Vec<_>>()) {
            let place = node.pointer.clone();
            let kind = match documents.resolve(node) {
                Ok(node) => kind(&node),
                Err(broken) => Err(broken.reason),
            };
            match kind {
                Ok((kind, words)) => {
                    schemes.usable.insert(name.to_owned(), (kind, format!("{words} at {place}")));
                }
                Err(reason) => {
                    notices.warn(&place, format!("security scheme `{name}` cannot be used: {reason}"));
                    schemes.unsupported.insert(name.to_owned(), reason);
                }
            }
        }
        schemes.unassigned = !schemes.usable.is_empty() && !is_assigned(&root);
        if schemes.unassigned {
            notices.warn(
                "/",
                "security schemes are declared but no operation asks for one; every operation may use any of them",
            );
        }
        schemes
    }

    /// Returns what `operation` needs, with its own `security` before the document's.
    pub(crate) fn needs(&self, documents: &Documents, operation: &Node<'_>, notes: &Notes) -> Needs {
        if self.unassigned {
            let mut alternatives: Vec<_> = self.usable.keys().map(|name| vec![name.clone()]).collect();
            alternatives.push(Vec::new());
            return Needs { alternatives, scopes: Vec::new() };
        }
        let root = documents.root();
        let Some(list) = operation.get("security").or_else(|| root.get("security")) else {
            return Needs::default();
        };
        let mut alternatives: Vec<SecurityAlternative> = Vec::new();
        let mut scopes = BTreeSet::new();
        let mut anonymous = false;
        for requirement in list.elements().take(MOST_ALTERNATIVES) {
            let mut names: Vec<String> = Vec::new();
            let mut usable = requirement.value.is_object();
            for (name, wanted) in requirement.members() {
                if let Some(reason) = self.obstacle(name) {
                    let place = documents.place(requirement.document, &requirement.pointer);
                    notes.add(&place, format_args!("a way to authenticate was left out: {reason}"));
                    usable = false;
                    continue;
                }
                names.push(name.to_owned());
                scopes.extend(wanted.elements().filter_map(|scope| scope.value.as_str()).map(str::to_owned));
            }
            if usable && names.is_empty() {
                anonymous = true;
            } else if usable && !alternatives.contains(&names) {
                alternatives.push(names);
            }
        }
        if anonymous && !alternatives.is_empty() {
            // Last, so that a credential is used where there is one.
            alternatives.push(Vec::new());
        }
        Needs { alternatives, scopes: scopes.into_iter().collect() }
    }

    fn obstacle(&self, name: &str) -> Option<String> {
        if self.usable.contains_key(name) {
            return None;
        }
        Some(match self.unsupported.get(name) {
            Some(reason) => format!("scheme `{name}` cannot be used: {reason}"),
            None => format!("scheme `{name}` is not declared"),
        })
    }

    /// Makes the slots and recommends one by how many operations it opens alone.
    pub(crate) fn authentication(&self, title: &str, needs: &[&[SecurityAlternative]]) -> Authentication {
        let total = needs.len();
        let covered =
            |name: &str| needs.iter().filter(|one| one.iter().any(|and| and.len() == 1 && and[0] == name)).count();
        let best = self
            .usable
            .iter()
            .map(|(name, (kind, evidence))| (covered(name), preference(kind, evidence), name))
            .max_by(|one, two| (one.0, one.1).cmp(&(two.0, two.1)).then(two.2.cmp(one.2)));
        let default_scheme = best.map(|(_, _, name)| name.clone());
        let variables = self.variables(title, default_scheme.as_deref());
        let reason = match &best {
            Some((0, _, name)) if needs.iter().any(|one| !one.is_empty()) => {
                format!("`{name}` is the best supported scheme, but no operation accepts it alone")
            }
            Some((_, _, name)) if self.unassigned => {
                format!("`{name}` is declared; the document does not say which operations need it")
            }
            Some((count, _, name)) => format!("`{name}` alone opens {count} of {total} operations"),
            None => self.without_schemes(total),
        };
        let slots = self.usable.iter().map(|(name, (kind, evidence))| {
            let token_env = variables.get(name).cloned().unwrap_or_default();
            (name.clone(), AuthSlot { kind: kind.clone(), token_env, evidence: evidence.clone() })
        });
        Authentication {
            token_env: default_scheme.as_ref().and_then(|name| variables.get(name).cloned()),
            default_scheme,
            reason,
            schemes: slots.collect(),
            unsupported: self.unsupported.clone(),
        }
    }

    fn without_schemes(&self, total: usize) -> String {
        if !self.unsupported.is_empty() {
            return "none of the declared security schemes can be used".to_owned();
        }
        let (refusals, headers) = (self.refusals.get(), self.authorization_headers.get());
        if refusals == 0 && headers == 0 {
            return "the document declares no security schemes".to_owned();
        }
        format!(
            "the document declares no security schemes, but {refusals} of {total} operations can answer 401 or 403 \
             and {headers} take an Authorization header: the API probably wants a credential"
        )
    }

    /// Names of vault entries: the title's words and what kind of secret it is. Where two schemes would share
    /// one, it belongs to the recommended scheme and the others have their own name in it.
    fn variables(&self, title: &str, recommended: Option<&str>) -> BTreeMap<String, String> {
        let prefix = prefix(title);
        let simple = |kind: &AuthKind| format!("{prefix}_{}", ending(kind));
        let mut variables = BTreeMap::new();
        for (name, (kind, _)) in &self.usable {
            let shared = self.usable.values().filter(|(other, _)| ending(other) == ending(kind)).count() > 1;
            let scheme = slug(name).to_uppercase();
            let mut variable = if shared && !scheme.is_empty() && recommended != Some(name) {
                format!("{prefix}_{scheme}_{}", ending(kind))
            } else {
                simple(kind)
            };
            while variables.values().any(|known| *known == variable) {
                variable.push_str("_2");
            }
            variables.insert(name.clone(), variable);
        }
        variables
    }
}

fn ending(kind: &AuthKind) -> &'static str {
    match kind {
        AuthKind::Bearer => "TOKEN",
        AuthKind::Basic => "BASIC_AUTH",
        AuthKind::ApiKeyHeader { .. } | AuthKind::ApiKeyQuery { .. } | AuthKind::ApiKeyCookie { .. } => "API_KEY",
    }
}

/// Which of two schemes that open equally many operations is easier to use.
fn preference(kind: &AuthKind, evidence: &str) -> u8 {
    match kind {
        AuthKind::Bearer if evidence.starts_with("http bearer") => 6,
        AuthKind::Bearer => 5,
        AuthKind::ApiKeyHeader { .. } => 4,
        AuthKind::Basic => 3,
        AuthKind::ApiKeyQuery { .. } => 2,
        AuthKind::ApiKeyCookie { .. } => 1,
    }
}

/// `GitHub v3 REST API` → `GITHUB`: the title's first three words that say whose API it is.
fn prefix(title: &str) -> String {
    let noise = |word: &str| {
        matches!(
            word,
            "api"
                | "apis"
                | "rest"
                | "restful"
                | "http"
                | "openapi"
                | "open"
                | "swagger"
                | "specification"
                | "spec"
                | "the"
                | "for"
                | "of"
                | "and"
                | "service"
                | "public"
                | "reference"
                | "documentation"
                | "server"
                | "web"
                | "platform"
                | "sample"
                | "example"
                | "examples"
        ) || word.trim_start_matches('v').chars().all(|c| c.is_ascii_digit())
    };
    let title = title.to_lowercase();
    let all = slug(&title);
    let words: Vec<&str> = all.split('_').filter(|word| !word.is_empty()).collect();
    let mut chosen: Vec<&str> = words.iter().copied().filter(|word| !noise(word)).take(3).collect();
    if chosen.is_empty() {
        chosen = words.into_iter().filter(|word| !word.chars().all(|c| c.is_ascii_digit())).take(3).collect();
    }
    let prefix: String = chosen.join("_").to_uppercase().chars().take(40).collect();
    let prefix = prefix.trim_start_matches(|c: char| c.is_ascii_digit()).trim_matches('_').to_owned();
    if prefix.is_empty() { "API".to_owned() } else { prefix }
}

fn kind(scheme: &Node<'_>) -> Result<(AuthKind, String), String> {
    match scheme.text("type").unwrap_or("").to_ascii_lowercase().as_str() {
        "http" => match scheme.text("scheme").unwrap_or("").to_ascii_lowercase().as_str() {
            "bearer" => Ok((AuthKind::Bearer, "http bearer".to_owned())),
            "basic" => Ok((AuthKind::Basic, "http basic".to_owned())),
            "" => Err("it names no HTTP authentication scheme".to_owned()),
            other => Err(format!("HTTP authentication `{other}` is not supported")),
        },
        "basic" => Ok((AuthKind::Basic, "basic".to_owned())),
        "apikey" => api_key(scheme),
        "oauth2" => Ok((AuthKind::Bearer, "oauth2, its access token sent as bearer".to_owned())),
        "openidconnect" => Ok((AuthKind::Bearer, "openIdConnect, its access token sent as bearer".to_owned())),
        "mutualtls" => Err("mutual TLS is not supported".to_owned()),
        "" => Err("it has no `type`".to_owned()),
        other => Err(format!("type `{other}` is not supported")),
    }
}

fn api_key(scheme: &Node<'_>) -> Result<(AuthKind, String), String> {
    let name = scheme.text("name").map(str::trim).filter(|name| !name.is_empty()).ok_or("it has no `name`")?;
    let owned = name.to_owned();
    match scheme.text("in").unwrap_or("") {
        "header" if name.eq_ignore_ascii_case("authorization") && speaks_of_bearer(scheme) => {
            Ok((AuthKind::Bearer, "apiKey in the Authorization header, described as bearer,".to_owned()))
        }
        "header" => Ok((AuthKind::ApiKeyHeader { name: owned }, format!("apiKey in header `{name}`"))),
        "query" => Ok((AuthKind::ApiKeyQuery { name: owned }, format!("apiKey in query `{name}`"))),
        "cookie" => Ok((AuthKind::ApiKeyCookie { name: owned }, format!("apiKey in cookie `{name}`"))),
        other => Err(format!("an API key in `{other}` is not supported")),
    }
}

fn speaks_of_bearer(scheme: &Node<'_>) -> bool {
    scheme.text("description").is_some_and(|text| text.to_lowercase().contains("bearer"))
}

/// Whether the document or any operation has a `security` section.
fn is_assigned(root: &Node<'_>) -> bool {
    let has = |value: &serde_json::Value| value.get("security").is_some();
    let paths = root.value.get("paths").and_then(serde_json::Value::as_object);
    let items = paths.into_iter().flatten().map(|(_, item)| item);
    // A path item behind a reference is not looked into: assuming that it assigns invents nothing.
    has(root.value)
        || items.into_iter().any(|item| {
            item.get("$ref").is_some() || item.as_object().into_iter().flatten().any(|(_, value)| has(value))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vault_entries_are_named_after_the_title() {
        let cases = [
            ("GitHub v3 REST API", "GITHUB"),
            ("Swagger Petstore - OpenAPI 3.0", "PETSTORE"),
            ("Slack Web API", "SLACK"),
            ("Twilio - Messaging", "TWILIO_MESSAGING"),
            ("The API", "THE_API"),
            ("", "API"),
            ("2Captcha", "CAPTCHA"),
        ];
        for (title, expected) in cases {
            assert_eq!(prefix(title), expected, "{title}");
        }
    }
}
