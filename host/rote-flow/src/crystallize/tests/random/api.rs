//! Small APIs: collections of things with ids of some style, as an installed description and as a store that answers.
//!
//! A store knows its things by number. What they are called is a matter of the world: in the other one each has another id
//! of the same style, and all else is the same.

use rote_plan::text_of;
use serde_json::{Map, Value, json};

use super::Dice;

/// What the collections are of.
pub(super) const KINDS: [&str; 4] = ["customer", "order", "task", "team"];
/// Names, of which several things may have the same.
const NAMES: [&str; 6] = ["Ada", "Weekly report", "Crash", "Oak", "Blue chair", "Q3"];
pub(super) const STATES: [&str; 3] = ["open", "done", "late"];

/// The name of a collection.
pub(super) fn plural(kind: usize) -> String {
    format!("{}s", KINDS[kind])
}

fn capital(kind: usize) -> String {
    let name = KINDS[kind];
    format!("{}{}", name[..1].to_uppercase(), &name[1..])
}

/// The name of a tool: `getOrder`.
pub(super) fn tool(verb: &str, kind: usize) -> String {
    match verb {
        "list" => format!("list{}s", capital(kind)),
        "note" => format!("add{}Note", capital(kind)),
        _ => format!("{verb}{}", capital(kind)),
    }
}

/// What a tool of that name is.
pub(super) fn meant(name: &str) -> Option<(&'static str, usize)> {
    let verbs = ["list", "get", "create", "update", "delete", "note"];
    let all = verbs.into_iter().flat_map(|verb| (0..KINDS.len()).map(move |kind| (verb, kind)));
    all.into_iter().find(|(verb, kind)| tool(verb, *kind) == name)
}

/// The name of the argument of a path: `id` in one half of the descriptions, `order_id` in the other.
pub(super) fn path_name(variant: usize, kind: usize) -> String {
    if (variant >> kind) & 1 == 0 { format!("{}_id", KINDS[kind]) } else { "id".to_owned() }
}

/// The description of one variant: five operations on each collection, and notes below each thing.
pub(super) fn document(variant: usize) -> String {
    let answers = json!({"200": {"description": "ok"}});
    let body = |names: &[&str]| {
        let mut properties: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        for kind in KINDS {
            properties.insert(format!("{kind}_id"), json!({}));
            properties.insert(kind.to_owned(), json!({}));
        }
        json!({"content": {"application/json": {"schema": {"type": "object", "properties": properties}}}})
    };
    let mut paths = Map::new();
    for kind in 0..KINDS.len() {
        let path_name = path_name(variant, kind);
        let one = json!([{"name": path_name, "in": "path", "required": true, "schema": {}}]);
        let query = ["status", "name"].map(|name| json!({"name": name, "in": "query", "schema": {}}));
        let fields = body(&["name", "status", "amount", "note"]);
        let all = format!("/{}", plural(kind));
        paths.insert(
            all.clone(),
            json!({
                "get": {"operationId": tool("list", kind), "parameters": query, "responses": answers},
                "post": {"operationId": tool("create", kind), "requestBody": fields, "responses": answers},
            }),
        );
        paths.insert(
            format!("{all}/{{{path_name}}}"),
            json!({
                "get": {"operationId": tool("get", kind), "parameters": one, "responses": answers},
                "patch": {"operationId": tool("update", kind), "parameters": one, "requestBody": fields, "responses": answers},
                "delete": {"operationId": tool("delete", kind), "parameters": one, "responses": answers},
            }),
        );
        paths.insert(
            format!("{all}/{{{path_name}}}/notes"),
            json!({"post": {"operationId": tool("note", kind), "parameters": one, "requestBody": body(&["body"]), "responses": answers}}),
        );
    }
    json!({"openapi": "3.1.0", "info": {"title": "Random", "version": "1"},
        "servers": [{"url": "https://random.example"}], "paths": paths})
    .to_string()
}

/// How ids look.
#[derive(Debug, Clone, Copy)]
enum Style {
    /// Counted from some number on.
    Small,
    Large,
    Uuid,
    /// `cus_4f2a`.
    Short,
    /// `cus_B`.
    Letter,
    /// `CUS-12`.
    Key,
}

/// Where a list or a thing stands in an answer.
#[derive(Debug, Clone)]
struct Shape {
    list: Option<String>,
    one: Option<String>,
    id: &'static str,
    /// The kind of thing that each refers to, and whether it is there as an object.
    refers: Option<(usize, bool)>,
}

#[derive(Debug, Clone)]
struct Thing {
    number: u32,
    fields: Map<String, Value>,
    refers: Option<u32>,
}

#[derive(Debug, Clone)]
struct Collection {
    style: Style,
    from: [u32; 2],
    shape: Shape,
    things: Vec<Thing>,
    next: u32,
}

/// All that there is.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) variant: usize,
    /// In which of two worlds this is: it decides what things are called.
    pub(super) world: usize,
    collections: Vec<Collection>,
    notes: u32,
}

impl Store {
    pub(super) fn random(dice: &mut Dice<'_>, variants: usize) -> Self {
        let variant = dice.below(variants);
        let collections = (0..KINDS.len()).map(|kind| Collection::random(dice, kind)).collect();
        let mut store = Self { variant, world: 0, collections, notes: 500 };
        for kind in 0..KINDS.len() {
            for _ in 0..dice.below(5) {
                let fields = json!({"name": NAMES[dice.below(NAMES.len())], "status": STATES[dice.below(3)], "amount": dice.below(40)});
                let refers =
                    store.collections[kind].shape.refers.map(|(other, _)| store.collections[other].next.max(1));
                let refers = refers.map(|next| u32::try_from(dice.below(next as usize)).unwrap());
                store.collections[kind].add(fields.as_object().unwrap().clone(), refers);
            }
        }
        store
    }

    /// What a thing is called here.
    pub(super) fn id(&self, kind: usize, number: u32) -> Value {
        let Collection { style, from, .. } = &self.collections[kind];
        let hash = |salt: u64| {
            let seed = (u64::from(number) << 8 | self.world as u64) << 8 | kind as u64;
            (seed + 1 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xd6e8_feb8_6659_fd93)
        };
        let short = &KINDS[kind][..3];
        let counted = from[self.world] + number;
        match style {
            Style::Small => counted.into(),
            Style::Large => (100_000_000 * (1 + self.world as u64) + hash(0) % 90_000_000).into(),
            Style::Uuid => {
                let (a, b) = (hash(1), hash(2));
                format!("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", a >> 32, a & 0xffff, b >> 52, b & 0xfff, hash(3) >> 16)
                    .into()
            }
            Style::Short => format!("{short}_{:04x}{number}", hash(4) >> 48).into(),
            Style::Letter => format!(
                "{short}_{}",
                char::from(b'A' + u8::try_from(number % 12).unwrap() + 13 * u8::try_from(self.world).unwrap())
            )
            .into(),
            Style::Key => format!("{}-{counted}", short.to_uppercase()).into(),
        }
    }

    /// Whether its ids say in a sentence what they are; a short number does not.
    pub(super) fn is_spoken_of(&self, kind: usize) -> bool {
        !matches!(self.collections[kind].style, Style::Small)
    }

    pub(super) fn numbers(&self, kind: usize) -> Vec<u32> {
        self.collections[kind].things.iter().map(|thing| thing.number).collect()
    }

    /// The members on the way to the list of an answer, and to the one thing of another.
    pub(super) fn list_path(&self, kind: usize) -> Vec<String> {
        self.collections[kind].shape.list.iter().cloned().collect()
    }

    pub(super) fn one_path(&self, kind: usize) -> Vec<String> {
        self.collections[kind].shape.one.iter().cloned().collect()
    }

    pub(super) fn id_field(&self, kind: usize) -> &'static str {
        self.collections[kind].shape.id
    }

    /// The kind that things of a kind refer to, and the members on the way to its id.
    pub(super) fn reference(&self, kind: usize) -> Option<(usize, Vec<String>)> {
        let (other, is_object) = self.collections[kind].shape.refers?;
        let path = if is_object {
            vec![KINDS[other].to_owned(), self.id_field(other).to_owned()]
        } else {
            vec![format!("{}_id", KINDS[other])]
        };
        Some((other, path))
    }

    fn shown(&self, kind: usize, thing: &Thing) -> Value {
        let mut shown = Map::new();
        shown.insert(self.id_field(kind).to_owned(), self.id(kind, thing.number));
        shown.extend(thing.fields.clone());
        if let (Some((other, is_object)), Some(number)) = (self.collections[kind].shape.refers, thing.refers) {
            let id = self.id(other, number);
            let (name, value) = if is_object {
                (KINDS[other].to_owned(), json!({self.id_field(other): id}))
            } else {
                (format!("{}_id", KINDS[other]), id)
            };
            shown.insert(name, value);
        }
        shown.into()
    }

    fn one(&self, kind: usize, thing: &Thing) -> Value {
        self.one_path(kind).into_iter().fold(self.shown(kind, thing), |inner, name| json!({name: inner}))
    }

    fn find(&self, kind: usize, arguments: &Value) -> Result<usize, String> {
        let wanted = &arguments[path_name(self.variant, kind)];
        let things = &self.collections[kind].things;
        let found = things.iter().position(|thing| text_of(&self.id(kind, thing.number)) == text_of(wanted));
        found.ok_or_else(|| format!("there is not a {} {wanted}", KINDS[kind]))
    }

    /// Which thing an argument refers to.
    fn referred(&self, kind: usize, arguments: &Value) -> Result<Option<u32>, String> {
        let Some((other, _)) = self.collections[kind].shape.refers else { return Ok(None) };
        let wanted = [format!("{}_id", KINDS[other]), KINDS[other].to_owned()].map(|name| arguments.get(name));
        let Some(wanted) = wanted.into_iter().flatten().next() else { return Ok(None) };
        let found = self.numbers(other).into_iter().find(|number| self.id(other, *number) == *wanted);
        found.map(Some).ok_or_else(|| format!("there is not a {} {wanted}", KINDS[other]))
    }

    /// Answers a call.
    pub(super) fn answer(&mut self, verb: &str, kind: usize, arguments: &Value) -> Result<Value, String> {
        match verb {
            "list" => {
                let wanted = |thing: &&Thing| {
                    ["status", "name"]
                        .iter()
                        .all(|name| arguments.get(*name).is_none_or(|value| thing.fields.get(*name) == Some(value)))
                };
                let things = self.collections[kind].things.iter().filter(wanted);
                let list: Value = things.map(|thing| self.shown(kind, thing)).collect();
                Ok(self.list_path(kind).into_iter().fold(list, |inner, name| json!({name: inner, "has_more": false})))
            }
            "create" => {
                let refers = self.referred(kind, arguments)?;
                let fields = self.fields(kind, arguments);
                self.collections[kind].add(fields, refers);
                let made = self.collections[kind].things.last().cloned().ok_or_else(String::new)?;
                Ok(self.one(kind, &made))
            }
            _ => {
                let at = self.find(kind, arguments)?;
                self.on_one(verb, kind, at, arguments)
            }
        }
    }

    fn on_one(&mut self, verb: &str, kind: usize, at: usize, arguments: &Value) -> Result<Value, String> {
        match verb {
            "get" => {}
            "update" => {
                let (refers, fields) = (self.referred(kind, arguments)?, self.fields(kind, arguments));
                let thing = &mut self.collections[kind].things[at];
                thing.fields.extend(fields);
                thing.refers = refers.or(thing.refers);
            }
            "delete" => {
                self.collections[kind].things.remove(at);
                return Ok(json!({}));
            }
            _ => {
                self.notes += 1;
                return Ok(json!({"ok": true, "position": self.notes}));
            }
        }
        Ok(self.one(kind, &self.collections[kind].things[at].clone()))
    }

    /// What a call sets beside ids.
    fn fields(&self, kind: usize, arguments: &Value) -> Map<String, Value> {
        let given = arguments.as_object().into_iter().flatten();
        let own = path_name(self.variant, kind);
        let data = given.filter(|(name, _)| **name != own && !KINDS.iter().any(|kind| name.starts_with(kind)));
        data.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl Collection {
    fn random(dice: &mut Dice<'_>, kind: usize) -> Self {
        use Style::{Key, Large, Letter, Short, Small, Uuid};
        let style = [Small, Large, Uuid, Short, Letter, Key][dice.below(6)];
        let id = match style {
            Small => ["id", "number"][dice.below(2)],
            Key => ["id", "key"][dice.below(2)],
            Uuid => ["id", "uuid"][dice.below(2)],
            _ => "id",
        };
        let list = [None, Some("items".to_owned()), Some("data".to_owned()), Some(plural(kind))][dice.below(4)].clone();
        let one = Some(KINDS[kind].to_owned()).filter(|_| dice.below(3) == 1);
        let refers = Some(kind).filter(|kind| *kind > 0).and_then(|kind| (dice.below(3) > 0).then(|| dice.below(kind)));
        let shape = Shape { list, one, id, refers: refers.map(|other| (other, dice.below(3) == 1)) };
        let from = u32::try_from(1 + dice.below(30)).unwrap();
        Self { style, from: [from, from + 211], shape, things: Vec::new(), next: 0 }
    }

    fn add(&mut self, fields: Map<String, Value>, refers: Option<u32>) {
        self.things.push(Thing { number: self.next, fields, refers });
        self.next += 1;
    }
}
