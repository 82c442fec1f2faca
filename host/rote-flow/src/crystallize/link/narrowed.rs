//! A name that was chosen from a list: by a query that says why, or by the person, who is taken to mean the name.

use rote_plan::equal;
use serde_json::Value;

use super::super::occurrences::Hit;
use super::super::path::{Segment, jq_of};
use super::super::pick;
use super::super::program::string_literals;
use super::{Linker, Read};

impl Linker<'_, '_> {
    /// Where the last query that chose from a list showed this value, and nothing else of its kind.
    pub(super) fn narrowed(&self, pointer: &str, value: &Value, hits: &[&Hit]) -> Option<Read> {
        if !self.call.is_write() || !value.is_string() || self.cx.is_chosen(self.call, pointer) {
            return None;
        }
        self.cx.trace.queries.iter().rev().filter(|query| query.command.0 < self.call.command).find_map(|query| {
            let response = query.source_response?;
            let hit = hits.iter().find(|hit| self.response(hit) == response)?;
            let program = self.cx.portable(query).ok()?;
            // Who wrote the name into the query knew it.
            let typed = string_literals(&program).iter().any(|literal| *value == *literal.text);
            if typed || !pick::chooses(&program) {
                return None;
            }
            let field = jq_of(&[Segment::Key(hit.field().to_owned())]);
            let programs = [program.clone(), format!("{program} | {field}"), format!("{program} | .[] | {field}")];
            let gives = |jq: &String| {
                let outputs = self.cx.outputs(response, jq);
                outputs.is_ok_and(|outputs| matches!(outputs.as_slice(), [one] if equal(one, value)))
            };
            programs.into_iter().find(gives).map(|jq| Read { step: self.source(hit).0, response, jq })
        })
    }
}
