//! Jobs that were done by hand, made flows, and run in another world: what did each flow really do?
//!
//! A job is done once with words of the command line, as an agent does it, in an [`Office`]. Its workspace becomes a flow
//! twice: `asked`, with the parameters that a person wants, and `plain`, with none. Each runs in worlds with other ids, other values and
//! lists that are longer, shorter, reordered or empty, and the office's log says what came of it.
//! Verdicts are computed, never written by hand: see [`Verdict`]. `verdicts/*.txt` holds them, a line a job.

mod crm;
mod loops;
mod mixed;
mod tracker;
mod unseen;
mod values;

use std::fmt::Write as _;

use expect_test::expect_file;
use rote_testkit::{Entry, Office, Run, TestHome, World};
use serde_json::Value;

/// What became of a flow in another world, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Right: it did what the job is about.
    R,
    /// A question with its answers was asked before any write.
    Q,
    /// Refused before any write, for the reason that the job expects.
    G,
    /// Stopped badly: with no way out, or after a write.
    B,
    /// Wrong, and nothing had said so.
    W,
    /// It may write what the job does not, or may not write what the job does.
    P,
}

/// A world in which the flow runs, and what shall come of it there.
struct Case {
    parameters: &'static str,
    world: World,
    wants: &'static [&'static str],
    /// The effects without parameters; nothing, where that has no sense.
    plain: Option<&'static [&'static str]>,
    /// A pointer into the result, and what stands there, by names.
    gives: Option<(&'static str, Value)>,
    plain_gives: Option<(&'static str, Value)>,
    /// Whether the right end is a stop before any write.
    stops: bool,
}

/// One job.
struct Job {
    number: u32,
    title: &'static str,
    world: World,
    words: Vec<&'static str>,
    files: Vec<(&'static str, &'static str)>,
    asked: &'static [&'static str],
    answers: &'static [&'static str],
    because: Option<&'static str>,
    may: &'static [&'static str],
    cases: Vec<Case>,
}

impl Job {
    fn new(number: u32, title: &'static str, world: World) -> Self {
        let (words, files, cases) = (Vec::new(), Vec::new(), Vec::new());
        Self { number, title, world, words, files, asked: &[], answers: &[], because: None, may: &[], cases }
    }

    /// The words that do it, a command a line; `!8` in front: with that exit code. `«Name»` is the id of what has that name.
    fn does(self, lines: &'static str) -> Self {
        let words = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self { words, ..self }
    }

    /// A file in the current directory.
    fn file(mut self, name: &'static str, text: &'static str) -> Self {
        self.files.push((name, text));
        self
    }

    /// The options of `flow template create` that the person wants.
    fn asked(self, asked: &'static [&'static str]) -> Self {
        Self { asked, ..self }
    }

    /// What is answered to the questions of these ids, when, and only when, they are asked.
    fn answers(self, answers: &'static [&'static str]) -> Self {
        Self { answers, ..self }
    }

    /// What a good refusal says.
    fn because(self, text: &'static str) -> Self {
        Self { because: Some(text), ..self }
    }

    /// What the flow may write beside what the cases want.
    fn may(self, may: &'static [&'static str]) -> Self {
        Self { may, ..self }
    }

    /// Runs with these parameters in this world and shall have these effects.
    fn runs(mut self, parameters: &'static str, world: World, wants: &'static [&'static str]) -> Self {
        let (plain, gives, plain_gives) = (None, None, None);
        self.cases.push(Case { parameters, world, wants, plain, gives, plain_gives, stops: false });
        self
    }

    /// The effects of the last case without parameters.
    fn plain(self, effects: &'static [&'static str]) -> Self {
        self.last(|case| case.plain = Some(effects))
    }

    /// The last case's result has this value there.
    fn gives(self, pointer: &'static str, value: Value) -> Self {
        self.last(|case| case.gives = Some((pointer, value)))
    }

    /// The same without parameters.
    fn plain_gives(self, pointer: &'static str, value: Value) -> Self {
        self.last(|case| case.plain_gives = Some((pointer, value)))
    }

    /// The last case ends before any write.
    fn stops(self) -> Self {
        self.last(|case| case.stops = true)
    }

    fn last(mut self, change: impl FnOnce(&mut Case)) -> Self {
        self.cases.last_mut().map(change);
        self
    }
}

/// Does all jobs of a file and compares the verdicts with what is on record.
fn check(group: &str, jobs: Vec<Job>) {
    let bench = Bench::new();
    let (mut verdicts, mut told) = (String::new(), String::new());
    for job in &jobs {
        bench.record(job);
        let mut taken = Vec::new();
        let [asked, plain] = ["asked", "plain"].map(|way| {
            let ends = bench.judge(job, way, &mut taken);
            let words = ends.iter().map(|(end, why)| {
                let word = end.map_or_else(|| "-".to_owned(), |verdict| format!("{verdict:?}"));
                if *end > Some(Verdict::R) {
                    writeln!(told, "{} {way} {word}  {}\n{why}\n", job.number, job.title).unwrap();
                }
                word
            });
            words.collect::<Vec<_>>().join(">")
        });
        let left: Vec<_> = job.answers.iter().filter(|answer| !taken.contains(answer)).collect();
        assert!(left.is_empty(), "job {}: no question takes {left:?}", job.number);
        writeln!(verdicts, "{:2}  asked {asked}  plain {plain}  {}", job.number, job.title).unwrap();
    }
    // What stands behind each verdict that is not R; a verdict changes seldom, its words often.
    put(&std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jobs-{group}.txt")), &told);
    expect_file![format!("{}/jobs/verdicts/{group}.txt", env!("CARGO_MANIFEST_DIR"))].assert_eq(&verdicts);
    // Not on record but a rule, which no update of the record changes.
    let bad = lines_of(&verdicts).find(|(_, ends)| ends.iter().any(|end| ["B", "W", "P"].contains(end)));
    assert_eq!(bad, None, "a flow is wrong, or stops badly");
}

/// The number of each job on record and its verdicts, both ways, in the order they were come to.
fn lines_of(verdicts: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    verdicts.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().take(5).collect();
        assert_eq!((words[1], words[3]), ("asked", "plain"), "`{line}`");
        (words[0], words[2].split('>').chain(words[4].split('>')).collect())
    })
}

#[test]
fn of_the_jobs_85_in_a_hundred_are_right_at_once_when_a_person_asks_for_parameters() {
    // What is on record is what each job's own test has just come to.
    let records = [
        include_str!("jobs/verdicts/crm.txt"),
        include_str!("jobs/verdicts/loops.txt"),
        include_str!("jobs/verdicts/mixed.txt"),
        include_str!("jobs/verdicts/tracker.txt"),
        include_str!("jobs/verdicts/unseen.txt"),
        include_str!("jobs/verdicts/values.txt"),
    ];
    let (mut all, mut right) = (0, 0);
    for (_, ends) in records.into_iter().flat_map(lines_of) {
        all += 1;
        right += usize::from(ends[0] == "R");
    }
    assert!(all >= 60 && 100 * right >= 85 * all, "{right} of {all}");
}

#[expect(clippy::disallowed_methods, reason = "a person edits policies and reads what a test tells")]
fn put(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// A home with the four adapters, and the office.
struct Bench {
    home: TestHome,
    office: Office,
}

/// An end: the verdict, none where the job wants nothing, and why.
type End = (Option<Verdict>, String);

impl Bench {
    fn new() -> Self {
        let (home, office) = (crate::home(), Office::start());
        for (name, document, url) in office.apis() {
            home.file(&format!("{name}.json"), document);
            let run = home.rote(&["adapter", "new", name, &format!("{name}.json"), "--base-url", &url]);
            assert_eq!(run.code, 0, "{run}");
            let policies = format!("adapters/{name}/config/policies.json");
            let text = home.read(&policies).replace("\"safe_list\": []", "\"safe_list\": [\"*\"]");
            put(&home.home().join(policies), &text);
        }
        Self { home, office }
    }

    /// Runs one line of words; a call fills in its references.
    fn run(&self, line: &str, more: &[&str]) -> Run {
        let mut words = split(&self.office.fill(line));
        if words[0] == "call" {
            words.insert(1, "-t".to_owned());
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        self.home.rote(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Does the job by hand.
    fn record(&self, job: &Job) {
        self.office.reset(job.world.clone());
        job.files.iter().for_each(|(name, text)| drop(self.home.file(name, text)));
        assert_eq!(self.home.rote(&["init", &format!("job{}", job.number)]).code, 0);
        for line in &job.words {
            let failing = line.strip_prefix('!').and_then(|rest| rest.split_once(' '));
            let (code, line) = failing.map_or((0, *line), |(code, line)| (code.parse().unwrap(), line));
            let run = self.run(line, &[]);
            assert_eq!(run.code, code, "job {}: {run}", job.number);
        }
    }

    /// Makes the flow and runs it in each world; again while questions of it can be answered, and an answer may lead to the next
    /// question. `taken` then holds the answers.
    fn judge(&self, job: &Job, way: &str, taken: &mut Vec<&'static str>) -> Vec<End> {
        let (mut ends, mut answers) = (Vec::new(), Vec::new());
        loop {
            let (end, asked) = self.attempt(job, way, &answers);
            let has_sense = end.0.is_some();
            ends.push(end);
            let is_asked = |answer: &&&str| {
                let named = |id: &String| answer.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with('='));
                !answers.contains(*answer) && asked.iter().any(named)
            };
            let next: Vec<&'static str> = job.answers.iter().filter(is_asked).copied().collect();
            if next.is_empty() || !has_sense {
                taken.extend(answers);
                return ends;
            }
            answers.extend(next);
        }
    }

    /// Makes the flow with these answers and runs it in each world; the worst end counts. Returns open questions too.
    fn attempt(&self, job: &Job, way: &str, answers: &[&str]) -> (End, Vec<String>) {
        let name = format!("job{}-{way}", job.number);
        let create = format!("flow template create --force --name {name} -w job{}", job.number);
        let asked: &[&str] = if way == "asked" { job.asked } else { &[] };
        let options: Vec<String> = asked.iter().flat_map(|line| split(&self.office.fill(line))).collect();
        let more = answers.iter().flat_map(|answer| ["--answer", answer]).chain(["--json"]);
        let more: Vec<&str> = options.iter().map(String::as_str).chain(more).collect();
        let made = self.run(&create, &more);
        assert!(made.code == 0 || answers.is_empty(), "job {}: {answers:?} are not answers: {made}", job.number);
        if made.code != 0 {
            return (stopped(job, &made), Vec::new());
        }
        let frontmatter = &made.envelope()["data"]["frontmatter"];
        let questions = frontmatter["questions"].as_array().into_iter().flatten();
        let questions = questions.filter_map(|one| one["id"].as_str().map(str::to_owned)).collect();
        (self.runs(job, way, frontmatter), questions)
    }

    /// Runs a flow in each world, when it may write what the job writes and nothing else.
    fn runs(&self, job: &Job, way: &str, frontmatter: &Value) -> End {
        let written = &frontmatter["write_permissions"];
        let written: Vec<&str> =
            written.as_array().into_iter().flatten().filter_map(|one| one["tool"].as_str()).collect();
        let wanted = job.cases.iter().flat_map(|case| case.wants).filter_map(|want| want.split('(').next());
        let wanted: Vec<&str> = wanted.chain(job.may.iter().copied()).collect();
        if written.iter().any(|tool| !wanted.contains(tool)) || wanted.iter().any(|tool| !written.contains(tool)) {
            return (Some(Verdict::P), format!("may write {written:?}, not {wanted:?}"));
        }
        self.build(&format!("job{}-{way}", job.number));
        // Who asks for nothing gets the same both ways.
        let cases = job.cases.iter().filter(|case| way == "asked" || job.asked.is_empty() || case.plain.is_some());
        let ends = cases.map(|case| self.run_in(job, case, way));
        ends.max_by_key(|(verdict, _)| *verdict).unwrap_or_default()
    }

    /// Runs a flow in one world.
    fn run_in(&self, job: &Job, case: &Case, way: &str) -> End {
        self.office.reset(case.world.clone());
        let asked = way == "asked";
        let parameters = if asked || job.asked.is_empty() { case.parameters } else { "" };
        let wants = if asked { case.wants } else { case.plain.unwrap_or(case.wants) };
        let run = self.run(&format!("run job{}-{way} {parameters}", job.number), &["--json"]);
        let log = self.office.log();
        let mut did: Vec<&str> = log.iter().filter_map(|entry| entry.effect.as_deref()).collect();
        let mut wanted = wants.to_vec();
        did.sort_unstable();
        wanted.sort_unstable();
        let told = format!("wanted {wanted:#?}\ndid {did:#?}\n{run}");
        // Of a run that was refused there is nothing to compare.
        if run.code == 0 || !log.is_empty() {
            self.office.reset(case.world.clone());
            let again = self.run(&format!("run ./job{}-{way}.wasm {parameters}", job.number), &["--json"]);
            let script = format!("job {} {way} in TypeScript: {again}\nas a plan: {run}", job.number);
            assert_eq!(again.code == 0, run.code == 0, "{script}");
            assert_eq!(seen(self.office.log()), seen(log.clone()), "{script}");
            if run.code == 0 {
                assert_eq!(again.envelope()["data"]["result"], run.envelope()["data"]["result"], "{script}");
            }
        }
        if run.code != 0 {
            let harmless = did.is_empty();
            return match (case.stops && harmless, harmless) {
                (true, _) => (Some(Verdict::R), told),
                (_, true) => (stopped(job, &run).0, told),
                _ => (Some(Verdict::B), told),
            };
        }
        let result = self.office.named(&run.envelope()["data"]["result"]);
        let gives = if asked { &case.gives } else { &case.plain_gives };
        let given = gives.as_ref().is_none_or(|(pointer, value)| result.pointer(pointer) == Some(value));
        let right = did == wanted && given && !case.stops;
        (Some(if right { Verdict::R } else { Verdict::W }), told)
    }

    /// Builds the source of a flow, which shall do the very same.
    fn build(&self, name: &str) {
        let source = self.home.home().join(format!("flows/{name}/main.ts"));
        let run = self.run(&format!("flow build {} --out {name}.wasm", source.display()), &[]);
        assert_eq!(run.code, 0, "{run}");
    }
}

/// The writes in their order, and the reads, which may be under way together, in any. The order of members is nothing.
fn seen(log: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
    let (mut writes, mut reads): (Vec<Entry>, Vec<Entry>) = log.into_iter().partition(|entry| entry.effect.is_some());
    writes.iter_mut().for_each(|entry| entry.effect = None);
    reads.sort_by_cached_key(|entry| format!("{entry:?}"));
    (writes, reads)
}

/// The verdict about a command that refused before any write.
fn stopped(job: &Job, run: &Run) -> End {
    let error = &run.envelope()["error"];
    let questions = error["details"]["questions"].as_array().is_some_and(|all| !all.is_empty());
    let good = job.because.is_some_and(|text| error.to_string().contains(text));
    let verdict = match (questions, good) {
        (true, _) => Verdict::Q,
        (_, true) => Verdict::G,
        _ => Verdict::B,
    };
    (Some(verdict), run.to_string())
}

/// Splits a line at spaces; what stands in single quotes stays together.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in line.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
