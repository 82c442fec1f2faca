//! `rote flow template …`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use rote_app::{CrystallizeRequest, Crystallized, ParamSpec};
use rote_types::{CommandLine, command};
use serde_json::Value;

use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::table::facts;
use crate::render::units::{clip, count, plural, size};
use crate::ui::Report;

/// Most characters of a line.
const MAX_LINE: usize = 110;

/// Make a flow from what a workspace recorded
#[derive(Debug, Subcommand)]
pub enum Template {
    Create(Create),
}

/// Turn a workspace's calls into one flow.wasm
///
/// Failed and repeated attempts and reads that nothing used are left out; values that came from earlier answers
/// become dependencies. The flow is accepted only when it gives the recorded result again from the recorded
/// answers.
#[derive(Debug, Args)]
pub struct Create {
    /// The flow's name
    #[arg(long)]
    name: String,
    /// A parameter and the recorded value that it stands for: every such value becomes the parameter. A name
    /// alone means the argument of that name.
    #[arg(short, long = "param", value_name = "NAME[=VALUE]")]
    parameters: Vec<String>,
    /// What the flow does [default: a sentence made from its steps]
    #[arg(short, long)]
    description: Option<String>,
    /// The result: `@3`, or `@3{.jq}` [default: the last query or answer]
    #[arg(long, value_name = "@N{JQ}")]
    result: Option<String>,
    /// Leave this call out; repeat it for more
    #[arg(long, value_name = "@N")]
    skip: Vec<rote_types::ResponseId>,
    /// Keep this call although a later one covers it, or deletes again what it made
    #[arg(long, value_name = "@N")]
    keep: Vec<rote_types::ResponseId>,
    /// Where a typed value comes from: `s5:/issue_id=@1{.id}` reads it from @1
    #[arg(long, value_name = "STEP:/PLACE=@N{JQ}")]
    link: Vec<String>,
    /// A value that was typed stays as it is in each run: `s5:/issue_id`
    #[arg(long, value_name = "STEP:/PLACE")]
    no_link: Vec<String>,
    /// The answer to a question that an earlier try has asked, by its id
    #[arg(long = "answer", value_name = "QUESTION=ANSWER")]
    answers: Vec<String>,
    /// A word to find it by; repeat it for more
    #[arg(long = "tag", value_name = "WORD")]
    tags: Vec<String>,
    /// Replace a draft of the same name
    #[arg(short, long)]
    force: bool,
}

impl Template {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let Self::Create(create) = self;
        create.run(context)
    }
}

impl Create {
    fn run(self, context: &Context) -> Result<Report> {
        let answers = self.answers()?;
        let request = CrystallizeRequest {
            params: self.parameters.iter().map(|word| recorded_parameter(word)).collect::<Result<_>>()?,
            description: self.description,
            result: self.result.as_deref().map(str::parse).transpose()?,
            answers,
            skip: self.skip,
            tags: self.tags,
            force: self.force,
            ..CrystallizeRequest::new(context.session()?.workspace_name()?, self.name.parse()?)
        };
        let made = context.block_on(context.host()?.crystallizer()?.crystallize(&request))??;
        let text = text(&made);
        Ok(Report::new(&made, text).next(run_as_recorded(&made)))
    }

    /// The flags that are answers under another name.
    fn answers(&self) -> Result<BTreeMap<String, String>> {
        let mut answers = BTreeMap::new();
        for response in &self.keep {
            answers.insert(format!("undo:s{}", response.0), "keep".to_owned());
        }
        for word in &self.link {
            let (place, source) = assigned(word, "--link STEP:/PLACE=@N{JQ}")?;
            answers.insert(format!("source:{}", spot(place)?), source.to_owned());
        }
        for word in &self.no_link {
            answers.insert(format!("source:{}", spot(word)?), "always".to_owned());
        }
        for word in &self.answers {
            let (question, answer) = assigned(word, "--answer QUESTION=ANSWER")?;
            answers.insert(question.to_owned(), answer.to_owned());
        }
        Ok(answers)
    }
}

/// Reads `STEP:/PLACE`, or `@N:/PLACE` for the step that `@N` made, as a question's id names it.
fn spot(word: &str) -> Result<String> {
    match word.split_once(":/") {
        Some((step, place)) => Ok(format!("{}/{place}", step_of(step))),
        None => Err(usage(format!("`{word}` is not a place"), "STEP:/PLACE, as in s5:/issue_id")),
    }
}

fn step_of(word: &str) -> String {
    word.strip_prefix('@').map_or_else(|| word.to_owned(), |number| format!("s{number}"))
}

/// Splits a word at the first `=`.
fn assigned<'w>(word: &'w str, form: &'static str) -> Result<(&'w str, &'w str)> {
    word.split_once('=').ok_or_else(|| usage(format!("`{word}` has no `=`"), form))
}

/// Reads a parameter: a name, and the recorded value that it stands for unless it is an argument's name.
pub(in crate::commands) fn recorded_parameter(word: &str) -> Result<ParamSpec> {
    match word.split_once('=') {
        Some(("", _)) => Err(usage(format!("`{word}` has no name"), "--param NAME=VALUE, the recorded value")),
        Some((name, value)) => Ok(ParamSpec { name: name.to_owned(), value: Some(value.to_owned()) }),
        None => Ok(ParamSpec { name: word.to_owned(), value: None }),
    }
}

/// Returns the command that runs the flow with the recorded values.
fn run_as_recorded(made: &Crystallized) -> CommandLine {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let run = command("rote run").argument(&made.frontmatter.name);
    made.report.parameters.iter().fold(run, |run, one| run.parameter(&one.name, word(&one.example)))
}

fn text(made: &Crystallized) -> String {
    let (front, report) = (&made.frontmatter, &made.report);
    let writes: Vec<String> =
        front.write_permissions.iter().map(|one| format!("{}/{}", one.adapter, one.tool)).collect();
    let parameters: Vec<&str> = report.parameters.iter().map(|one| one.name.as_str()).collect();
    let rows = [
        ("file", format!("{} · {}", made.path.display(), size(u64::try_from(made.bytes).unwrap_or(u64::MAX)))),
        ("parameters", if parameters.is_empty() { "none".to_owned() } else { parameters.join(", ") }),
        ("may write", if writes.is_empty() { "nothing".to_owned() } else { writes.join(", ") }),
        ("replayed", format!("{}, same result as recorded", plural(report.replayed_calls, "call"))),
        ("baseline", format!("{} tokens, {} ms", count(front.baseline.tokens), count(front.baseline.duration_ms))),
    ];
    let mut lines =
        vec![format!("made flow {} {} ({})", front.name, front.version, plural(report.steps.len(), "step"))];
    lines.extend(report.steps.iter().map(|step| {
        let needs = if step.needs.is_empty() { String::new() } else { format!("  after {}", step.needs.join(", ")) };
        clip(&format!("  {} {} from {}{needs}", step.step, step.call, step.response), MAX_LINE)
    }));
    lines.push(facts(&rows));
    lines.extend(remarks(&made.report));
    lines.join("\n")
}

/// What was left out, what could be a parameter, and what else is worth knowing.
fn remarks(report: &rote_app::CrystallizeReport) -> Vec<String> {
    let mut lines = Vec::new();
    let dropped =
        report.dropped.iter().map(|one| format!("  left out: {} {} ({})", one.response, one.call, one.reason));
    lines.extend(dropped.map(|line| clip(&line, MAX_LINE)));
    let proposed = report.proposals.iter().map(|one| {
        let option = command("--param").assignment(&one.name, &one.value);
        let line = format!("  could be a parameter: {option} ({})", one.reason);
        clip(&line, MAX_LINE)
    });
    lines.extend(proposed);
    lines.extend(report.notes.iter().map(|note| {
        let undo = note.undo.as_ref().map_or_else(String::new, |flag| format!("; {flag}"));
        clip(&format!("  note: {}{undo}", note.text), MAX_LINE)
    }));
    lines
}
