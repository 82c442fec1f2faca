//! The path of a method: which template is filled, and by which arguments.
//!
//! `{+name}` is a path of several segments in one parameter. A path argument never leaves its segment here, so such a parameter is given by
//! its segments, which `flatPath` names one by one; the path that is sent is the same. Where there is no `flatPath` to tell them it stays one argument.

use crate::notices::Notes;
use crate::openapi::Node;

/// Most placeholders of a path; Google's longest have a dozen.
const MOST_PLACEHOLDERS: usize = 32;

/// A path with one argument per placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// The template, without a slash in front.
    pub(crate) path: String,
    /// Parameters that are given by their segments.
    pub(crate) replaced: Vec<String>,
    /// The segments that they are given by.
    pub(crate) segments: Vec<String>,
}

impl Route {
    /// Chooses between `path` and `flatPath` of a method.
    pub(crate) fn of(method: &Node<'_>, path: &str, notes: &Notes) -> Self {
        let path = path.trim_start_matches('/');
        let all = placeholders(path);
        let (wide, plain): (Vec<&str>, Vec<&str>) = all.into_iter().partition(|name| name.starts_with('+'));
        let unchanged = Self { path: path.replace("{+", "{"), replaced: Vec::new(), segments: Vec::new() };
        if wide.is_empty() {
            return unchanged;
        }
        let flat = method.text("flatPath").unwrap_or("").trim_start_matches('/');
        let named = placeholders(flat);
        let fresh = named.iter().take(MOST_PLACEHOLDERS).filter(|name| !plain.contains(name));
        let segments: Vec<String> = fresh.map(|name| (*name).to_owned()).collect();
        let is_short = wide.len() + plain.len() <= MOST_PLACEHOLDERS && named.len() <= MOST_PLACEHOLDERS;
        let is_complete = is_short && plain.iter().all(|name| named.contains(name)) && segments.len() >= wide.len();
        if is_complete && !named.iter().any(|name| name.starts_with(|c: char| !c.is_ascii_alphanumeric() && c != '_')) {
            let replaced = wide.iter().map(|name| name.trim_start_matches('+').to_owned()).collect();
            return Self { path: flat.to_owned(), replaced, segments };
        }
        for name in wide {
            let name = name.trim_start_matches('+');
            let said = "may be several segments, which no `flatPath` tells apart; it is one argument, and a `/` in it is sent as `%2F`";
            notes.add(&method.pointer, format_args!("path parameter `{name}` {said}"));
        }
        unchanged
    }

    /// The same route below another path, such as that of an upload, where that path ends with the method's own.
    pub(crate) fn below(&self, own: &str, other: &str) -> Option<String> {
        let other = other.trim_start_matches('/');
        if self.segments.is_empty() {
            return Some(other.replace("{+", "{"));
        }
        other.strip_suffix(own.trim_start_matches('/')).map(|before| format!("{before}{}", self.path))
    }
}

/// The names in braces, in order.
fn placeholders(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn route(path: &str, flat: &str) -> (Route, Vec<String>) {
        let value = json!({"flatPath": flat});
        let notes = Notes::default();
        let route = Route::of(&Node { document: 0, pointer: "/m".to_owned(), value: &value }, path, &notes);
        (route, notes.finish())
    }

    #[test]
    fn a_parameter_of_several_segments_is_given_by_them() {
        let (found, notes) = route("v1/{+parent}/jobs/{job}", "v1/projects/{projectsId}/zones/{zonesId}/jobs/{job}");
        assert_eq!(found.path, "v1/projects/{projectsId}/zones/{zonesId}/jobs/{job}");
        assert_eq!((found.replaced.as_slice(), notes.len()), (&["parent".to_owned()][..], 0));
        assert_eq!(found.segments, ["projectsId", "zonesId"]);
        let upload = found.below("v1/{+parent}/jobs/{job}", "/upload/v1/{+parent}/jobs/{job}");
        assert_eq!(upload.as_deref(), Some("upload/v1/projects/{projectsId}/zones/{zonesId}/jobs/{job}"));
        assert_eq!(found.below("v1/{+parent}/jobs/{job}", "/upload/v2/{+parent}"), None);
    }

    #[test]
    fn without_a_usable_flat_path_it_stays_one_argument_with_a_note() {
        for flat in ["", "v1/operations", "v1/{+name}", "v1/{other"] {
            let (found, notes) = route("v1/{+name}", flat);
            assert_eq!((found.path.as_str(), found.segments.len(), notes.len()), ("v1/{name}", 0, 1), "{flat}");
        }
        let (plain, notes) = route("/files/{id}", "files/{other}");
        assert_eq!((plain.path.as_str(), notes.len()), ("files/{id}", 0));
    }
}
