//! The functions that a written module has besides `main`, each only where it is used.

use std::collections::BTreeSet;

/// Returns the helpers of these names.
pub(super) fn helpers(mut used: BTreeSet<&'static str>) -> String {
    if used.contains("contains") {
        used.insert("same");
    }
    let mut text = String::new();
    for (name, helper) in HELPERS.into_iter().chain([("contains", CONTAINS)]) {
        if used.contains(name) {
            text.push_str(if name == "one" && !used.contains("read") { ONE_ALONE } else { helper });
        }
    }
    if used.contains("values") { text } else { text.replace(VALUES, "").replace(", values)", ")") }
}

/// The variables of a program, which few programs have.
const VALUES: &str = ", values: Record<string, Json> = {}";

/// Where nothing else reads.
const ONE_ALONE: &str = r#"
/** Returns the one output of a jq program; null is not one. */
function one(response: Response, program: string, values: Record<string, Json> = {}): Json {
  const outputs = response.query(program, values);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || value === null) {
    throw new Error(`\`${program}\` of @${response.id} gives ${JSON.stringify(outputs)}, one value is needed`);
  }
  return value;
}
"#;

/// A helper's name and its text.
const HELPERS: [(&str, &str); 16] = [
    (
        "one",
        r#"
/** Returns the one output of a jq program; null is not one. */
function one(response: Response, program: string, values: Record<string, Json> = {}): Json {
  const value = read(response, program, values);
  if (value === null) throw new Error(`\`${program}\` of @${response.id} is null`);
  return value;
}
"#,
    ),
    (
        "read",
        r#"
/** Returns the one output of a jq program. */
function read(response: Response, program: string, values: Record<string, Json> = {}): Json {
  const outputs = response.query(program, values);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined) {
    throw new Error(`\`${program}\` of @${response.id} has ${outputs.length} outputs, one is needed`);
  }
  return value;
}
"#,
    ),
    (
        "pages",
        r#"
/** Reads a list page by page, as long as an answer says that there is another one: the last answer with the items of all. */
async function pages(
  turn: (said: Json, read: number) => JsonObject,
  next: string,
  items: string,
  call: (page: JsonObject) => Promise<Response>,
): Promise<Json> {
  const read: Json[] = [];
  const named: string[] = [];
  let page: JsonObject = {};
  for (;;) {
    const answer = await call(page);
    read.push(answer.json());
    const [said = null] = answer.query(next);
    if (said === null || said === false || said === "") break;
    page = turn(said, read.length);
    const name = JSON.stringify(page);
    if (named.includes(name)) throw new Error(`page ${name} is named twice, so the pages do not end`);
    if (read.length === 100) throw new Error("the list has more than 100 pages");
    named.push(name);
  }
  if (read.length === 1) return read[0] ?? null;
  const join = `[.[] | (${items} // [])[]] as $items | .[-1] | ${items} = $items`;
  return new Query({ value: read }).pipe(join).execute();
}
"#,
    ),
    (
        "until",
        r#"
/** Makes a call until something is so of its answer: pauses so many milliseconds between two, and makes so many at most. */
async function until(
  [program, never]: [string, string],
  [pause, most]: [number, number],
  call: () => Promise<Response>,
): Promise<Response> {
  for (let made = 1; ; made += 1) {
    const answer = await call();
    const says = (asked: string) => answer.query(asked).some((said) => said !== null && said !== false);
    if (says(program)) return answer;
    if (never !== "" && says(never)) throw new Error(`waited in vain for \`${program}\`: \`${never}\``);
    if (made === most) throw new Error(`waited in vain: \`${program}\` was not so in ${most} calls`);
    await sleep(pause);
  }
}
"#,
    ),
    (
        "onlyPage",
        r#"
/** Stops where a list has another page. */
function onlyPage(): never {
  throw new Error("the list has another page, and only one can be read");
}
"#,
    ),
    (
        "ofPages",
        r#"
/** Returns the one output of a jq program on all pages of a list. */
async function ofPages(
  list: Json,
  program: string,
  variables: Record<string, Json> = {},
  nullable: boolean = false,
): Promise<Json> {
  const outputs = await allOfPages(list, program, variables);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || (value === null && !nullable)) {
    throw new Error(`\`${program}\` of all pages gives ${JSON.stringify(outputs)}, one value is needed`);
  }
  return value;
}
"#,
    ),
    (
        "allOfPages",
        r#"
/** Returns the outputs of a jq program on all pages of a list. */
async function allOfPages(list: Json, program: string, variables: Record<string, Json> = {}): Promise<Json[]> {
  const bound = Object.entries(variables).map(([name, value]) => `(${JSON.stringify(value)}) as $${name} | `);
  return new Query({ value: list }).pipe(bound.join("") + program).all();
}
"#,
    ),
    (
        "exists",
        r#"
/** Whether a jq program has an output other than null. */
function exists(response: Response, program: string, values: Record<string, Json> = {}): boolean {
  return response.query(program, values).some((output) => output !== null);
}
"#,
    ),
    (
        "field",
        r#"
/** Returns what an item has at this path, which must be something. */
function field(item: Json, ...path: string[]): Json {
  let value: Json | undefined = item;
  for (const name of path) value = (value as JsonObject | undefined)?.[name];
  if (value === undefined || value === null) throw new Error(`\`.${path.join(".")}\` of an item is missing`);
  return value;
}
"#,
    ),
    (
        "oneOf",
        r#"
/** Returns the one output of a jq program on an item; null is not one. */
async function oneOf(item: Json, program: string): Promise<Json> {
  const outputs = await new Query({ value: item }).pipe(program).all();
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || value === null) {
    throw new Error(`\`${program}\` of an item has ${outputs.length} outputs, one that is not null is needed`);
  }
  return value;
}
"#,
    ),
    (
        "list",
        r#"
/** Returns the items of an array. */
function list(value: Json): Json[] {
  if (!Array.isArray(value)) throw new Error(`an array is needed, not ${JSON.stringify(value)}`);
  return value;
}
"#,
    ),
    (
        "given",
        r#"
/** Returns a parameter that is needed here although a run may be without it. */
function given<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`parameter \`${name}\` was not given`);
  return value;
}
"#,
    ),
    (
        "some",
        r#"
/** Returns a value that must not be null. */
function some(name: string, value: Json): Json {
  if (value === null) throw new Error(`\`$${name}\` is null`);
  return value;
}
"#,
    ),
    (
        "text",
        r#"
/** Returns a value as it stands inside text. */
function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
"#,
    ),
    (
        "same",
        r#"
/** Whether two values are the same JSON, whatever the order of members. */
function same(left: Json, right: Json): boolean {
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") {
    return left === right;
  }
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [mine, others] = [Object.entries(left), new Map<string, Json>(Object.entries(right))];
  const has = (name: string, value: Json): boolean => others.has(name) && same(value, others.get(name) ?? null);
  return mine.length === others.size && mine.every(([name, value]) => has(name, value));
}
"#,
    ),
    (
        "compare",
        r#"
/** Returns less than, equal to or more than 0, as two numbers or two texts stand in order. */
function compare(left: Json, right: Json): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") throw new Error("two numbers or two texts are needed");
  const codes = (text: string): number[] => Array.from(text, (c) => c.codePointAt(0) ?? 0);
  const [mine, others] = [codes(left), codes(right)];
  const at = mine.findIndex((code, index) => code !== others[index]);
  return at < 0 ? mine.length - others.length : (mine[at] ?? -1) - (others[at] ?? -1);
}
"#,
    ),
];

const CONTAINS: &str = r#"
/** Whether a text has this part, an array this item, an object this member. */
function contains(container: Json, part: Json): boolean {
  if (Array.isArray(container)) return container.some((item) => same(item, part));
  if (typeof part === "string" && typeof container === "string") return container.includes(part);
  if (typeof part === "string" && container !== null && typeof container === "object") {
    return Object.hasOwn(container, part);
  }
  throw new Error("a text, an array or an object is needed");
}
"#;
