//! `rote flow review`.

use clap::Args;
use rote_app::{Decided, FlowQuestion, Review as Reviewed};
use rote_types::{command, quoted};

use crate::context::Context;
use crate::error::Result;
use crate::render::units::{MAX_LINE, clip};
use crate::ui::Report;

/// Show in words what a flow does, and what its recording did not decide
#[derive(Debug, Args)]
pub struct Review {
    /// Its name, or a path to a flow.wasm
    flow: String,
}

impl Review {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let review = context.host()?.library()?.review(&context.session()?.flow(&self.flow)?)?;
        let report = Report::new(&review, text(&review));
        Ok(match review.frontmatter.questions.first() {
            Some(question) => report.next(command("rote flow answer").argument(&self.flow).blank(&question.id)),
            None => report.next(review.frontmatter.run_command(&self.flow)),
        })
    }
}

fn text(review: &Reviewed) -> String {
    let front = &review.frontmatter;
    let mut lines = vec![format!(
        "{} {} ({}): {}",
        front.name,
        front.version,
        front.status.as_str(),
        clip(&front.description, MAX_LINE)
    )];
    match &review.sentences {
        Some(sentences) => lines.extend(sentences.lines().iter().map(|line| format!("  {line}"))),
        None => lines.push(format!("  {}: `rote decompile` shows what runs", front.form.as_str())),
    }
    lines.extend(
        review.left_out.iter().map(|one| format!("  left out: {} {} ({})", one.response, one.call, one.reason)),
    );
    lines.extend(review.notes.iter().map(|note| {
        let undo = note.undo.as_ref().map_or_else(String::new, |flag| format!("; {flag}"));
        format!("  note: {}{undo}", note.text)
    }));
    if review.by_hand {
        lines.push("  it is not as crystallize made it: what is known of it stands in the file itself".to_owned());
        lines.extend(
            front
                .questions
                .iter()
                .map(|one| format!("  open: {} ({})", clip(&one.ask, MAX_LINE), clip(&one.id, MAX_LINE))),
        );
    }
    lines.extend(questions(&review.questions, &review.decided));
    lines.join("\n")
}

/// The questions with their numbers: those that are open with what speaks for which answer, then the others with their
/// answers, with what left nothing to ask.
pub(super) fn questions(questions: &[FlowQuestion], decided: &[Decided]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, question) in questions.iter().enumerate().filter(|(_, question)| question.open) {
        lines.push(format!("  open {}: {} ({})", index + 1, question.ask, question.id));
        lines.extend(question.evidence.iter().map(|one| {
            let jq = one.jq.as_deref().map_or_else(String::new, |jq| format!("{{{jq}}}"));
            let place = one.response.map_or_else(String::new, |response| format!(" {response}{jq}"));
            format!("      seen: {}{place}", one.what)
        }));
        lines.extend(question.answers.iter().map(|answer| {
            let taken = if answer.word == question.taken { "  <- as it is now" } else { "" };
            format!("      {}={}  {}{taken}", index + 1, quoted(&answer.word), answer.means)
        }));
    }
    let answered = questions.iter().enumerate().filter(|(_, question)| !question.open);
    let answered =
        answered.map(|(index, one)| format!("    {}: {} ({}): {}", index + 1, one.ask, one.id, quoted(&one.taken)));
    let decided = decided.iter().map(|one| {
        let ask = one.ask.as_ref().map_or_else(String::new, |ask| format!("{ask} "));
        format!("    {ask}({}): {}", one.id, quoted(&one.answer))
    });
    let answered: Vec<String> = answered.chain(decided).collect();
    if !answered.is_empty() {
        lines.push("  answered:".to_owned());
    }
    lines.extend(answered);
    lines
}
