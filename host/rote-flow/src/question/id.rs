//! The ids of questions: the same each time that a recording is crystallized, and what a person answers by.

use std::fmt;
use std::str::FromStr;

use rote_types::ResponseId;
use serde::{Deserialize, Serialize};

use super::{Place, QuestionKind};
use crate::FlowError;

/// The id of a question: its kind and its place, written `source:s5/issue_id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum QuestionId {
    /// `source:`: where the value at a place comes from.
    Source(Place),
    /// `pick:`: which item is meant at a place.
    Pick(Place),
    /// `value:`: whether the value at a place is the same in each run.
    Value(Place),
    /// `param:`: which places the parameter of this name has.
    Param(String),
    /// `loop:`: which items the calls that begin with this step are for.
    Loop(String),
    /// `pages:`: whether the list that this step begins is read to its end.
    Pages(String),
    /// `found:`: what stands for what this step makes where it was found instead.
    Found(String),
    /// `when:`: on what this step depends.
    When(String),
    /// `undo:`: whether what this step made and a later one deleted matters.
    Undo(String),
    /// `changed:`: whether this step may stop the flow in another world.
    Changed(String),
}

impl QuestionId {
    /// Makes the id of what is asked about a place.
    pub(crate) fn at(of: fn(Place) -> Self, step: &str, pointer: &str) -> Self {
        of(Place { step: step.to_owned(), pointer: pointer.to_owned() })
    }

    /// Returns what the question is about.
    #[must_use]
    pub fn kind(&self) -> QuestionKind {
        match self {
            Self::Source(_) => QuestionKind::Source,
            Self::Pick(_) => QuestionKind::Pick,
            Self::Value(_) | Self::Param(_) => QuestionKind::Value,
            Self::Loop(_) => QuestionKind::Loop,
            Self::Pages(_) => QuestionKind::Pages,
            Self::Found(_) => QuestionKind::Found,
            Self::When(_) => QuestionKind::When,
            Self::Undo(_) => QuestionKind::Undo,
            Self::Changed(_) => QuestionKind::Changed,
        }
    }

    /// Returns the place that it is about, where it is about one.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            Self::Source(place) | Self::Pick(place) | Self::Value(place) => Some(place),
            _ => None,
        }
    }

    /// Returns the call that the answer `skip` leaves out, where that may be an answer.
    pub(crate) fn skips(&self) -> Option<ResponseId> {
        let step = match self {
            Self::Pick(place) | Self::Value(place) => &place.step,
            Self::When(step) | Self::Changed(step) => step,
            Self::Source(_) | Self::Param(_) | Self::Loop(_) | Self::Pages(_) | Self::Found(_) | Self::Undo(_) => {
                return None;
            }
        };
        step.strip_prefix('s')?.parse().ok().map(ResponseId)
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, step, pointer) = match self {
            Self::Source(Place { step, pointer }) => ("source", step, pointer.as_str()),
            Self::Pick(Place { step, pointer }) => ("pick", step, pointer.as_str()),
            Self::Value(Place { step, pointer }) => ("value", step, pointer.as_str()),
            Self::Param(name) => ("param", name, ""),
            Self::Loop(step) => ("loop", step, ""),
            Self::Pages(step) => ("pages", step, ""),
            Self::Found(step) => ("found", step, ""),
            Self::When(step) => ("when", step, ""),
            Self::Undo(step) => ("undo", step, ""),
            Self::Changed(step) => ("changed", step, ""),
        };
        write!(f, "{word}:{step}{pointer}")
    }
}

impl FromStr for QuestionId {
    type Err = FlowError;

    fn from_str(text: &str) -> Result<Self, FlowError> {
        let read = || {
            let (word, rest) = text.split_once(':')?;
            let (step, pointer) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let at = |of: fn(Place) -> Self| Some(Self::at(of, step, pointer));
            let of = |of: fn(String) -> Self| pointer.is_empty().then(|| of(step.to_owned()));
            match word {
                _ if step.is_empty() => None,
                "source" => at(Self::Source),
                "pick" => at(Self::Pick),
                "value" => at(Self::Value),
                "param" => of(Self::Param),
                "loop" => of(Self::Loop),
                "pages" => of(Self::Pages),
                "found" => of(Self::Found),
                "when" => of(Self::When),
                "undo" => of(Self::Undo),
                "changed" => of(Self::Changed),
                _ => None,
            }
        };
        let unread = || format!("`{text}` is not the id of a question, such as source:s5/issue_id");
        read().ok_or_else(|| FlowError::Usage { message: unread() })
    }
}

impl TryFrom<String> for QuestionId {
    type Error = FlowError;

    fn try_from(text: String) -> Result<Self, FlowError> {
        text.parse()
    }
}

impl From<QuestionId> for String {
    fn from(id: QuestionId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> impl Strategy<Value = QuestionId> {
        let name = || "[A-Za-z_][A-Za-z0-9._-]{0,8}";
        let place = || (name(), "(/[^/]{0,4}){0,3}").prop_map(|(step, pointer)| Place { step, pointer });
        prop_oneof![
            place().prop_map(QuestionId::Source),
            place().prop_map(QuestionId::Pick),
            place().prop_map(QuestionId::Value),
            name().prop_map(QuestionId::Param),
            name().prop_map(QuestionId::Loop),
            name().prop_map(QuestionId::Pages),
            name().prop_map(QuestionId::Found),
            name().prop_map(QuestionId::When),
            name().prop_map(QuestionId::Undo),
            name().prop_map(QuestionId::Changed),
        ]
    }

    proptest! {
        #[test]
        fn an_id_is_read_as_it_was_written(id in id()) {
            prop_assert_eq!(id.to_string().parse::<QuestionId>().unwrap(), id);
        }

        #[test]
        fn what_is_read_is_written_the_same(text in "(source|pick|param|when|undo|other)?:?(s[0-9])?[/:a-z~]{0,6}") {
            if let Ok(id) = text.parse::<QuestionId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn the_words_that_people_type_are_these() {
        let at = |of| QuestionId::at(of, "s5", "/issue_id");
        let of = || "s5".to_owned();
        for (id, text, skips) in [
            (at(QuestionId::Source), "source:s5/issue_id", false),
            (at(QuestionId::Pick), "pick:s5/issue_id", true),
            (at(QuestionId::Value), "value:s5/issue_id", true),
            (QuestionId::Param("size".to_owned()), "param:size", false),
            (QuestionId::Loop(of()), "loop:s5", false),
            (QuestionId::Pages(of()), "pages:s5", false),
            (QuestionId::Found(of()), "found:s5", false),
            (QuestionId::When(of()), "when:s5", true),
            (QuestionId::Undo(of()), "undo:s5", false),
            (QuestionId::Changed(of()), "changed:s5", true),
        ] {
            assert_eq!((id.to_string().as_str(), id.skips()), (text, skips.then_some(ResponseId(5))));
        }
        for text in ["", "source", "source:", "source:/a", "when:s5/a", "7", "who:s5"] {
            assert!(text.parse::<QuestionId>().is_err(), "{text}");
        }
    }
}
