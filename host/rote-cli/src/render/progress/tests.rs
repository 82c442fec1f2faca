//! One run as a terminal and as a log show it.

use indicatif::InMemoryTerm;
use serde_json::json;

use super::*;

fn call(tool: &str) -> ToolCall {
    ToolCall { adapter: "shop".parse().unwrap(), tool: tool.to_owned(), arguments: json!({}) }
}

fn answer(status: u16) -> ResponseRef {
    ResponseRef { id: ResponseId(1), status, content_type: String::new(), bytes: 0, refused: false }
}

/// Two steps whose calls overlap, one that is left out, one call that fails.
fn play(progress: &Progress) {
    progress.progress("orders  shop/list", StepState::Running);
    progress.call_started(ResponseId(1), &call("list"));
    progress.progress("users  shop/users", StepState::Running);
    progress.call_started(ResponseId(2), &call("users"));
    progress.call_started(ResponseId(3), &call("list"));
    progress.call_ended(ResponseId(1), &call("list"), Ok(&answer(200)));
    progress.call_ended(ResponseId(2), &call("users"), Ok(&answer(204)));
    progress.progress("users  shop/users", StepState::Done);
    let error = RunError::Host { message: "lost".to_owned() };
    progress.call_ended(ResponseId(3), &call("list"), Err(&error));
    progress.progress("orders  shop/list", StepState::Failed);
    progress.progress("mail  shop/mail", StepState::Skipped);
    progress.finish();
}

/// Text without the times, which differ.
fn timeless(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let words = line.split("  ").filter(|word| !word.ends_with(" ms"));
        words.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    text.lines().map(line).collect()
}

#[test]
fn a_terminal_shows_calls_below_their_steps() {
    let terminal = InMemoryTerm::new(20, 80);
    play(&Progress::new(Place::Terminal(ProgressDrawTarget::term_like(Box::new(terminal.clone())))));
    let expected = [
        "  ✗ orders  shop/list",
        "    ✓ @1  shop/list  200",
        "    ✗ @3  shop/list  the host failed: lost",
        "  ✓ users  shop/users",
        "    ✓ @2  shop/users  204",
        "  - mail  shop/mail",
    ];
    assert_eq!(timeless(&terminal.contents()), expected);
}

/// A writer that a test can read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn elsewhere_each_end_is_a_line() {
    let page = Page::default();
    play(&Progress::new(Place::Lines(Box::new(page.clone()))));
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let expected = [
        "done     @1  shop/list  200",
        "done     @2  shop/users  204",
        "failed   @3  shop/list  the host failed: lost",
        "failed   orders  shop/list",
        "skipped  mail  shop/mail",
    ];
    assert_eq!(timeless(&text), expected);
}

#[test]
fn a_flood_of_steps_is_bounded() {
    let terminal = InMemoryTerm::new(100, 80);
    let progress = Progress::new(Place::Terminal(ProgressDrawTarget::term_like(Box::new(terminal.clone()))));
    for number in 0..10_000 {
        progress.progress(&format!("step {number}"), StepState::Running);
    }
    assert!(progress.watched().unwrap().open.len() <= MAX_OPEN);
    progress.finish();
    assert!(terminal.contents().lines().count() <= 40);
}
