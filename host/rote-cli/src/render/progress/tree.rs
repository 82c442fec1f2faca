//! The tree on a terminal: each step with its time, its calls below it.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{End, Open, Show};

/// Time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(100);
/// Most lines that are shown; further steps run unshown.
const MAX_LINES: usize = 40;

/// Draws lines and draws over them.
pub(super) struct Tree {
    lines: MultiProgress,
    shown: HashMap<String, Line>,
}

struct Line {
    bar: ProgressBar,
    /// The last line of this step and what is below it.
    last: ProgressBar,
    depth: usize,
}

impl Tree {
    pub(super) fn new(target: ProgressDrawTarget) -> Self {
        Self { lines: MultiProgress::with_draw_target(target), shown: HashMap::new() }
    }

    /// Puts a line below its step's others, or at the end.
    fn place(&mut self, parent: Option<&str>) -> (ProgressBar, usize) {
        let Some(parent) = parent.and_then(|parent| self.shown.get_mut(parent)) else {
            return (self.lines.add(ProgressBar::new_spinner()), 0);
        };
        let bar = self.lines.insert_after(&parent.last, ProgressBar::new_spinner());
        parent.last = bar.clone();
        (bar, parent.depth + 1)
    }
}

/// Returns the style of a line, `what` before and after its text.
fn style(depth: usize, what: &str) -> ProgressStyle {
    let template = format!("{}{what}", "  ".repeat(depth + 1));
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

impl Show for Tree {
    fn start(&mut self, key: &str, step: &Open) {
        if self.shown.len() >= MAX_LINES {
            return;
        }
        let (bar, depth) = self.place(step.parent.as_deref());
        bar.set_style(style(depth, "{spinner} {msg}  {elapsed}"));
        bar.set_message(step.text.clone());
        bar.enable_steady_tick(FRAME);
        self.shown.insert(key.to_owned(), Line { last: bar.clone(), bar, depth });
    }

    fn end(&mut self, key: &str, step: &Open, end: End, text: &str) {
        let Some(line) = self.shown.get(key) else { return };
        line.bar.set_style(style(line.depth, "{msg}"));
        line.bar.finish_with_message(match end {
            End::Done => format!("✓ {text}  {}", step.time()),
            End::Failed => format!("✗ {text}  {}", step.time()),
            End::Skipped => format!("- {text}"),
        });
    }

    fn finish(&mut self) {
        for line in self.shown.values().filter(|line| !line.bar.is_finished()) {
            line.bar.abandon();
        }
    }
}
