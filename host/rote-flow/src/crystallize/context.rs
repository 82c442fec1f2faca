//! What the passes look at: the log, the answers, the installed tools. Each is read once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use rote_plan::text_of;
use rote_types::{AdapterId, QueryEngine, QueryLimits, ResponseId, SpecType, Tool, unescape_token};
use rote_workspace::Workspace;
use serde_json::Value;

use super::chance::{key_of, rounded};
use super::path::{Segment, at_mut};
use super::request::CrystallizeRequest;
use super::words::{MIN_EMBEDDED_CHARS, places};
use crate::literals::walk_scalars;
use crate::trace::{RecordedCall, Trace};
use crate::{FlowError, Surface};

/// Most bytes of answers that are parsed to be searched.
const MAX_SEARCHED_BYTES: usize = 32 << 20;

/// One answer.
struct Answer {
    /// The JSON text that queries read.
    text: String,
    /// The same, parsed; none for what is not JSON, and beyond [`MAX_SEARCHED_BYTES`].
    value: Option<Rc<Value>>,
}

/// Outputs of a jq program by response and program.
type Outputs = HashMap<(ResponseId, String), Rc<Vec<Value>>>;

/// Installed tools, none for one that is not there.
type Tools = BTreeMap<(AdapterId, String), Option<Rc<Tool>>>;

/// A recorded workspace, a request, and what both are about.
pub(crate) struct Context<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) trace: &'a Trace,
    pub(crate) request: &'a CrystallizeRequest,
    surface: &'a dyn Surface,
    pub(crate) engine: &'a dyn QueryEngine,
    answers: RefCell<BTreeMap<ResponseId, Rc<Answer>>>,
    searched: Cell<usize>,
    /// All pages of a list as one answer, by the response of the first.
    lists: RefCell<BTreeMap<ResponseId, Rc<Answer>>>,
    /// The first page of the list that a response is one of.
    first_page: RefCell<BTreeMap<ResponseId, ResponseId>>,
    /// The last page of a list that was not read to its end, as if it had been.
    ended: RefCell<BTreeMap<ResponseId, Rc<Value>>>,
    tools: RefCell<Tools>,
    asked: RefCell<Outputs>,
}

impl<'a> Context<'a> {
    /// Makes it. Nothing is read yet.
    pub(crate) fn new(
        workspace: &'a Workspace,
        trace: &'a Trace,
        request: &'a CrystallizeRequest,
        surface: &'a dyn Surface,
        engine: &'a dyn QueryEngine,
    ) -> Self {
        Self {
            workspace,
            trace,
            request,
            surface,
            engine,
            answers: RefCell::default(),
            searched: Cell::default(),
            lists: RefCell::default(),
            first_page: RefCell::default(),
            ended: RefCell::default(),
            tools: RefCell::default(),
            asked: RefCell::default(),
        }
    }

    fn answer(&self, response: ResponseId) -> Result<Rc<Answer>, FlowError> {
        if let Some(list) = self.lists.borrow().get(&response) {
            return Ok(Rc::clone(list));
        }
        self.page(response)
    }

    /// The answer of one call, although it may be one of the pages of a list.
    fn page(&self, response: ResponseId) -> Result<Rc<Answer>, FlowError> {
        if let Some(known) = self.answers.borrow().get(&response) {
            return Ok(Rc::clone(known));
        }
        let text = self.workspace.response(response)?.body.as_json().into_owned();
        let bytes = self.searched.get() + text.len();
        let value = if bytes <= MAX_SEARCHED_BYTES { serde_json::from_str(&text).ok().map(Rc::new) } else { None };
        self.searched.set(bytes);
        let answer = Rc::new(Answer { text, value });
        self.answers.borrow_mut().insert(response, Rc::clone(&answer));
        Ok(answer)
    }

    /// Returns the body of a response as it was recorded, although it may be the first page of a list.
    pub(crate) fn recorded(&self, response: ResponseId) -> Option<Rc<Value>> {
        self.ended(response).or_else(|| self.page(response).ok()?.value.clone())
    }

    /// Returns the last page of a list that was not read to its end, as if it had been.
    pub(crate) fn ended(&self, response: ResponseId) -> Option<Rc<Value>> {
        self.ended.borrow().get(&response).cloned()
    }

    /// Makes all pages of a list the answer of the first; `next` is where each names the one behind it. Returns whether it could.
    pub(crate) fn join(&self, pages: &[ResponseId], program: &str, next: &[Segment]) -> Result<bool, FlowError> {
        let bodies: Option<Vec<Value>> =
            pages.iter().map(|page| self.page(*page).ok()?.value.as_deref().cloned()).collect();
        let (Some(mut bodies), Some(first), Some(last)) = (bodies, pages.first(), pages.last()) else {
            return Ok(false);
        };
        if let Some(body) = bodies.last_mut()
            && let Some(named) = at_mut(body, next).filter(|named| {
                named.is_number() || **named == Value::Bool(true) || named.as_str().is_some_and(|text| !text.is_empty())
            })
        {
            *named = Value::Null;
            self.ended.borrow_mut().insert(*last, Rc::new(body.clone()));
        }
        let input = Value::Array(bodies).to_string();
        let outputs = self.engine.run(program, input.as_bytes(), &QueryLimits::default())?.values;
        let [text] = outputs.as_slice() else { return Ok(false) };
        let value = serde_json::from_str(text).ok().map(Rc::new);
        self.lists.borrow_mut().insert(*first, Rc::new(Answer { text: text.clone(), value }));
        self.first_page.borrow_mut().extend(pages.iter().map(|page| (*page, *first)));
        self.asked.borrow_mut().retain(|(response, _), _| response != first);
        Ok(true)
    }

    /// Takes back what [`Context::join`] did.
    pub(crate) fn part(&self, pages: &[ResponseId]) {
        for page in pages {
            self.lists.borrow_mut().remove(page);
            self.first_page.borrow_mut().remove(page);
            self.ended.borrow_mut().remove(page);
            self.asked.borrow_mut().retain(|(response, _), _| response != page);
        }
    }

    /// Returns the response that stands for all pages, for one of them; else the response itself.
    pub(crate) fn whole(&self, response: ResponseId) -> ResponseId {
        self.first_page.borrow().get(&response).copied().unwrap_or(response)
    }

    /// Returns the body of a response; none where it is gone or not JSON, or where it is too much to be searched.
    pub(crate) fn body(&self, response: ResponseId) -> Option<Rc<Value>> {
        self.answer(response).ok()?.value.clone()
    }

    /// Runs a program on a recorded response.
    pub(crate) fn outputs(&self, response: ResponseId, jq: &str) -> Result<Rc<Vec<Value>>, FlowError> {
        let key = (response, jq.to_owned());
        if let Some(known) = self.asked.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let answer = self.answer(response)?;
        let outputs = self.engine.run(jq, answer.text.as_bytes(), &QueryLimits::default())?.values;
        let outputs: Vec<Value> = outputs.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        let outputs = Rc::new(outputs);
        self.asked.borrow_mut().insert(key, Rc::clone(&outputs));
        Ok(outputs)
    }

    /// Returns the recorded result: one output as it is, several as an array.
    pub(crate) fn result(&self, response: ResponseId, jq: &str) -> Result<Value, FlowError> {
        let outputs = self.outputs(response, jq)?;
        Ok(match outputs.as_slice() {
            [one] => one.clone(),
            several => Value::Array(several.to_vec()),
        })
    }

    /// Returns the arguments of a call that are part of its path, by name.
    pub(crate) fn path_arguments(&self, call: &'a RecordedCall) -> Vec<(String, &'a Value)> {
        let Some(tool) = self.tool(call) else { return Vec::new() };
        path_names(&tool.path).filter_map(|name| Some((name.to_owned(), call.arguments.get(name)?))).collect()
    }

    /// Whether an argument takes one of a fixed set of words.
    pub(crate) fn is_chosen(&self, call: &RecordedCall, pointer: &str) -> bool {
        let Some(tool) = self.tool(call) else { return false };
        let mut at = &tool.input_schema;
        for segment in pointer.split('/').skip(1) {
            let key = unescape_token(segment);
            let inner = at.get("properties").and_then(|all| all.get(&*key)).or_else(|| at.get("items"));
            let Some(inner) = inner else { return false };
            at = inner;
        }
        at.get("enum").is_some()
    }

    /// Whether an answer is none of a call: a file that was brought in.
    pub(crate) fn is_document(&self, response: ResponseId) -> bool {
        self.trace.position(response).is_none() && self.workspace.response(response).is_ok()
    }

    /// Whether a number or a text is sent by a call or one behind it, also as words of a text, and rounded.
    pub(crate) fn is_sent(&self, call: usize, value: &Value) -> bool {
        let Some(wanted) = key_of(value) else { return false };
        self.trace.calls[call..].iter().any(|later| {
            let mut found = false;
            walk_scalars(&later.arguments, String::new(), &mut |_, one| {
                let in_text = || one.as_str().is_some_and(|text| !places(text, &wanted).is_empty());
                let is_rounded = || value.as_f64().zip(one.as_f64()).and_then(|(found, sent)| rounded(found, sent));
                found |= key_of(one).as_ref() == Some(&wanted) || in_text() || is_rounded().is_some();
            });
            found
        })
    }

    /// Whether a parameter that was asked for takes this place as a whole: by name, by value, or because it was named.
    pub(crate) fn is_claimed(&self, step: &str, pointer: &str, name: &str, value: &Value) -> bool {
        self.request.params.iter().any(|spec| match (spec.spots.as_slice(), &spec.value) {
            ([], None) => spec.name == name,
            ([], Some(claimed)) => *claimed == text_of(value) && (value.is_string() || spec.name == name),
            (spots, _) => spots.iter().any(|spot| spot.step == step && spot.pointer == pointer),
        })
    }

    /// Returns where parameters that were asked for by their value stand in a text that is more than that.
    pub(crate) fn claimed_in(&self, text: &str) -> Vec<Range<usize>> {
        let values =
            self.request.params.iter().filter(|spec| spec.spots.is_empty()).filter_map(|spec| spec.value.as_deref());
        let embedded = |value: &&str| *value != text && value.chars().count() >= MIN_EMBEDDED_CHARS;
        values.filter(embedded).flat_map(|value| places(text, value)).collect()
    }

    /// Whether an adapter is installed and was made from a description of this kind.
    pub(crate) fn is_of(&self, adapter: &AdapterId, kind: SpecType) -> bool {
        self.surface.manifest(adapter).ok().flatten().is_some_and(|manifest| manifest.spec_type == kind)
    }

    /// Returns the tool of a call as it is installed; none where it is not, which the pins refuse later.
    pub(crate) fn tool(&self, call: &RecordedCall) -> Option<Rc<Tool>> {
        let key = (call.adapter.clone(), call.tool.clone());
        let read = || self.surface.tool(&call.adapter, &call.tool).ok().flatten().map(Rc::new);
        self.tools.borrow_mut().entry(key).or_insert_with(read).clone()
    }
}

/// The names of the parameters in a path template.
pub(crate) fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name)
}

/// Whether an argument or a field of this name holds the id of something.
pub(crate) fn names_id(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = ["id", "ids", "iid", "key", "keys", "number", "uuid", "guid", "slug"];
    let ends = ["_id", "_ids", "_key", "_keys", "_number", "_uuid", "-id", "-key"];
    words.contains(&lower.as_str())
        || ends.iter().any(|end| lower.ends_with(end))
        || ["Id", "Ids", "Key", "Uuid", "Number"].iter().any(|end| name.ends_with(end))
}
