//! What the judged sentences say is taken as well as it was, and never wrongly.

#[path = "../examples/infer/set.rs"]
mod set;

use set::{Figures, Judged};

const SET: &str = include_str!("../../../tests/fixtures/intents/sentences.json");

#[test]
fn what_sentences_say_is_taken_as_well_as_it_was() {
    let set: Vec<Judged> = serde_json::from_str(SET).expect("the set is JSON");
    let mut all = Figures::default();
    let mut wrong = Vec::new();
    for one in &set {
        let (taken, figures) = one.judge();
        if figures.right < figures.taken {
            wrong.push(format!("{}: {taken:?}, not {:?}", one.sentence, one.expect));
        }
        all += figures;
    }
    assert!(all.right >= 241 && all.taken == all.right, "{all}: {wrong:#?}");
}
