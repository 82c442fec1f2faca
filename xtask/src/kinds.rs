//! Checks that a kind of the journal's events stands as text in one place.

use rote_types::event;

use crate::sources::{Source, forbid, sources};

/// The place.
const NAMED: &str = "host/rote-types/src/event.rs";

/// Looks through all code of the host that is not a test.
pub(crate) fn check() -> anyhow::Result<()> {
    let code = sources(&["host"])?;
    let others = code.iter().filter(|source| source.path != NAMED);
    forbid(others, literals, "take the kind of an event from `rote_types::event`")?;
    println!("kinds of events have one name each");
    Ok(())
}

/// The kinds that a file's code has as text of Rust or of SQL, with their lines.
fn literals(source: &Source) -> impl Iterator<Item = (usize, &'static str)> {
    let stands =
        |line: &str, kind: &str| ['"', '\''].iter().any(|quote| line.contains(&format!("{quote}{kind}{quote}")));
    source
        .lines()
        .filter_map(move |(number, line)| event::ALL.iter().find(|kind| stands(line, kind)).map(|kind| (number, *kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_as_text_is_found_in_rust_and_in_sql() {
        let code = "a(\"run.started\"); // \"run.failed\"\nb(\"WHERE kind = 'effect.failed'\");\nc(\"run.jsonl\");\n";
        let source = Source { path: String::new(), code: code.to_owned() };
        assert_eq!(literals(&source).collect::<Vec<_>>(), [(1, event::RUN_STARTED), (2, event::EFFECT_FAILED)]);
    }

    #[test]
    fn kinds_are_named_in_one_place() {
        check().unwrap();
        let code = sources(&["host"]).unwrap();
        let named = code.iter().find(|source| source.path == NAMED).unwrap();
        assert_eq!(literals(named).count(), event::ALL.len());
    }
}
