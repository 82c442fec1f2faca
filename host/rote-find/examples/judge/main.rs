//! Judges the ranking: `cargo run -p rote-find --example judge -- FOLDER SET [PART-OF-A-FILE-NAME]`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a developer's tool prints and reads files")]

mod set;

use std::collections::BTreeMap;
use std::path::Path;

use set::{Described, Figures, Judged};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(file)) = (arguments.next(), arguments.next()) else {
        println!("judge FOLDER-OF-DESCRIPTIONS SET.json [PART-OF-A-FILE-NAME]");
        return;
    };
    let told = arguments.next();
    let set = std::fs::read(file).expect("the set can be read");
    let set: Vec<Judged> = serde_json::from_slice(&set).expect("the set is JSON");
    let mut by_api: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    set.iter().for_each(|one| by_api.entry(&one.api).or_default().push(one));
    let mut total = Figures::default();
    for (api, judged) in by_api {
        let Some(described) = Described::read(&Path::new(&folder).join(api)) else {
            println!("{api}: not there");
            continue;
        };
        let mut all = Figures::default();
        for one in judged {
            let (found, figures) = described.judge(one);
            let right = figures.first + figures.none == 1;
            if !right && told.as_ref().is_some_and(|part| api.contains(part)) {
                let best: Vec<&str> =
                    found.fits.iter().chain(&found.near).take(3).map(|found| found.tool.as_str()).collect();
                let (intent, expect) = (&one.intent, one.expect.join(", "));
                println!("- {intent}\n    right: {expect}\n    found: {}", best.join(", "));
            }
            all += figures;
        }
        println!("{api}: {all}");
        total += all;
    }
    println!("all: {total}");
}
