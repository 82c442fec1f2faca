//! Path templates: `{name}` placeholders, and what real documents put behind `?` and `#`.

/// A path of the source, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Template {
    /// Starts with `/`; no query, no fragment.
    pub(crate) path: String,
    /// The fixed part of the query.
    pub(crate) query: String,
    /// Names in the path, in order, each once.
    pub(crate) placeholders: Vec<String>,
    /// Query parameters that the path writes as `name={placeholder}`.
    pub(crate) query_placeholders: Vec<(String, String)>,
    /// What had to be mended.
    pub(crate) repairs: Vec<String>,
}

/// Takes a path apart. The fragment only tells operations apart and is never sent.
pub(crate) fn parse(source: &str) -> Template {
    let mut template = Template::default();
    let without_fragment = source.split('#').next().unwrap_or("");
    let (path, query) = without_fragment.split_once('?').unwrap_or((without_fragment, ""));
    if !path.starts_with('/') {
        template.path.push('/');
    }
    read_path(path, &mut template);
    read_query(query, &mut template);
    template
}

fn read_path(path: &str, template: &mut Template) {
    let mut rest = path;
    while let Some(start) = rest.find('{') {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        template.path.push_str(&rest[..start]);
        let written = &rest[start + 1..start + length];
        // RFC 6570 operators and modifiers, which OpenAPI does not have, stand in some documents.
        let name = written.trim().trim_start_matches(['+', '/', '.', ';', '#']).trim_end_matches('*');
        if name != written {
            template.repairs.push(format!("placeholder `{{{written}}}` read as `{{{name}}}`"));
        }
        template.path.push('{');
        template.path.push_str(name);
        template.path.push('}');
        if !template.placeholders.iter().any(|known| known == name) {
            template.placeholders.push(name.to_owned());
        }
        rest = &rest[start + length + 1..];
    }
    template.path.push_str(rest);
}

fn read_query(query: &str, template: &mut Template) {
    let mut fixed = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match value.strip_prefix('{').and_then(|value| value.strip_suffix('}')) {
            Some(placeholder) => {
                template.query_placeholders.push((name.to_owned(), placeholder.to_owned()));
            }
            None if pair.contains(['{', '}']) => {
                // RFC 6570's `{?a,b}` and values with a placeholder inside: the parameters are declared anyway.
                template.repairs.push(format!("`{pair}` in the path's query left out"));
            }
            None => fixed.push(pair),
        }
    }
    template.query = fixed.join("&");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        let cases = [
            ("/a/{b}/c/{d}.{e}", "/a/{b}/c/{d}.{e}", "", vec!["b", "d", "e"]),
            ("/files/{id}#get_shared_link", "/files/{id}", "", vec!["id"]),
            ("/x?action=start&y=1", "/x", "action=start&y=1", vec![]),
            ("x/{+path}", "/x/{path}", "", vec!["path"]),
            ("/a/{open", "/a/{open", "", vec![]),
            ("", "/", "", vec![]),
        ];
        for (source, path, query, placeholders) in cases {
            let template = parse(source);
            assert_eq!((template.path.as_str(), template.query.as_str()), (path, query), "{source}");
            assert_eq!(template.placeholders, placeholders, "{source}");
        }
        assert_eq!(parse("/a?x={y}&z=1").query_placeholders, [("x".to_owned(), "y".to_owned())]);
        assert_eq!(parse("/a?x={y}&z=1").query, "z=1");
    }
}
