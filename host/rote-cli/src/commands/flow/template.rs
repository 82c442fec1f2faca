//! `rote flow template …`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use rote_app::{CrystallizeRequest, Crystallized, ParamSpec, Place, QuestionId, Spot};
use rote_types::{CommandLine, command};
use serde_json::Value;

use super::review;
use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::table::facts;
use crate::render::units::{MAX_LINE, clip, count, plural, size};
use crate::ui::Report;

/// Make a flow from what a workspace recorded
#[derive(Debug, Subcommand)]
pub enum Template {
    Create(Box<Create>),
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
    /// A parameter and the recorded value that it stands for. A text, its words and its day take every place; a number,
    /// a boolean or a word of an enum only the argument of that name. A name alone means the argument of that name.
    #[arg(short, long = "param", value_name = "NAME[=VALUE][@STEP:/PLACE,…]")]
    parameters: Vec<ParamSpec>,
    /// What a parameter is when it is not given [default: the recorded value]
    #[arg(long = "default", value_name = "NAME[=VALUE]")]
    defaults: Vec<String>,
    /// A parameter whose argument is left out when it is not given
    #[arg(long, value_name = "NAME")]
    optional: Vec<String>,
    /// What a parameter is, in words
    #[arg(long, value_name = "NAME=TEXT")]
    param_description: Vec<String>,
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
    /// Which items a repetition is for: a filter, `all` where each had its call, or `no` for these calls and no
    /// others
    #[arg(long = "loop", value_name = "STEP=FILTER|all|no")]
    loops: Vec<String>,
    /// `no`: of a list that was read page by page, these pages and no others; else each run reads it to its end
    #[arg(long, value_name = "STEP=all|no")]
    pages: Vec<String>,
    /// `no`: make a call whatever was asked of an answer before it; `rest`: but for what is not a condition
    #[arg(long, value_name = "STEP=no|rest")]
    when: Vec<String>,
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
            params: self.parameters()?,
            description: self.description,
            result: self.result.as_deref().map(str::parse).transpose()?,
            answers,
            skip: self.skip,
            tags: self.tags,
            force: self.force,
            ..CrystallizeRequest::new(context.session()?.workspace_name()?, self.name.parse()?)
        };
        let made = context.block_on(context.host()?.crystallizer()?.crystallize(&request))??;
        Ok(report(&made))
    }

    /// The parameters, with what else was said of them.
    fn parameters(&self) -> Result<Vec<ParamSpec>> {
        let mut params = self.parameters.clone();
        let mut said = |name: &str, say: &mut dyn FnMut(&mut ParamSpec)| {
            let known = params.iter_mut().find(|spec| spec.name == name);
            let hint = "--param NAME before what it is";
            known.map(say).ok_or_else(|| usage(format!("`{name}` is not a parameter that was asked for"), hint))
        };
        for word in &self.defaults {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            said(name, &mut |spec| spec.default = Some(value.clone()))?;
        }
        for name in &self.optional {
            said(name, &mut |spec| spec.optional = true)?;
        }
        for word in &self.param_description {
            let (name, text) = assigned(word, "--param-description NAME=TEXT")?;
            said(name, &mut |spec| spec.description = Some(text.to_owned()))?;
        }
        Ok(params)
    }

    /// The flags that are answers under another name.
    fn answers(&self) -> Result<BTreeMap<String, String>> {
        let mut answers = BTreeMap::new();
        for response in &self.keep {
            answers.insert(QuestionId::Undo(format!("s{}", response.0)).to_string(), "keep".to_owned());
        }
        for word in &self.link {
            let (place, source) = assigned(word, "--link STEP:/PLACE=@N{JQ}")?;
            answers.insert(source_of(place)?, source.to_owned());
        }
        for word in &self.no_link {
            answers.insert(source_of(word)?, "always".to_owned());
        }
        let mut of_steps = |question: fn(String) -> QuestionId, words: &[String]| -> Result<()> {
            for word in words {
                let (step, answer) = assigned(word, "STEP=ANSWER")?;
                answers.insert(question(step_of(step)).to_string(), answer.to_owned());
            }
            Ok(())
        };
        of_steps(QuestionId::Loop, &self.loops)?;
        of_steps(QuestionId::Pages, &self.pages)?;
        of_steps(QuestionId::When, &self.when)?;
        answers.extend(answered(&self.answers, ANSWER)?);
        Ok(answers)
    }
}

/// The question where the value at a place comes from.
fn source_of(word: &str) -> Result<String> {
    let Spot { step, pointer } = word.parse()?;
    Ok(QuestionId::Source(Place { step, pointer }).to_string())
}

/// How an answer is given to what makes a flow.
pub(in crate::commands) const ANSWER: &str = "--answer QUESTION=ANSWER";

/// The answers to questions, by their ids; `form` is how one is given.
pub(in crate::commands) fn answered(words: &[String], form: &'static str) -> Result<BTreeMap<String, String>> {
    let pair = |word: &String| {
        let (question, answer) = assigned(word, form)?;
        Ok((question.to_owned(), answer.to_owned()))
    };
    words.iter().map(pair).collect()
}

fn step_of(word: &str) -> String {
    word.strip_prefix('@').map_or_else(|| word.to_owned(), |number| format!("s{number}"))
}

/// Splits a word at the first `=`.
fn assigned<'w>(word: &'w str, form: &'static str) -> Result<(&'w str, &'w str)> {
    word.split_once('=').ok_or_else(|| usage(format!("`{word}` has no `=`"), form))
}

/// Says what was made, and what comes next.
pub(super) fn report(made: &Crystallized) -> Report {
    let next = match made.frontmatter.questions.first() {
        Some(question) => {
            let answer = command("rote flow answer").argument(&made.frontmatter.name);
            answer.blank(&question.id)
        }
        None => run_as_recorded(made),
    };
    Report::new(made, text(made)).next(next)
}

/// A value as it is typed: a text without quotes.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the command that runs the flow with the recorded values.
fn run_as_recorded(made: &Crystallized) -> CommandLine {
    let run = command("rote run").argument(&made.frontmatter.name);
    made.report.parameters.iter().fold(run, |run, one| {
        let value = if one.secret { "…".to_owned() } else { word(&one.example) };
        run.parameter(&one.name, value)
    })
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
    lines.extend(made.sentences.lines().iter().map(|line| format!("  {}", clip(line, MAX_LINE))));
    lines.push(facts(&rows));
    lines.extend(report.parameters.iter().map(|one| {
        let places: Vec<String> = one.places.iter().map(|place| format!("{}:{}", place.step, place.pointer)).collect();
        let value = word(&one.example);
        clip(&format!("  parameter {}={value}: {}", one.name, places.join(", ")), MAX_LINE)
    }));
    lines.extend(remarks(&made.report));
    lines.extend(review::questions(&made.report.questions, &[]));
    lines.join("\n")
}

/// What was left out, what could be a parameter, and what else is worth knowing.
fn remarks(report: &rote_app::CrystallizeReport) -> Vec<String> {
    let mut lines = Vec::new();
    let dropped =
        report.dropped.iter().map(|one| format!("  left out: {} {} ({})", one.response, one.call, one.reason));
    lines.extend(dropped.map(|line| clip(&line, MAX_LINE)));
    let proposed = report.proposals.iter().map(|one| {
        let option = command("--param").assignment(&one.name, word(&one.value));
        let line = format!("  could be a parameter: {option} ({})", one.reason);
        clip(&line, MAX_LINE)
    });
    lines.extend(proposed);
    lines.extend(report.notes.iter().map(|note| {
        let undo = note.undo.as_ref().map_or_else(String::new, |flag| format!("; {flag}"));
        format!("{}{undo}", clip(&format!("  note: {}", note.text), MAX_LINE))
    }));
    lines
}
