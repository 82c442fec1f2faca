//! Filling templates in: `$var`, `@N`, `@N{.path | filters}` in the strings of a JSON value.
//!
//! A string that is one reference becomes the value with its type; inside a longer string a value becomes text.
//! Whatever is missing is reported at once and nothing is half filled. Object keys are never templates.

use std::collections::HashMap;

use rote_types::{Classify, ErrorKind, QueryEngine, QueryError, ReadError, ResponseId, escape_token, read_json};
use serde_json::{Map, Value};

use crate::template::{self, Piece, Reference, has_alternative};
use crate::{Dependency, DependencyType, Result, TemplateProblem, Variable, Workspace, WorkspaceError, desugar};

/// Deepest nesting of a template that is walked. Arguments are far shallower.
const MAX_DEPTH: usize = 128;

/// A filled template and where its parts came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    pub value: Value,
    /// One entry per substituted reference, in document order.
    pub uses: Vec<Dependency>,
}

impl Workspace {
    /// Fills in every reference of `template`.
    ///
    /// # Errors
    /// `Template` with everything that is missing; or the engine, the database or a file failed.
    pub fn render(&self, engine: &dyn QueryEngine, template: &Value) -> Result<Rendered> {
        let mut renderer =
            Renderer { workspace: self, engine, known: HashMap::new(), uses: Vec::new(), problems: Vec::new() };
        let value = renderer.value(template, "", MAX_DEPTH)?;
        if renderer.problems.is_empty() {
            Ok(Rendered { value, uses: renderer.uses })
        } else {
            Err(WorkspaceError::Template { problems: renderer.problems })
        }
    }
}

/// A value to put in, or why there is none.
type Found = std::result::Result<(Value, Origin), String>;

/// Where a value came from.
#[derive(Debug, Clone, Default)]
struct Origin {
    response: Option<ResponseId>,
    query: Option<String>,
    variable: Option<String>,
}

struct Renderer<'a> {
    workspace: &'a Workspace,
    engine: &'a dyn QueryEngine,
    /// What was looked up already, by how it is written.
    known: HashMap<String, Found>,
    uses: Vec<Dependency>,
    problems: Vec<TemplateProblem>,
}

impl Renderer<'_> {
    fn value(&mut self, template: &Value, pointer: &str, depth: usize) -> Result<Value> {
        let Some(depth) = depth.checked_sub(1) else {
            self.problem(pointer, "the template", format!("is nested deeper than {MAX_DEPTH} levels"));
            return Ok(Value::Null);
        };
        match template {
            Value::String(text) => self.string(text, pointer),
            Value::Array(items) => {
                let mut filled = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    filled.push(self.value(item, &format!("{pointer}/{index}"), depth)?);
                }
                Ok(Value::Array(filled))
            }
            Value::Object(fields) => {
                let mut filled = Map::new();
                for (key, item) in fields {
                    let place = format!("{pointer}/{}", escape_token(key));
                    filled.insert(key.clone(), self.value(item, &place, depth)?);
                }
                Ok(Value::Object(filled))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(template.clone()),
        }
    }

    fn string(&mut self, text: &str, pointer: &str) -> Result<Value> {
        let pieces = template::parse(text);
        if let [Piece::Reference { reference, written }] = pieces.as_slice() {
            return Ok(self.substitute(reference, written, pointer)?.unwrap_or(Value::Null));
        }
        let mut filled = String::with_capacity(text.len());
        for piece in &pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Broken { written, reason } => self.problem(pointer, written, (*reason).to_owned()),
                Piece::Reference { reference, written } => match self.substitute(reference, written, pointer)? {
                    Some(Value::String(text)) => filled.push_str(&text),
                    Some(value) => filled.push_str(&value.to_string()),
                    None => {}
                },
            }
        }
        Ok(Value::String(filled))
    }

    /// Looks a reference up and notes its use; notes a problem and returns nothing when it is missing.
    fn substitute(&mut self, reference: &Reference, written: &str, pointer: &str) -> Result<Option<Value>> {
        let found = match self.known.get(written) {
            Some(found) => found.clone(),
            None => {
                let found = self.look_up(reference)?;
                self.known.insert(written.to_owned(), found.clone());
                found
            }
        };
        match found {
            Ok((value, origin)) => {
                self.uses.push(dependency(origin, pointer));
                Ok(Some(value))
            }
            Err(reason) => {
                self.problem(pointer, written, reason);
                Ok(None)
            }
        }
    }

    fn look_up(&self, reference: &Reference) -> Result<Found> {
        match reference {
            Reference::Variable(name) => Ok(match self.workspace.var(name)? {
                Some(variable) => Ok(of_variable(variable)),
                None => Err("is not set".to_owned()),
            }),
            Reference::Response(id) => self.ask(*id, None),
            Reference::Query(id, program) => self.ask(*id, Some(desugar(program))),
        }
    }

    fn ask(&self, id: ResponseId, program: Option<String>) -> Result<Found> {
        let asked = self.workspace.ask(self.engine, id, program.as_deref().unwrap_or("."));
        let values = match asked {
            Ok(values) => values,
            Err(error) => return absent(error).map(Err),
        };
        let [value] = values.as_slice() else {
            return Ok(Err(format!("gives {} values where one is needed", values.len())));
        };
        let value = match read_json(value) {
            Ok(value) => value,
            Err(ReadError::Number(number)) => {
                return Ok(Err(format!(
                    "is the number {number}, which would lose digits (take it as text: `| tostring`)"
                )));
            }
            Err(ReadError::Syntax(source)) => {
                return Err(WorkspaceError::Encode { what: "the result of a query", source });
            }
        };
        let accepts_null = program.as_ref().is_none_or(|program| has_alternative(program));
        if value.is_null() && !accepts_null {
            return Ok(Err("is absent or null there (append `// null` inside the braces if null is meant)".to_owned()));
        }
        Ok(Ok((value, Origin { response: Some(id), query: program, variable: None })))
    }

    fn problem(&mut self, pointer: &str, reference: &str, reason: String) {
        self.problems.push(TemplateProblem { pointer: pointer.to_owned(), reference: reference.to_owned(), reason });
    }
}

/// Tells what is wrong with the reference from what is wrong with the host.
fn absent(error: WorkspaceError) -> Result<String> {
    match &error {
        WorkspaceError::NoResponse { .. } => Ok("does not exist".to_owned()),
        WorkspaceError::Cleared { .. } => Ok("was cleared".to_owned()),
        WorkspaceError::Unfinished { state, .. } => Ok(format!("has no recorded outcome (`{state}`)")),
        WorkspaceError::NoAnswer { problem, .. } => Ok(format!("has no answer ({problem})")),
        WorkspaceError::QueryOnError { problem, .. } => Ok(format!("reads an error response ({problem})")),
        WorkspaceError::Query { source: QueryError::Syntax { message, .. } } => {
            Ok(format!("does not parse: {message}"))
        }
        WorkspaceError::Query { source: QueryError::Runtime { message, .. } } => Ok(format!("failed: {message}")),
        WorkspaceError::Query { source } if source.kind() == ErrorKind::Limit => Ok(format!("failed: {source}")),
        _ => Err(error),
    }
}

/// A variable that was read from a response carries that on.
fn of_variable(variable: Variable) -> (Value, Origin) {
    let origin =
        Origin { response: variable.source_response, query: variable.source_query, variable: Some(variable.name) };
    (variable.value, origin)
}

fn dependency(origin: Origin, pointer: &str) -> Dependency {
    let dependency_type = match (&origin.response, &origin.query) {
        (Some(_), Some(_)) => DependencyType::QueryReadResult,
        (Some(_), None) => DependencyType::Response,
        (None, _) => DependencyType::Variable,
    };
    Dependency {
        target_field_path: pointer.to_owned(),
        source_response: origin.response,
        source_query: origin.query,
        variable_name: origin.variable,
        dependency_type,
    }
}
