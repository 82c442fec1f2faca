//! What an office holds.

use serde_json::{Map, Value, json};

/// Something with an id.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) kind: &'static str,
    pub(super) fields: Map<String, Value>,
    /// Whether no list shows it: it answers to an id of the world before.
    pub(super) stranger: bool,
}

impl Object {
    pub(super) fn id(&self) -> &Value {
        &self.fields["id"]
    }

    /// What a person calls it.
    pub(super) fn name(&self) -> &str {
        let named = ["title", "name", "url", "body", "note"].iter().find_map(|field| self.fields.get(*field)?.as_str());
        named.unwrap_or("nameless")
    }
}

/// The content of an office.
#[derive(Debug, Clone, Default)]
pub struct World {
    seed: u64,
    made: u64,
    pub(super) objects: Vec<Object>,
    pub(super) throttled: Option<String>,
}

impl World {
    /// Returns an empty world whose ids come from `seed`.
    #[must_use]
    pub fn seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds an object; `«Name»` in a text field stands for the id of an object that is there.
    #[must_use]
    pub fn with(mut self, kind: &'static str, fields: Value) -> Self {
        let fields = fields.as_object().cloned().unwrap_or_default();
        let filled = fields.into_iter().map(|(name, value)| match value.as_str().filter(|text| text.contains('«')) {
            Some(text) => (name, self.id_or_text(text)),
            None => (name, value),
        });
        let filled = filled.collect();
        self.add(kind, filled, "2026-05-01T08:00:00Z");
        self
    }

    /// Adds issues of one project.
    #[must_use]
    pub fn issues(self, project: &str, titles: &[&str]) -> Self {
        titles.iter().fold(self, |world, title| world.with("issue", json!({ "project": project, "title": title })))
    }

    /// Answers the first request for an operation with 429.
    #[must_use]
    pub fn throttle(mut self, operation: &str) -> Self {
        self.throttled = Some(operation.to_owned());
        self
    }

    /// Adds an object with an id and the defaults of its kind.
    pub(super) fn add(&mut self, kind: &'static str, fields: Map<String, Value>, now: &str) -> &Object {
        self.made += 1;
        let mut all = Map::from_iter([("id".to_owned(), self.new_id(kind))]);
        if kind == "issue" {
            let project = fields.get("project").and_then(Value::as_str).unwrap_or("x");
            let letters: String = project.chars().take(3).collect::<String>().to_uppercase();
            all.insert("key".to_owned(), json!(format!("{letters}-{}", self.seed * 20 + self.made)));
        }
        for (name, value) in defaults(kind) {
            all.insert(name.to_owned(), value);
        }
        all.insert("created_at".to_owned(), json!(now));
        all.insert("updated_at".to_owned(), json!(now));
        all.extend(fields);
        self.objects.push(Object { kind, fields: all, stranger: false });
        &self.objects[self.objects.len() - 1]
    }

    fn new_id(&self, kind: &str) -> Value {
        let number = self.seed * 100 + 10 + self.made;
        match kind {
            "contact" => json!(format!("ct_{number}")),
            "company" => json!(format!("co_{number}")),
            "deal" => json!(format!("dl_{number}")),
            "webhook" => json!(format!("wh_{number}")),
            "event" | "calendar" => {
                let (high, low) = (mixed(number), mixed(number + 1_000_000));
                let parts = (high >> 32, high & 0xffff, low & 0xfff, low >> 16);
                json!(format!("{:08x}-{:04x}-4{:03x}-8aaa-{:012x}", parts.0, parts.1, parts.2, parts.3))
            }
            "folder" | "file" => json!(format!("f{:012x}", mixed(number) >> 16)),
            _ => json!(number),
        }
    }

    /// The object of that kind and id, the id as text.
    pub(super) fn position(&self, kind: &str, id: &str) -> Option<usize> {
        self.objects.iter().position(|object| object.kind == kind && text(object.id()) == id)
    }

    /// The name of the object with that id or key.
    pub(super) fn name_of(&self, id: &str) -> Option<&str> {
        let known = |object: &&Object| text(object.id()) == id || object.fields.get("key").is_some_and(|key| key == id);
        self.objects.iter().find(known).map(Object::name)
    }

    fn id_or_text(&self, text: &str) -> Value {
        let whole = text.strip_prefix('«').and_then(|rest| rest.strip_suffix('»')).filter(|name| !name.contains('»'));
        whole.map_or_else(|| json!(self.fill(text)), |name| self.field(name))
    }

    /// See [`super::Office::fill`].
    pub(super) fn fill(&self, template: &str) -> String {
        let mut parts = template.split('«');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('»').unwrap_or((part, ""));
            filled.push_str(&text(&self.field(name)));
            filled.push_str(rest);
        }
        filled
    }

    /// The id of the newest object of that name, or the field of it that stands behind a dot.
    #[expect(clippy::panic, reason = "a test that names what is not there fails")]
    fn field(&self, name: &str) -> Value {
        let found = |name: &str| self.objects.iter().rev().find(|object| object.name() == name);
        match found(name) {
            Some(object) => object.id().clone(),
            None => name
                .rsplit_once('.')
                .and_then(|(name, field)| found(name)?.fields.get(field).cloned())
                .unwrap_or_else(|| panic!("the office holds no `{name}`")),
        }
    }
}

/// A scalar as it stands in a path.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn defaults(kind: &str) -> Vec<(&'static str, Value)> {
    match kind {
        "issue" => vec![
            ("state", json!("open")),
            ("priority", json!("normal")),
            ("labels", json!([])),
            ("milestone", Value::Null),
            ("version", json!(1)),
        ],
        "deal" => vec![("stage", json!("lead")), ("version", json!(1))],
        _ => Vec::new(),
    }
}

/// SplitMix64: numbers that look like ids of chance and are the same each time.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
