//! Paths of members and items: into a value, and as jq programs.

use serde_json::Value;

/// A step on the way into an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    /// A member.
    Key(String),
    /// An item.
    Index(usize),
}

/// Returns the jq program of a path.
pub(crate) fn jq_of(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Key(key) => {
                let plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                let dot = if text.is_empty() || plain { "." } else { "" };
                let written = if plain { key.clone() } else { format!("[{}]", Value::from(key.as_str())) };
                text.push_str(&format!("{dot}{written}"));
            }
            Segment::Index(index) if text.is_empty() => text.push_str(&format!(".[{index}]")),
            Segment::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    if text.is_empty() { ".".to_owned() } else { text }
}

/// What stands at a path of members.
pub(crate) fn at_mut<'v>(value: &'v mut Value, path: &[Segment]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}

/// Reads a program that is nothing but a path of members and items.
pub(crate) fn path_of(jq: &str) -> Option<Vec<Segment>> {
    read(jq, |_, index| usize::try_from(index).ok())
}

/// Reads the same of an answer, of which items may be counted from the end of their list: `[-1]`.
pub(crate) fn path_in(jq: &str, body: &Value) -> Option<Vec<Segment>> {
    read(jq, |way, index| match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => at(body, way)?.as_array()?.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    })
}

fn read(jq: &str, index_of: impl Fn(&[Segment], i64) -> Option<usize>) -> Option<Vec<Segment>> {
    let mut rest = jq.trim();
    let mut path = Vec::new();
    if rest == "." {
        return Some(path);
    }
    let mut first = true;
    while !rest.is_empty() {
        let inner = rest.strip_prefix('.').unwrap_or(rest);
        if first && inner.len() == rest.len() {
            return None;
        }
        if let Some(inside) = inner.strip_prefix('[') {
            let (index, after) = inside.split_once(']')?;
            let index = index_of(&path, index.trim().parse().ok()?)?;
            path.push(Segment::Index(index));
            rest = after;
        } else if inner.len() < rest.len() {
            let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
            if end == 0 || inner.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            path.push(Segment::Key(inner[..end].to_owned()));
            rest = &inner[end..];
        } else {
            return None;
        }
        first = false;
    }
    Some(path)
}

/// Returns what stands at a path.
pub(crate) fn at<'v>(value: &'v Value, path: &[Segment]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        for jq in [".", ".id", ".items[2].id", ".[0]", ".a.b[1][2].c"] {
            assert_eq!(path_of(jq).map(|path| jq_of(&path)).as_deref(), Some(jq));
        }
        for jq in [".items[].id", ".a | .b", ".items[-1]", "items", ".a?", ".[\"x\"]", ".1"] {
            assert_eq!(path_of(jq), None, "{jq}");
        }
        let body = serde_json::json!({"items": [{"id": 4}, {"id": 5}]});
        for (jq, wanted) in [(".items[-1].id", ".items[1].id"), (".items[-2]", ".items[0]"), (".items[0]", ".items[0]")]
        {
            assert_eq!(path_in(jq, &body).map(|path| jq_of(&path)).as_deref(), Some(wanted));
        }
        for jq in [".items[-3]", ".id[-1]", ".none[-1]"] {
            assert_eq!(path_in(jq, &body), None, "{jq}");
        }
        assert_eq!(jq_of(&[Segment::Key("a b".to_owned()), Segment::Key("c d".to_owned())]), ".[\"a b\"][\"c d\"]");
    }
}
