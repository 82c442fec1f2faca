//! Judges what is inferred from sentences: `cargo run -p rote-flow --example infer -- SET.json [told]`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a developer's tool prints and reads files")]

mod set;

use set::{Figures, Judged};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        println!("infer SET.json [told]");
        return;
    };
    let told = arguments.next().is_some();
    let set = std::fs::read(file).expect("the set can be read");
    let set: Vec<Judged> = serde_json::from_slice(&set).expect("the set is JSON");
    let mut all = Figures::default();
    for one in &set {
        let (taken, figures) = one.judge();
        if told && (figures.right < figures.taken || figures.right < figures.said) {
            println!("- {}\n    right: {:?}\n    taken: {taken:?}", one.sentence, one.expect);
        }
        all += figures;
    }
    println!("{all}");
}
