//! Every answer that a question offers is one: whoever gives it is not refused, and not asked the same again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::json;

use super::*;
use crate::question::{Answer, Question};
use crate::tests::support::wish;
use crate::tests::tale::Tale;

/// Most drafts of one recording.
const MAX_DRAFTS: usize = 60;

/// What was asked once, and what was answered, by the ids.
#[derive(Debug, Clone, Default)]
struct Said {
    asked: BTreeMap<String, String>,
    answers: BTreeMap<String, String>,
    /// Those that were taken, by their ids.
    taken: BTreeSet<String>,
}

impl Said {
    /// The questions that there are then.
    fn questions(&self, tale: &Tale, params: &[(&str, Option<&str>)]) -> Result<Vec<Question>, FlowError> {
        let crystallizer = &tale.fixture.flows.crystallizer;
        let request = CrystallizeRequest { answers: self.answers.clone(), ..wish(params) };
        let (asked, answered) = (self.asked.clone(), self.taken.clone());
        let before = Made { sha256: Sha256Digest([0; 32]), companions: BTreeMap::new(), asked, answered };
        let drafted = crystallizer.drafted(&request, Some(&before), &*crystallizer.replayer.runtime.query_engine())?;
        Ok(drafted.report.questions)
    }

    /// The same with a further answer.
    fn with(&self, question: &Question, word: &str) -> Self {
        let mut said = self.clone();
        said.taken = said.answers.keys().cloned().collect();
        said.asked.insert(question.id.to_string(), question.ask.clone());
        said.answers.insert(question.id.to_string(), word.to_owned());
        said
    }
}

/// Gives every answer that is offered behind all that were given before, as `rote flow answer` does; returns what was asked.
fn all_are_taken(tale: &Tale, params: &[(&str, Option<&str>)], first: &[(&str, &str)]) -> BTreeSet<String> {
    let answers = first.iter().map(|(id, word)| ((*id).to_owned(), (*word).to_owned())).collect();
    let first = Said { answers, ..Said::default() };
    let questions = first.questions(tale, params).unwrap();
    let mut states = VecDeque::from([(first, questions)]);
    let (mut asked, mut drafts) = (BTreeSet::new(), MAX_DRAFTS);
    while let Some((said, questions)) = states.pop_front() {
        for question in questions.iter().filter(|question| question.open) {
            asked.insert(question.id.to_string());
            for Answer { word, .. } in &question.answers {
                let Some(left) = drafts.checked_sub(1) else { return asked };
                drafts = left;
                let then = said.with(question, word);
                match then.questions(tale, params) {
                    Ok(further) => {
                        let again = further.iter().any(|one| one.open && one.id == question.id);
                        assert!(!again, "{} is asked again: {then:?}", question.id);
                        states.push_back((then, further));
                    }
                    Err(FlowError::Usage { message }) => panic!("{message}: {then:?}"),
                    // Without a call that an answer leaves out there may be nothing left.
                    Err(_) => {}
                }
            }
        }
    }
    asked
}

#[tokio::test]
async fn which_item_is_meant_is_said_by_each_word_that_is_offered() {
    let mut tale = Tale::new();
    let channels = [(31, "general"), (32, "deploys"), (33, "random")].map(|(id, name)| json!({"id": id, "name": name}));
    tale.call("listIssues", json!({"project": "x"}), json!({"items": channels})).await;
    tale.call("addComment", json!({"issue_id": "@1{.items[1].id}", "body": "Freeze on deploys"}), json!({"id": 900}))
        .await;
    all_are_taken(&tale, &[("channel", Some("deploys"))], &[]);
    // An id that was typed, and of which was said where it stands.
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), json!({"items": channels})).await;
    tale.call("addComment", json!({"issue_id": 32, "body": "Freeze"}), json!({"id": 900})).await;
    for first in [&[][..], &[("source:s2/issue_id", "@1{.items[1].id}")]] {
        let asked = all_are_taken(&tale, &[], first);
        assert!(asked.contains("pick:s2/issue_id"), "{asked:?}");
    }
}

#[tokio::test]
async fn every_answer_that_is_offered_of_several_recordings_is_taken() {
    let people = [(41, "Bo", 7), (42, "Al", 9), (43, "Ada Lind", 12)];
    let people = people.map(|(id, name, points)| json!({"id": id, "name": name, "login": name, "points": points}));
    // Texts for some of a list, with what may be chance.
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), json!({"items": people})).await;
    for (id, text) in [(41, "Hi Bo, 7 left"), (43, "Hi Ada Lind, 12 left")] {
        tale.call("addComment", json!({"issue_id": id, "body": text}), json!({"id": 900})).await;
    }
    let asked = all_are_taken(&tale, &[], &[]);
    assert!(asked.contains("source:s2/body") && asked.contains("loop:s2"), "{asked:?}");
    // Something that was looked for and made, and a number that was reckoned.
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"email": "joe@example.com"}), json!({"items": []})).await;
    tale.call("createIssue", json!({"title": "joe@example.com", "estimate": 8}), json!({"id": 7, "vans": 4})).await;
    tale.query(2, ".vans");
    tale.call("addWorklog", json!({"issue_key": "@2{.id}", "hours": 8}), json!({"id": 900})).await;
    all_are_taken(&tale, &[("email", Some("joe@example.com"))], &[("when:s2", "yes")]);
    // Reads that waited, a list that goes on, a file that was brought in, and a list that was sent back with another element.
    let mut tale = Tale::new();
    for state in ["creating", "ready"] {
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "status": state, "labels": ["a", "b"]})).await;
    }
    tale.query(2, ".labels");
    tale.call("listIssues", json!({"project": "x"}), json!({"items": people, "has_more": true})).await;
    tale.query(3, ".items[] | select(.name == \"Al\") | .id");
    tale.call("updateIssue", json!({"issue_id": 42, "labels": ["a", "b", "c"]}), json!({"id": 42})).await;
    tale.call("lockIssue", json!({"issue_id": 42, "reason": "x"}), json!({})).await;
    tale.call("unlockIssue", json!({"issue_id": 42}), json!({})).await;
    let asked = all_are_taken(&tale, &[], &[]);
    assert!(asked.len() > 2, "{asked:?}");
}
