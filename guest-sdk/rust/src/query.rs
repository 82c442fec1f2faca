//! jq over responses and values.

use serde::de::DeserializeOwned;

use crate::error::misfit;
use crate::host::HostHandle;
use crate::{Error, Result, json};

/// A jq program under construction; it runs on the host, so that only its output comes into the flow.
///
/// ```
/// # use rote_sdk::{Result, json};
/// # use rote_sdk::testing::FakeHost;
/// # fn main() -> Result<()> {
/// # let host = FakeHost::new();
/// # host.on("github", "issues/list").json(json!({"items": [{"title": "a", "comments": 3}, {"title": "b", "comments": 0}]}));
/// # let cx = host.rote();
/// let issues = cx.adapter("github").call("issues/list", &())?;
/// let titles: Vec<String> = cx.query(&issues).path("items").filter(".comments > 0").map(".title").execute()?;
/// # assert_eq!(titles, ["a"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a query runs with `execute`"]
pub struct Query {
    host: HostHandle,
    source: Source,
    program: String,
}

/// What a query reads.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The body of a recorded response.
    Response(u64),
    /// A JSON text.
    Value(String),
}

impl Query {
    pub(crate) fn new(host: HostHandle, source: Source) -> Self {
        Self { host, source, program: String::new() }
    }

    /// Appends any jq program: `… | program`.
    pub fn pipe(self, program: &str) -> Self {
        self.apply("", program, "")
    }

    /// Goes down a path of member names with dots between them, such as `data.items`; a name of digits only is an
    /// index. jq's own spelling, with a dot or a bracket first, works too: `.items[0]`, and `["odd.name"]` for names
    /// with dots.
    pub fn path(self, path: &str) -> Self {
        if path.starts_with(['.', '[']) {
            return self.apply(if path.starts_with('[') { "." } else { "" }, path, "");
        }
        let mut program = String::from(".");
        for name in path.split('.').filter(|name| !name.is_empty()) {
            if name.bytes().all(|byte| byte.is_ascii_digit()) {
                program.extend(["[", name, "]"]);
            } else if is_identifier(name) {
                program.extend([if program == "." { "" } else { "." }, name]);
            } else {
                // JSON's escapes are jq's, and a backslash is escaped, so that nothing is interpolated.
                let quoted = serde_json::to_string(name).unwrap_or_default();
                program.extend(["[", quoted.as_str(), "]"]);
            }
        }
        self.pipe(&program)
    }

    /// Takes one item of an array, counted from 0, or from the end when negative.
    pub fn at(self, index: i64) -> Self {
        self.pipe(&format!(".[{index}]"))
    }

    /// Selects by a jq expression, such as `.items[] | .name`. To choose items of an array there is
    /// [`Query::filter`].
    pub fn select(self, expression: &str) -> Self {
        self.pipe(expression)
    }

    /// Keeps the items of an array for which the condition holds: `map(select(condition))`.
    pub fn filter(self, condition: &str) -> Self {
        self.apply("map(select(", condition, "))")
    }

    /// Turns each item of an array into another: `map(expression)`.
    pub fn map(self, expression: &str) -> Self {
        self.apply("map(", expression, ")")
    }

    /// Reads a string as JSON: `fromjson`.
    pub fn parse_json(self) -> Self {
        self.pipe("fromjson")
    }

    /// Returns the jq program as it stands.
    #[must_use]
    pub fn program(&self) -> &str {
        if self.program.is_empty() { "." } else { &self.program }
    }

    /// Runs the program and returns its one output. For a program that has none or several, such as `.[]`, there is
    /// [`Query::all`]: were they one array here, a `Vec` would fit or not by how many there happen to be.
    ///
    /// # Errors
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when the program or the body is at fault, [`Cause::Limit`](crate::Cause::Limit) when it takes or gives too
    /// much, [`Cause::Flow`](crate::Cause::Flow) when it has not exactly one output or when that does not fit `T`. A retry does not help.
    pub fn execute<T: DeserializeOwned>(self) -> Result<T> {
        let output = self.output()?;
        json::read(&output).map_err(|problem| misfit("the output of the query", self.program(), problem))
    }

    /// Runs the program and returns all its outputs.
    ///
    /// # Errors
    /// As [`Query::execute`], whatever the number of outputs.
    pub fn all<T: DeserializeOwned>(self) -> Result<Vec<T>> {
        let read = |output: &String| {
            json::read(output).map_err(|problem| misfit("an output of the query", self.program(), problem))
        };
        self.outputs()?.iter().map(read).collect()
    }

    fn outputs(&self) -> Result<Vec<String>> {
        match &self.source {
            Source::Response(id) => self.host.query_response(*id, self.program()),
            Source::Value(value) => self.host.query_value(value, self.program()),
        }
    }

    /// Returns the one output as a JSON text; not generic, so that it is compiled once.
    fn output(&self) -> Result<String> {
        let outputs = self.outputs()?;
        let count = outputs.len();
        match <[String; 1]>::try_from(outputs) {
            Ok([output]) => Ok(output),
            Err(_) => Err(Error::msg(format!("the query `{}` has {count} outputs, not one", self.program()))),
        }
    }

    /// Appends a part. Nothing in jq binds weaker than `|`, so parts need no parentheses.
    fn apply(mut self, open: &str, inner: &str, close: &str) -> Self {
        if !self.program.is_empty() {
            self.program.push_str(" | ");
        }
        self.program.extend([open, inner, close]);
        self
    }
}

fn is_identifier(name: &str) -> bool {
    name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::testing::FakeHost;
    use crate::{Cause, json};

    #[test]
    fn parts_are_joined_into_one_program() {
        let cx = FakeHost::new().rote();
        let query = cx.query_value(&json!(null)).unwrap();
        assert_eq!(query.program(), ".");
        let query = query.path("data.2.a-b.name").at(-1).select(".ok").filter(".n > 1").map(".x").parse_json();
        let program = r#".data[2]["a-b"].name | .[-1] | .ok | map(select(.n > 1)) | map(.x) | fromjson"#;
        assert_eq!(query.program(), program);
    }

    #[test]
    fn a_path_is_never_a_program() {
        let cx = FakeHost::new().rote();
        let name = r#"a\(1)" + "b"#;
        let value = json!({ (name): 1 });
        assert_eq!(cx.query_value(&value).unwrap().path(name).execute::<u32>().unwrap(), 1);
        assert_eq!(cx.query_value(&json!([[5]])).unwrap().path("0.0").execute::<u32>().unwrap(), 5);
    }

    #[test]
    fn a_path_may_be_spelled_as_jq_does() {
        let cx = FakeHost::new().rote();
        let value = json!({ "items": [{ "odd.name": 1 }] });
        let at = |path: &str| cx.query_value(&value).unwrap().path(path);
        assert_eq!(at(".items[0]").program(), ".items[0]");
        assert_eq!(at("items.0").path(r#"["odd.name"]"#).program(), r#".items[0] | .["odd.name"]"#);
        assert_eq!(at("items.0").path(r#"["odd.name"]"#).execute::<u8>().unwrap(), 1);
        assert_eq!(at("").program(), ".");
    }

    #[test]
    fn a_query_needs_exactly_one_output_that_fits() {
        let cx = FakeHost::new().rote();
        let query = |program: &str| cx.query_value(&json!([1, 2])).unwrap().pipe(program).execute::<u32>();
        assert_eq!(query(".[1]").unwrap(), 2);
        let text = query(".[]").unwrap_err().to_string();
        assert_eq!(text, "the query `.[]` has 2 outputs, not one");
        assert!(matches!(query(".").unwrap_err().cause(), Cause::Flow(_)));
        assert!(matches!(query(".[").unwrap_err().cause(), Cause::InvalidInput(_)));
        assert!(matches!(query("error(\"no\")").unwrap_err().cause(), Cause::InvalidInput(_)));
        let all = |program: &str| cx.query_value(&json!([1, 2])).unwrap().pipe(program).all::<u32>();
        assert_eq!((all(".[]"), all("empty")), (Ok(vec![1, 2]), Ok(vec![])));
        let text = all(".[], \"x\"").unwrap_err().to_string();
        assert_eq!(text, "an output of the query `.[], \"x\"` does not fit: expected u32, found string");
    }
}
