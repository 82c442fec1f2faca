//! Names of variables by what they hold: `createIssue` gives an `issue`, `listContacts` gives `contacts`.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Expression, Plan, Step};

use super::outline::Outline;

/// How a language writes a name of several words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Camel,
    Snake,
}

/// Words that say what is done, with what a thing is called afterwards.
const VERBS: [(&str, &str); 44] = [
    ("add", "added"),
    ("all", ""),
    ("archive", "archived"),
    ("assign", "assigned"),
    ("book", "booked"),
    ("cancel", "cancelled"),
    ("check", "checked"),
    ("close", "closed"),
    ("copy", "copied"),
    ("create", "created"),
    ("delete", "deleted"),
    ("describe", "described"),
    ("edit", "edited"),
    ("fetch", "fetched"),
    ("find", "found"),
    ("get", "fetched"),
    ("insert", "inserted"),
    ("invite", "invited"),
    ("list", "listed"),
    ("load", "loaded"),
    ("lookup", "found"),
    ("make", "made"),
    ("merge", "merged"),
    ("move", "moved"),
    ("new", "new"),
    ("open", "opened"),
    ("patch", "patched"),
    ("post", "posted"),
    ("publish", "published"),
    ("put", "replaced"),
    ("query", "found"),
    ("read", "read"),
    ("remove", "removed"),
    ("rename", "renamed"),
    ("replace", "replaced"),
    ("retrieve", "fetched"),
    ("search", "found"),
    ("send", "sent"),
    ("set", "changed"),
    ("show", "shown"),
    ("start", "started"),
    ("submit", "submitted"),
    ("update", "updated"),
    ("upload", "uploaded"),
];
/// Verbs that give several things.
const OF_SEVERAL: [&str; 5] = ["all", "find", "list", "query", "search"];
/// What stands behind these says how, not what.
const PREPOSITIONS: [&str; 11] = ["as", "at", "by", "for", "from", "in", "of", "on", "to", "via", "with"];
/// Members that hold a list and say nothing of what is in it.
const CONTAINERS: [&str; 10] =
    ["data", "edges", "entries", "items", "list", "nodes", "records", "results", "rows", "values"];

/// Words of the two languages, and names that the written programs use.
const TAKEN: &str = "abstract allOfPages all_of_pages answer arguments as async await become bool box break calls case catch char class compare \
    const contains continue crate cx debugger default delete do dyn each else enum err eval exists export extends extern false \
    field final finally fn for function gen given if impl implements import in index instanceof interface join_all json let list \
    loop macro main match mod move mut need new none null number object ofPages of_pages ok one oneOf one_of one_of_pages one_with onlyPage only_page override package \
    page pages params present priv private protected pub public read read_with ref response result return rote said same self sleep some static str \
    string struct super switch text this throw trait true try turn type typeof undefined union unsafe unsized until use value var \
    virtual void where while with yield";

/// The variables of a program.
pub(super) struct Names {
    adapters: BTreeMap<String, String>,
    steps: BTreeMap<String, String>,
    items: BTreeMap<String, String>,
    /// For one answer of each step that has several.
    answers: BTreeMap<String, String>,
}

impl Names {
    pub(super) fn of(plan: &Plan, outline: &Outline<'_>, case: Case) -> Self {
        let mut taken = Taken { names: TAKEN.split_whitespace().map(str::to_owned).collect(), case };
        let mut adapters = BTreeMap::new();
        for step in &plan.steps {
            if !adapters.contains_key(&step.adapter) {
                let words = words(&step.adapter);
                let api = [words.clone(), vec!["api".to_owned()]].concat();
                adapters.insert(step.adapter.clone(), taken.take([words, api]));
            }
        }
        let mut steps = BTreeMap::new();
        let together = outline.together();
        let is_bound = |step: &&Step| outline.bound.contains(step.id.as_str());
        let is_task = |step: &&Step| !is_bound(step) && together.contains(&step.id.as_str());
        for step in plan.steps.iter().filter(is_bound).chain(plan.steps.iter().filter(is_task)) {
            steps.insert(step.id.clone(), taken.take(of_step(step)));
        }
        // An item is seen in its loop alone, so that two loops may call theirs the same, but nothing else.
        let (mut items, mut answers) = (BTreeMap::new(), BTreeMap::new());
        for step in plan.steps.iter().filter(|step| step.for_each.is_some()) {
            items.insert(step.id.clone(), taken.free([item(plan, step), vec!["item".to_owned()]]));
            if let Some(several) = steps.get(&step.id) {
                let one = words(several).into_iter().collect::<Vec<_>>();
                answers.insert(step.id.clone(), taken.free([singular(one), vec!["answer".to_owned()]]));
            }
        }
        Self { adapters, steps, items, answers }
    }

    pub(super) fn adapter(&self, id: &str) -> &str {
        self.adapters.get(id).map_or("adapter", String::as_str)
    }

    /// The variable of a step that is bound.
    pub(super) fn step(&self, id: &str) -> &str {
        self.steps.get(id).map_or("answer", String::as_str)
    }

    pub(super) fn item(&self, step: &str) -> &str {
        self.items.get(step).map_or("item", String::as_str)
    }

    /// One of the answers of a step with `for_each`.
    pub(super) fn answer(&self, step: &str) -> &str {
        self.answers.get(step).map_or("answer", String::as_str)
    }
}

struct Taken {
    names: BTreeSet<String>,
    case: Case,
}

impl Taken {
    /// Returns the first of the names that nothing has, else the first with a number.
    fn free<const N: usize>(&self, candidates: [Vec<String>; N]) -> String {
        let written: Vec<String> = candidates.iter().map(|words| join(words, self.case)).collect();
        if let Some(free) = written.iter().find(|name| !self.names.contains(*name)) {
            return free.clone();
        }
        let numbered = |number: usize| format!("{}{number}", written[0]);
        (2..).map(numbered).find(|name| !self.names.contains(name)).unwrap_or_default()
    }

    fn take<const N: usize>(&mut self, candidates: [Vec<String>; N]) -> String {
        let name = self.free(candidates);
        self.names.insert(name.clone());
        name
    }
}

/// Splits a name at case, at digits' ends and at what is neither letter nor digit; all in lower case.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let begins = before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            || (before.is_some_and(|b| b.is_ascii_uppercase())
                && chars.get(at + 1).is_some_and(char::is_ascii_lowercase));
        if c.is_ascii_uppercase() && begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Writes a name; one that would begin with a digit gets a letter.
pub(super) fn join(words: &[String], case: Case) -> String {
    let mut name = String::new();
    for word in words {
        match case {
            Case::Snake if !name.is_empty() => name.extend(["_", word.as_str()]),
            Case::Camel if !name.is_empty() => {
                let (first, rest) = word.split_at(word.len().min(1));
                name.extend([first.to_ascii_uppercase().as_str(), rest]);
            }
            _ => name.push_str(word),
        }
    }
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { format!("v{name}") }
}

/// Writes a name of a plan as one of a language.
pub(super) fn written(name: &str, case: Case) -> String {
    join(&words(name), case)
}

/// Whether a language has the word for itself, or the written program does.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.split_whitespace().any(|word| word == name)
}

/// What a step's answer may be called, the best first.
fn of_step(step: &Step) -> [Vec<String>; 3] {
    let (verb, mut noun) = purpose(&step.tool);
    if step.for_each.is_some() {
        noun = plural(noun);
    }
    let done = VERBS.iter().find(|(word, _)| verb.as_deref() == Some(word)).map_or("", |(_, done)| done);
    let told = std::iter::once(done.to_owned()).filter(|done| !done.is_empty()).chain(noun.iter().cloned()).collect();
    let answer = noun.iter().cloned().chain(["answer".to_owned()]).collect();
    [noun, told, answer]
}

/// What a tool does, and to what.
fn purpose(tool: &str) -> (Option<String>, Vec<String>) {
    let mut words = words(tool);
    let verb_at = words.iter().position(|word| VERBS.iter().any(|(verb, _)| verb == word));
    let from = verb_at.map_or(1, |at| at + 1);
    if let Some(how) = words.iter().skip(from).position(|word| PREPOSITIONS.contains(&word.as_str())) {
        words.truncate(from + how);
    }
    let Some(at) = verb_at else { return (None, last(&words)) };
    let verb = words[at].clone();
    let behind = last(&words[at + 1..]);
    let noun = match behind.is_empty() {
        false => behind,
        // `issues_create`: the resource, of which it gives one.
        true if OF_SEVERAL.contains(&verb.as_str()) => last(&words[..at]),
        true => singular(last(&words[..at])),
    };
    if noun.is_empty() { (Some(verb), vec!["answer".to_owned()]) } else { (Some(verb), noun) }
}

/// The last two words, in which the thing is.
fn last(words: &[String]) -> Vec<String> {
    words[words.len().saturating_sub(2)..].to_vec()
}

/// One item of what a step is repeated for.
fn item(plan: &Plan, step: &Step) -> Vec<String> {
    match &step.for_each {
        Some(Expression::Param(name)) => singular(words(name)),
        Some(Expression::From(reference)) => {
            let array = reference.jq.split("[]").next().unwrap_or_default();
            let member = array.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            if !member.is_empty() && !CONTAINERS.contains(&member) && !member.starts_with(|c: char| c.is_ascii_digit())
            {
                return singular(words(member));
            }
            let of = plan.steps.iter().find(|one| one.id == reference.step);
            of.map_or_else(|| vec!["item".to_owned()], |of| singular(purpose(&of.tool).1))
        }
        _ => vec!["item".to_owned()],
    }
}

fn singular(mut words: Vec<String>) -> Vec<String> {
    if let Some(word) = words.last_mut() {
        if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
            *word = format!("{stem}y");
        } else if ["sses", "xes", "ches", "shes"].iter().any(|end| word.ends_with(end)) {
            word.truncate(word.len() - 2);
        } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
            word.pop();
        }
    }
    words
}

fn plural(mut words: Vec<String>) -> Vec<String> {
    if let Some(word) = words.last_mut() {
        let vowel = |c: char| "aeiou".contains(c);
        if word.ends_with('s') && !word.ends_with("ss") {
            return words;
        }
        match word.strip_suffix('y').filter(|stem| !stem.ends_with(vowel)) {
            Some(stem) => *word = format!("{stem}ies"),
            None if ["s", "x", "ch", "sh"].iter().any(|end| word.ends_with(end)) => word.push_str("es"),
            None => word.push('s'),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_tool_gives() {
        for (tool, name) in [
            ("createIssue", "issue"),
            ("listContacts", "contacts"),
            ("addComment", "comment"),
            ("issues/list-for-repo", "issues"),
            ("orders_get", "order"),
            ("repos_issues_create_comment", "comment"),
            ("GetUserByName", "user"),
            ("freeBusy", "freeBusy"),
            ("getHTTPStatus", "httpStatus"),
            ("search", "answer"),
            ("listCompanies", "companies"),
            ("companies_update", "company"),
        ] {
            assert_eq!(join(&purpose(tool).1, Case::Camel), name, "{tool}");
        }
    }

    #[test]
    fn one_and_several() {
        for (one, several) in [("issue", "issues"), ("company", "companies"), ("box", "boxes"), ("day", "days")] {
            assert_eq!(plural(vec![one.to_owned()]), [several]);
            assert_eq!(singular(vec![several.to_owned()]), [one]);
        }
        assert_eq!(singular(vec!["status".to_owned()]), ["status"]);
    }

    #[test]
    fn names_are_of_the_language() {
        assert_eq!(written("page-size.2", Case::Snake), "page_size_2");
        assert_eq!(written("pageSize", Case::Snake), "page_size");
        assert_eq!(written("2fa", Case::Camel), "v2fa");
    }
}
