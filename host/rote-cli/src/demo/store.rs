//! The data behind the demo's tracker API: three projects, some seventy issues, kept in memory.
//!
//! Invariants: the same data at every start, and time is a counter, so that what the demo prints and what
//! tests snapshot never depends on the day. It knows nothing of HTTP; `api.rs` does.

use std::collections::BTreeMap;

use serde::Serialize;

/// A project as the API shows it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Project {
    pub(super) key: String,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) open_issues: usize,
    pub(super) created_at: String,
}

/// A person as the API shows them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Person {
    pub(super) login: String,
    pub(super) name: String,
    pub(super) email: String,
}

/// An issue as the API shows it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    pub(super) project: String,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) state: String,
    pub(super) priority: String,
    pub(super) author: Person,
    pub(super) assignee: Option<Person>,
    pub(super) labels: Vec<String>,
    pub(super) comments: usize,
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

/// A comment as the API shows it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) author: Person,
    pub(super) body: String,
    pub(super) created_at: String,
}

/// An attached file and its bytes.
#[derive(Debug, Clone)]
pub(super) struct Attachment {
    pub(super) filename: String,
    pub(super) bytes: Vec<u8>,
    pub(super) note: Option<String>,
}

/// The whole state of the service.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) projects: BTreeMap<String, Project>,
    pub(super) issues: BTreeMap<(String, u64), Issue>,
    pub(super) comments: BTreeMap<(String, u64), Vec<Comment>>,
    pub(super) attachments: BTreeMap<String, Attachment>,
    tick: u64,
}

const PEOPLE: [(&str, &str); 5] = [
    ("ada", "Ada Lovelace"),
    ("grace", "Grace Hopper"),
    ("edsger", "Edsger Dijkstra"),
    ("barbara", "Barbara Liskov"),
    ("donald", "Donald Knuth"),
];

const PROJECTS: [(&str, &str, &str, u64); 3] = [
    ("atlas", "Atlas", "Maps that load before you look at them.", 37),
    ("beacon", "Beacon", "Tells the right person once.", 21),
    ("cargo-bay", "Cargo Bay", "Parcels, pallets and where they are.", 12),
];

const SUBJECTS: [&str; 8] = [
    "Search finds nothing for names with accents",
    "Export stops after the first thousand rows",
    "The map flickers while a layer loads",
    "Two people can claim the same task",
    "Notifications arrive twice after a retry",
    "Dates near midnight land on the wrong day",
    "The import accepts a file with no header",
    "Keyboard focus is lost when a dialog closes",
];

const LABELS: [&str; 6] = ["bug", "feature", "docs", "performance", "security", "good-first-issue"];

const PRIORITIES: [&str; 4] = ["normal", "high", "low", "urgent"];

/// Returns entry `index` of `table`, going round.
fn pick<T: Copy>(table: &[T], index: u64) -> T {
    let length = u64::try_from(table.len()).unwrap_or(u64::MAX);
    table[usize::try_from(index % length).unwrap_or(0)]
}

/// Returns the person with that index, going round.
fn person(index: u64) -> Person {
    let (login, name) = pick(&PEOPLE, index);
    Person { login: login.to_owned(), name: name.to_owned(), email: format!("{login}@tracker.example") }
}

/// Returns the person with that login, or one made up for it.
pub(super) fn person_named(login: &str) -> Person {
    let name = PEOPLE.iter().find(|(known, _)| *known == login).map_or(login, |(_, name)| *name);
    Person { login: login.to_owned(), name: name.to_owned(), email: format!("{login}@tracker.example") }
}

/// Returns the instant number `tick`: one an hour from the start of 2026, through each month's first 28 days.
fn instant(tick: u64) -> String {
    let (day, hour) = (tick / 24, tick % 24);
    format!("2026-{:02}-{:02}T{hour:02}:00:00Z", day / 28 % 12 + 1, day % 28 + 1)
}

impl Store {
    /// Returns the data that every start of the demo has.
    pub(super) fn seeded() -> Self {
        let mut store = Self {
            projects: BTreeMap::new(),
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            attachments: BTreeMap::new(),
            tick: 0,
        };
        for (key, title, description, issues) in PROJECTS {
            let created_at = store.now();
            let project = Project {
                key: key.to_owned(),
                title: title.to_owned(),
                description: Some(description.to_owned()),
                open_issues: 0,
                created_at,
            };
            store.projects.insert(key.to_owned(), project);
            (1..=issues).for_each(|number| store.seed_issue(key, number));
        }
        store
    }

    fn seed_issue(&mut self, project: &str, number: u64) {
        let created_at = self.now();
        let subject = pick(&SUBJECTS, number * 5 + 3);
        let labels = match number % 3 {
            0 => vec![pick(&LABELS, number / 3)],
            1 => vec!["bug", pick(&LABELS, number / 2 + 1)],
            _ => vec![pick(&LABELS, number)],
        };
        let mut labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
        labels.dedup();
        let issue = Issue {
            number,
            project: project.to_owned(),
            title: subject.to_owned(),
            body: (!number.is_multiple_of(5))
                .then(|| format!("{subject}. Seen on build {} by {} people.", 400 + number * 7, number % 9 + 1)),
            state: if number.is_multiple_of(4) { "closed" } else { "open" }.to_owned(),
            priority: pick(&PRIORITIES, number).to_owned(),
            author: person(number),
            assignee: (!number.is_multiple_of(3)).then(|| person(number + 2)),
            labels,
            comments: 0,
            updated_at: created_at.clone(),
            created_at,
        };
        self.issues.insert((project.to_owned(), number), issue);
        for nth in 0..number % 4 {
            self.add_comment(project, number, person(number + nth), format!("Note {} on this.", nth + 1));
        }
    }

    /// Returns the next instant; each is later than the one before.
    pub(super) fn now(&mut self) -> String {
        self.tick += 1;
        instant(self.tick)
    }

    /// Returns the project with its count of open issues as it is now.
    pub(super) fn project(&self, key: &str) -> Option<Project> {
        let mut project = self.projects.get(key)?.clone();
        project.open_issues = self.issues_of(key).filter(|issue| issue.state == "open").count();
        Some(project)
    }

    /// Returns the issues of one project, oldest first.
    pub(super) fn issues_of<'a>(&'a self, project: &'a str) -> impl Iterator<Item = &'a Issue> + 'a {
        self.issues.values().filter(move |issue| issue.project == project)
    }

    /// Returns the number that the project's next issue gets; numbers of deleted issues are not used again
    /// while a later one exists.
    pub(super) fn next_number(&self, project: &str) -> u64 {
        self.issues_of(project).map(|issue| issue.number).max().unwrap_or(0) + 1
    }

    /// Adds a comment and returns it.
    pub(super) fn add_comment(&mut self, project: &str, number: u64, author: Person, body: String) -> Comment {
        let created_at = self.now();
        let comment = Comment { id: self.tick, author, body, created_at: created_at.clone() };
        let key = (project.to_owned(), number);
        let comments = self.comments.entry(key.clone()).or_default();
        comments.push(comment.clone());
        if let Some(issue) = self.issues.get_mut(&key) {
            issue.comments = comments.len();
            issue.updated_at = created_at;
        }
        comment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_has_the_same_data() {
        let (one, two) = (Store::seeded(), Store::seeded());
        assert_eq!(one.issues.len(), 70);
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
    }

    #[test]
    fn instants_are_valid_and_rising() {
        let texts: Vec<String> = (0..3000).map(instant).collect();
        assert!(texts.is_sorted());
        assert_eq!(texts[0], "2026-01-01T00:00:00Z");
    }
}
