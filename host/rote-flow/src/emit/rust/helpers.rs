//! The functions that a written library has besides `main`, each only where it is used.

use std::collections::BTreeSet;

/// Returns the helpers of these names.
pub(super) fn helpers(mut used: BTreeSet<&'static str>) -> String {
    if used.contains("contains") {
        used.insert("same");
    }
    if used.contains("one_of_pages") {
        used.insert("of_pages");
    }
    if used.contains("of_pages") {
        used.insert("all_of_pages");
    }
    let all = HELPERS.into_iter().chain([("contains", CONTAINS), ("present", PRESENT)]);
    all.filter(|(name, _)| used.contains(name)).map(|(_, helper)| helper).collect()
}

/// A helper's name and its text.
const HELPERS: [(&str, &str); 17] = [
    (
        "one",
        r#"
/// Returns the one output of a jq program; null is not one.
fn one(response: &Response, program: &str) -> Result<Value> {
    let value: Value = response.query(program)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}
"#,
    ),
    (
        "one_with",
        r#"
/// Returns the one output of a jq program with variables; null is not one.
fn one_with(response: &Response, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let value: Value = response.query_with(program, values)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}
"#,
    ),
    (
        "pages",
        r#"
/// Reads a list page by page, as long as an answer says that there is another one: the last answer with the items of all.
fn pages(
    cx: &Rote,
    [next, items]: [&str; 2],
    mut arguments: Value,
    turn: impl Fn(Value, usize) -> Result<(&'static str, Value)>,
    call: impl Fn(&Value) -> Result<Response>,
) -> Result<Value> {
    let (mut read, mut named) = (Vec::new(), Vec::new());
    loop {
        let answer = call(&arguments)?;
        read.push(answer.json::<Value>()?);
        let said = cx.query(&answer).pipe(next).all::<Value>()?.into_iter().next();
        let Some(said) = said.filter(|said| !said.is_null() && *said != false && *said != "") else { break };
        let (argument, page) = turn(said, read.len())?;
        ensure!(!named.contains(&page), "page {page} is named twice, so the pages do not end");
        ensure!(read.len() < 100, "the list has more than 100 pages");
        arguments[argument] = page.clone();
        named.push(page);
    }
    if read.len() == 1 {
        return Ok(read.remove(0));
    }
    let join = format!("[.[] | ({items} // [])[]] as $items | .[-1] | {items} = $items");
    cx.query_value(&read)?.pipe(&join).execute()
}
"#,
    ),
    (
        "until",
        r#"
/// Makes a call until something is so of its answer: pauses so many milliseconds between two, and makes so many at most.
fn until(
    cx: &Rote,
    [program, never]: [&str; 2],
    arguments: Value,
    [pause, most]: [u64; 2],
    call: impl Fn(&Value) -> Result<Response>,
) -> Result<Response> {
    for made in 0..most {
        if made > 0 {
            cx.clock().sleep(std::time::Duration::from_millis(pause));
        }
        let answer = call(&arguments)?;
        let says = |program: &str| -> Result<bool> {
            let outputs = cx.query(&answer).pipe(program).all::<Value>()?;
            Ok(outputs.iter().any(|said| !said.is_null() && *said != false))
        };
        if says(program)? {
            return Ok(answer);
        }
        ensure!(never.is_empty() || !says(never)?, "waited in vain for `{program}`: `{never}`");
    }
    bail!("waited in vain: `{program}` was not so in {most} calls")
}
"#,
    ),
    (
        "only_page",
        r#"
/// Stops where a list has another page.
fn only_page(_: Value, _: usize) -> Result<(&'static str, Value)> {
    bail!("the list has another page, and only one can be read")
}
"#,
    ),
    (
        "one_of_pages",
        r#"
/// Returns the one output of a jq program on all pages of a list; null is not one.
fn one_of_pages(cx: &Rote, list: &Value, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let value = of_pages(cx, list, program, values)?;
    ensure!(!value.is_null(), "`{program}` of all pages is null");
    Ok(value)
}
"#,
    ),
    (
        "of_pages",
        r#"
/// Returns the one output of a jq program on all pages of a list.
fn of_pages(cx: &Rote, list: &Value, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let mut outputs = all_of_pages(cx, list, program, values)?;
    ensure!(outputs.len() == 1, "`{program}` of all pages has {} outputs, one is needed", outputs.len());
    Ok(outputs.remove(0))
}
"#,
    ),
    (
        "all_of_pages",
        r#"
/// Returns the outputs of a jq program on all pages of a list.
fn all_of_pages(cx: &Rote, list: &Value, program: &str, values: &[(&str, Value)]) -> Result<Vec<Value>> {
    let bound: String = values.iter().map(|(name, value)| format!("({value}) as ${name} | ")).collect();
    cx.query_value(list)?.pipe(&(bound + program)).all()
}
"#,
    ),
    (
        "exists",
        r#"
/// Whether a jq program has an output other than null.
fn exists(response: &Response, program: &str, values: &[(&str, Value)]) -> Result<bool> {
    let outputs: Vec<Value> = response.query_with(&format!("[{program}\n]"), values)?;
    Ok(outputs.iter().any(|output| !output.is_null()))
}
"#,
    ),
    (
        "field",
        r#"
/// Returns what an item has at this JSON pointer, which must be something.
fn field(item: &Value, pointer: &str) -> Result<Value> {
    match item.pointer(pointer) {
        None | Some(Value::Null) => bail!("`{pointer}` of an item is missing"),
        Some(value) => Ok(value.clone()),
    }
}
"#,
    ),
    (
        "one_of",
        r#"
/// Returns the one output of a jq program on an item; null is not one.
fn one_of(cx: &Rote, item: &Value, program: &str) -> Result<Value> {
    let value: Value = cx.query_value(item)?.pipe(program).execute()?;
    ensure!(!value.is_null(), "`{program}` of an item is null");
    Ok(value)
}
"#,
    ),
    (
        "list",
        r#"
/// Returns the items of an array.
fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        other => bail!("an array is needed, not {other}"),
    }
}
"#,
    ),
    (
        "given",
        r#"
/// Returns a parameter that is needed here although a run may be without it.
fn given<T: Serialize>(name: &str, value: &Option<T>) -> Result<Value> {
    match value {
        Some(value) => Ok(json!(value)),
        None => bail!("parameter `{name}` was not given"),
    }
}
"#,
    ),
    (
        "some",
        r#"
/// Returns a value that must not be null.
fn some(name: &str, value: Value) -> Result<Value> {
    ensure!(!value.is_null(), "`${name}` is null");
    Ok(value)
}
"#,
    ),
    (
        "text",
        r#"
/// Returns a value as it stands inside text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
"#,
    ),
    (
        "same",
        r#"
/// Whether two values are the same JSON; numbers by what they are, however they are written.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, one)| right.get(name).is_some_and(|other| same(one, other)))
        }
        _ => left == right,
    }
}
"#,
    ),
    (
        "compare",
        r#"
/// Puts two numbers or two texts in order.
fn compare(left: &Value, right: &Value) -> Result<Ordering> {
    let numbers = left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right));
    let texts = || Some(left.as_str()?.cmp(right.as_str()?));
    numbers.or_else(texts).ok_or_else(|| Error::msg("two numbers or two texts are needed"))
}
"#,
    ),
];

const CONTAINS: &str = r#"
/// Whether a text has this part, an array this item, an object this member.
fn contains(container: &Value, part: &Value) -> Result<bool> {
    match (container, part) {
        (Value::String(text), Value::String(part)) => Ok(text.contains(part)),
        (Value::Object(members), Value::String(name)) => Ok(members.contains_key(name)),
        (Value::Array(items), item) => Ok(items.iter().any(|one| same(one, item))),
        _ => bail!("a text, an array or an object is needed"),
    }
}
"#;

/// Reads a parameter in which null is not the same as none.
const PRESENT: &str = r"
/// Reads a value that is there, null too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
";
