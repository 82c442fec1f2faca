//! The whole command line as one page, so that a change of words shows up in the diff.

use clap::CommandFactory as _;
use expect_test::expect_file;

use crate::home;

/// Returns the help of a command and of everything below it.
fn collect(words: &mut Vec<String>, command: &clap::Command, page: &mut String) {
    let home = home();
    let asked: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let run = home.rote(&asked);
    assert_eq!(run.code, 0, "{run}");
    page.push_str(&format!("# rote {}\n\n{}\n", words.join(" "), run.stdout.trim_end()));
    page.push('\n');
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        words.push(below.get_name().to_owned());
        collect(words, below, page);
        words.pop();
    }
}

#[test]
fn the_help_of_every_command_is_as_reviewed() {
    let mut page = String::new();
    let command = rote_cli::commands::Cli::command();
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        collect(&mut vec![below.get_name().to_owned()], below, &mut page);
    }
    let whole = home().rote(&["--help"]).stdout;
    expect_file!["reference.txt"].assert_eq(&format!("{whole}\n{page}"));
}
