//! What crystallize says to a person: what it asks, what it did without asking, what it left out.

mod id;

pub use id::QuestionId;
use rote_types::{CommandLine, ResponseId, command};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer that reckons a number in each run; of several ways the first.
pub(crate) const RECKONED: &str = "reckoned";

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionKind {
    /// Where a typed value comes from.
    Source,
    /// Which item of a list is meant.
    Pick,
    /// Which items a repetition is for.
    Loop,
    /// Whether a list is read to its end.
    Pages,
    /// What stands for a thing that was found instead of made.
    Found,
    /// Which places a parameter has.
    Value,
    /// Whether a write depends on what was asked before it.
    When,
    /// Whether a thing that was made and deleted again matters.
    Undo,
    /// What a changed world showed.
    Changed,
}

impl QuestionKind {
    /// Whether an answer may be `@N{JQ}` beside the words of the question.
    pub(crate) fn takes_reference(self) -> bool {
        matches!(self, Self::Source | Self::Pick)
    }
}

/// Something that speaks for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is, in words.
    pub what: String,
    /// The response where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseId>,
    /// Where in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jq: Option<String>,
    /// The value there.
    pub value: Value,
}

/// One of the answers that a question has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The word to answer with.
    pub word: String,
    /// What it does.
    pub means: String,
    /// The flag of `rote flow template create` that says the same.
    pub flag: String,
}

impl Answer {
    /// Makes it; what is in the flag may be a word of a server.
    pub(crate) fn new(word: impl Into<String>, means: String, flag: CommandLine) -> Self {
        Self { word: word.into(), means, flag: flag.to_string() }
    }

    /// Makes one that is given by the id of the question.
    pub(crate) fn by_id(question: &QuestionId, word: impl Into<String>, means: String) -> Self {
        let word = word.into();
        let flag = command("--answer").assignment(question, &word);
        Self::new(word, means, flag)
    }
}

/// Something that the recording does not decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Kind and place, the same each time.
    pub id: QuestionId,
    /// What it is about.
    pub kind: QuestionKind,
    /// One sentence.
    pub ask: String,
    /// Where it matters.
    pub places: Vec<Place>,
    /// What speaks for which answer.
    pub evidence: Vec<Evidence>,
    /// What it is answered by, one of them as it is now.
    pub answers: Vec<Answer>,
    /// The word of the answer that the draft has.
    pub taken: String,
    /// Whether a write depends on it.
    pub writes: bool,
    /// Nobody has answered it.
    pub open: bool,
}

impl Question {
    /// Asks about a value of a write that is the same in each run until somebody says otherwise.
    pub(crate) fn of_value(
        id: QuestionId,
        (step, pointer): (&str, &str),
        ask: String,
        evidence: Vec<Evidence>,
        answers: Vec<Answer>,
    ) -> Self {
        Self {
            kind: id.kind(),
            ask,
            places: vec![Place { step: step.to_owned(), pointer: pointer.to_owned() }],
            evidence,
            answers,
            taken: "always".to_owned(),
            writes: true,
            open: true,
            id,
        }
    }
}

/// Something that was done without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The step that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What was done.
    pub text: String,
    /// The flag that undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

/// A call that did not become a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub response: ResponseId,
    /// What it called, `adapter/tool`.
    pub call: String,
    /// Why it was left out.
    pub reason: String,
}

/// A place in the plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub step: String,
    /// JSON pointer into its arguments.
    pub pointer: String,
}
