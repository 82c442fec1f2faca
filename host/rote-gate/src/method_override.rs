//! Finds the places by which a server lets a request be another than its method says: `_method` and its kin.
//!
//! Invariants: looks and decides nothing about what else a request may hold; one rule for names in every place
//! (query, form, multipart, JSON, cookie, header), because servers fold spellings: PHP reads `.method` as
//! `_method`, CGI reads `X_HTTP_METHOD` as `X-HTTP-Method`. What cannot be read counts against the request.

mod json;
mod multipart;

use std::fmt;

use rote_request::COOKIE_PARAMETER_HEADER;

use crate::header_name;
use crate::invocation::{ClaimedRequest, shown};

/// One place that names another method.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Override {
    place: &'static str,
    name: String,
    value: String,
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` says `{}`", self.place, shown(&self.name), shown(&self.value))
    }
}

/// Returns the first place of `claimed` that names another method than `own`; `query` is that of its checked URL.
/// `is_declared` says which arguments the tool has.
pub(crate) fn find(
    claimed: &ClaimedRequest,
    query: Option<&str>,
    own: &str,
    is_declared: &dyn Fn(&str) -> bool,
) -> Option<Override> {
    let asked = Asked { own };
    let query = query.unwrap_or_default().as_bytes();
    asked
        .pairs("the query field", query)
        .or_else(|| asked.plain(query, is_declared))
        .or_else(|| asked.headers(&claimed.headers, is_declared))
        .or_else(|| asked.body(claimed.body.as_deref().unwrap_or_default(), &claimed.headers))
}

/// The question: which field says something else than the tool's own method?
struct Asked<'m> {
    own: &'m str,
}

impl Asked<'_> {
    /// An empty value names no method, and servers read it so.
    fn check(&self, place: &'static str, name: &str, value: &str) -> Option<Override> {
        let said = value.trim();
        let other = names_a_method(name) && !said.is_empty() && !said.eq_ignore_ascii_case(self.own);
        other.then(|| Override { place, name: name.to_owned(), value: said.to_owned() })
    }

    /// Pairs of a query or a form; some servers separate them with `;`.
    fn pairs(&self, place: &'static str, text: &[u8]) -> Option<Override> {
        text.split(|byte| matches!(byte, b'&' | b';'))
            .flat_map(url::form_urlencoded::parse)
            .find_map(|(name, value)| self.check(place, &name, &value))
    }

    /// A query field `method` that the tool does not have and whose value is a method (Facebook's Graph API reads it).
    /// One that it has is an argument of its own, such as a filter of a log.
    fn plain(&self, text: &[u8], is_declared: &dyn Fn(&str) -> bool) -> Option<Override> {
        let mut pairs = text.split(|byte| matches!(byte, b'&' | b';')).flat_map(url::form_urlencoded::parse);
        pairs.find_map(|(name, value)| {
            let plain = ["method", "httpmethod"].contains(&letters(&name).as_str());
            let found = plain && self.is_another_method(&value) && !is_declared(&name);
            found.then(|| Override { place: "the query field", name: name.into_owned(), value: value.into_owned() })
        })
    }

    /// Whether a value is a method, and not the tool's.
    fn is_another_method(&self, value: &str) -> bool {
        const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];
        let said = value.trim().to_ascii_lowercase();
        METHODS.contains(&said.as_str()) && !said.eq_ignore_ascii_case(self.own)
    }

    /// A header with a name that nobody uses for it may be one of the tool's own, such as a way to pay; one that is not
    /// counts where its value is a method.
    fn headers(&self, headers: &[(String, String)], is_declared: &dyn Fn(&str) -> bool) -> Option<Override> {
        headers.iter().find_map(|(name, value)| {
            if !name.eq_ignore_ascii_case(COOKIE_PARAMETER_HEADER) {
                let made_up = header_name::names_a_method(name) && self.is_another_method(value) && !is_declared(name);
                let found = || Override { place: "the header", name: name.clone(), value: value.trim().to_owned() };
                return self.check("the header", name, value).or_else(|| made_up.then(found));
            }
            let (name, value) = value.split_once('=')?;
            self.check("the cookie", &percent_decoded(name), &percent_decoded(value))
        })
    }

    /// The body, read as each thing that its media types let a server take it for; without one, as all of them.
    fn body(&self, body: &[u8], headers: &[(String, String)]) -> Option<Override> {
        let media = media_types(headers);
        let may_be = |word: &str| media.is_empty() || media.contains(word);
        let form = || self.pairs("the form field", body);
        let parts = || multipart::fields(body).find_map(|(name, value)| self.check("the form field", &name, &value));
        let members = || json::members(body).into_iter().find_map(|(name, value)| self.member(&name, &value));
        may_be("x-www-form-urlencoded")
            .then(form)
            .flatten()
            .or_else(|| may_be("multipart/").then(parts).flatten())
            .or_else(|| may_be("json").then(members).flatten())
    }

    /// A number, a truth value or null names no method; what holds more values could be read as one of them.
    fn member(&self, name: &str, value: &serde_json::Value) -> Option<Override> {
        match value {
            serde_json::Value::String(text) => self.check("the JSON property", name, text),
            held @ (serde_json::Value::Array(_) | serde_json::Value::Object(_)) => {
                self.check("the JSON property", name, &held.to_string())
            }
            _ => None,
        }
    }
}

/// All content types of a request, lower case; a server may take any of several.
fn media_types(headers: &[(String, String)]) -> String {
    let own = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    own.map(|(_, value)| value.to_ascii_lowercase()).collect::<Vec<_>>().join(",")
}

/// A text with its percent escapes undone.
pub(crate) fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Whether servers take a field of this name for the method: `_method` (Rails, Laravel, Symfony, Spring, Express),
/// `_HttpMethod` (Salesforce), `X-HTTP-Method` (Microsoft), `X-HTTP-Method-Override` (Google, Firebase's query too),
/// `X-Method-Override` (IBM). Case and the marks between words do not count, nor does what PHP cuts off. A plain
/// `method` or `httpMethod` is a common argument of its own: it counts only in a query, where no tool has it.
fn names_a_method(name: &str) -> bool {
    let Some(first) = name.trim().chars().next() else {
        return false;
    };
    match letters(name).as_str() {
        "method" | "httpmethod" => !first.is_ascii_alphanumeric(),
        "xhttpmethod" | "xhttpmethodoverride" | "xmethodoverride" | "httpmethodoverride" | "methodoverride" => true,
        _ => false,
    }
}

/// The letters and digits of a name in lower case, up to what PHP cuts off.
fn letters(name: &str) -> String {
    let name = name.trim();
    let cut = name.char_indices().skip(1).find(|(_, c)| matches!(c, '[' | '\0'));
    let stem = cut.map_or(name, |(end, _)| &name[..end]);
    stem.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the names of the fields of a multipart body, as any reader may take them.
pub(crate) fn part_names(body: &[u8]) -> impl Iterator<Item = String> {
    multipart::fields(body).map(|(name, _)| name)
}

#[cfg(test)]
mod tests;
