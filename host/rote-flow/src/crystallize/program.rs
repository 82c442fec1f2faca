//! jq programs as far as crystallize reads them: tokens, stages, literals. What it does not understand it leaves; every program
//! that is made here is run on the recorded answer before it is used.

use std::ops::Range;

use serde_json::Value;

use super::context::names_id;

/// What a piece of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// White space or a comment.
    Space,
    /// A string without interpolation.
    Text,
    /// A string with `\(…)` in it.
    Interpolated,
    /// A name, a keyword, a `$variable`, a `.field` or an `@format`.
    Word,
    Number,
    /// An operator or a bracket.
    Symbol,
}

/// A piece of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

/// A string literal that stands for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

const OPERATORS: [&str; 16] =
    ["?//=", "?//", "//=", "|=", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=", ">=", "//", "..", "->"];

/// Most interpolations inside of each other; the program of a flow is foreign, and each is a level of recursion here.
const MAX_NESTING: usize = 64;

/// Splits a program; the ranges cover it. None when a string or an interpolation does not end, or when interpolations are
/// nested deeper than [`MAX_NESTING`].
pub(crate) fn tokens(program: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < program.len() {
        let (kind, length) = next(&program[at..], MAX_NESTING)?;
        found.push(Token { kind, range: at..at + length });
        at += length;
    }
    Some(found)
}

fn next(rest: &str, nesting: usize) -> Option<(Kind, usize)> {
    let first = rest.chars().next()?;
    let run = |from: usize, accept: &dyn Fn(char) -> bool| {
        rest[from..].find(|c: char| !accept(c)).map_or(rest.len(), |end| from + end)
    };
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |from: usize| rest[from..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    Some(match first {
        c if c.is_whitespace() => (Kind::Space, run(0, &char::is_whitespace)),
        '#' => (Kind::Space, run(0, &|c| c != '\n')),
        '"' => string(rest, nesting)?,
        '$' | '@' if begins(1) => (Kind::Word, run(1, &name)),
        '.' if begins(1) => (Kind::Word, run(1, &name)),
        c if c.is_ascii_digit() => (Kind::Number, number(rest)),
        _ if begins(0) => (Kind::Word, run(0, &|c| name(c) || c == ':' && rest.contains("::"))),
        c => (Kind::Symbol, OPERATORS.iter().find(|one| rest.starts_with(*one)).map_or(c.len_utf8(), |one| one.len())),
    })
}

/// The length of a number, its exponent included.
fn number(rest: &str) -> usize {
    let digits = |from: usize| rest[from..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| from + end);
    let whole = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let Some(exponent) = rest[whole..].strip_prefix(['e', 'E']) else { return whole };
    let sign = usize::from(exponent.starts_with(['+', '-']));
    let end = digits(whole + 1 + sign);
    if end > whole + 1 + sign { end } else { whole }
}

/// A string and its length, quotes included.
fn string(rest: &str, nesting: usize) -> Option<(Kind, usize)> {
    let mut kind = Kind::Text;
    let mut at = 1;
    loop {
        let here = &rest[at..];
        match here.chars().next()? {
            '"' => return Some((kind, at + 1)),
            '\\' if here[1..].starts_with('(') => {
                kind = Kind::Interpolated;
                let nesting = nesting.checked_sub(1)?;
                at += 2;
                let mut depth = 1;
                while depth > 0 {
                    let (_, length) = next(&rest[at..], nesting)?;
                    match &rest[at..at + length] {
                        "(" => depth += 1,
                        ")" => depth -= 1,
                        _ => {}
                    }
                    at += length;
                }
            }
            '\\' => at += 1 + here[1..].chars().next()?.len_utf8(),
            c => at += c.len_utf8(),
        }
    }
}

/// The program of these stages.
pub(crate) fn piped(stages: &[&str]) -> String {
    stages.iter().map(|stage| stage.trim()).collect::<Vec<_>>().join(" | ")
}

/// The parts between the pipes at the top.
pub(crate) fn stages(program: &str) -> Vec<&str> {
    let Some(tokens) = tokens(program) else { return vec![program] };
    let mut found = Vec::new();
    let (mut depth, mut from) = (0_i32, 0);
    for token in &tokens {
        match &program[token.range.clone()] {
            "(" | "[" | "{" | "if" => depth += 1,
            ")" | "]" | "}" | "end" => depth -= 1,
            "def" => return vec![program],
            "|" if depth == 0 => {
                found.push(&program[from..token.range.start]);
                from = token.range.end;
            }
            _ => {}
        }
    }
    found.push(&program[from..]);
    found
}

/// The string literals that stand for values: neither keys of objects nor names of fields.
pub(crate) fn string_literals(program: &str) -> Vec<Literal> {
    let Some(mut tokens) = tokens(program) else { return Vec::new() };
    tokens.retain(|token| token.kind != Kind::Space);
    let text = |at: usize| tokens.get(at).map_or("", |token| &program[token.range.clone()]);
    let ends_value = |at: usize| {
        let word = text(at);
        word == "." || word.starts_with('.') || matches!(word, "]" | ")" | "?") || word.starts_with('$')
    };
    let is_value = |at: usize| {
        let before = if at == 0 { "" } else { text(at - 1) };
        let index = before == "[" && at > 1 && ends_value(at - 2);
        !(index || before == "." || before.starts_with('@') || text(at + 1) == ":")
    };
    let texts = tokens.iter().enumerate().filter(|(at, token)| token.kind == Kind::Text && is_value(*at));
    texts
        .filter_map(|(_, token)| {
            let text = serde_json::from_str(&program[token.range.clone()]).ok()?;
            Some(Literal { range: token.range.clone(), text })
        })
        .collect()
}

/// The last field that a program takes.
pub(crate) fn last_field(program: &str) -> Option<String> {
    let mut words = tokens(program)?.into_iter().rev().filter(|token| token.kind == Kind::Word);
    words.find_map(|token| program[token.range].strip_prefix('.').map(str::to_owned))
}

/// What stands in the brackets that a program begins with, and what stands behind them: `[.a[] | .b]` and `[0].c`.
pub(crate) fn made_list(program: &str) -> Option<(&str, &str)> {
    let program = program.trim();
    let mut depth = 0_usize;
    for token in tokens(program)? {
        match &program[token.range.clone()] {
            "[" => depth += 1,
            "]" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            let inside = program[..token.range.start].strip_prefix('[')?;
            return Some((inside, &program[token.range.end..])).filter(|(inside, _)| !inside.trim().is_empty());
        }
    }
    None
}

/// Every text that it holds: values, names of fields, what stands around an interpolation. All of it where it cannot be read.
pub(crate) fn texts(program: &str) -> Vec<String> {
    let Some(tokens) = tokens(program) else { return vec![program.to_owned()] };
    let texts = tokens.iter().filter(|token| matches!(token.kind, Kind::Text | Kind::Interpolated));
    let read = |token: &Token| {
        let text = &program[token.range.clone()];
        serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned())
    };
    texts.map(read).collect()
}

/// The conditions of its `select(…)`, the outermost first.
pub(crate) fn conditions(program: &str) -> Vec<&str> {
    let Some(mut tokens) = tokens(program) else { return Vec::new() };
    tokens.retain(|token| token.kind != Kind::Space);
    let text = |at: usize| tokens.get(at).map_or("", |token| &program[token.range.clone()]);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if text(at) != "select" || text(at + 1) != "(" {
            continue;
        }
        let mut depth = 0;
        for end in at + 1..tokens.len() {
            match text(end) {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                found.push(&program[tokens[at + 1].range.end..tokens[end].range.start]);
                break;
            }
        }
    }
    found
}

/// An id that a program compares with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compared {
    /// What the member is called that has it; with the member around it where that says of what it is.
    pub(crate) name: String,
    pub(crate) range: Range<usize>,
    pub(crate) value: Value,
}

/// Programs that look whether something is one of what they are given.
const ONE_OF: [&str; 6] = ["IN", "INDEX", "index", "indices", "inside", "rindex"];

/// The numbers and texts that members named after ids are compared with by `==`, `!=` or a program of [`ONE_OF`], and every other text that
/// looks like an id.
pub(crate) fn compared(program: &str) -> Vec<Compared> {
    let Some(mut tokens) = tokens(program) else { return Vec::new() };
    tokens.retain(|token| token.kind != Kind::Space);
    let text = |at: usize| tokens.get(at).map_or("", |token| &program[token.range.clone()]);
    let field = |at: usize| text(at).strip_prefix('.').filter(|name| !name.is_empty());
    // `.` is one of what the member before it has.
    let member = |at: usize| if text(at) == "." { (0..at).rev().find_map(field) } else { field(at) };
    let literal = |at: usize| {
        let token = tokens.get(at).filter(|token| matches!(token.kind, Kind::Text | Kind::Number))?;
        let value: Value = serde_json::from_str(&program[token.range.clone()]).ok()?;
        let is_id = value.is_number()
            || value.as_str().is_some_and(|text| text.contains(|c: char| c.is_ascii_digit() || c == '_'));
        is_id.then(|| (token.range.clone(), value))
    };
    let ends = |at: usize| matches!(text(at), "" | ")" | "]" | "," | "|" | "and" | "or");
    let mut found = Vec::new();
    for at in (1..tokens.len()).filter(|at| ["==", "!="].contains(&text(*at))) {
        let right =
            literal(at + 1).filter(|_| ends(at + 2)).and_then(|literal| Some((literal, member(at - 1)?, at - 1)));
        let left = || {
            let begins = at < 2 || matches!(text(at - 2), "(" | "|" | "and" | "or" | ",");
            let last = (at + 1..tokens.len()).take_while(|at| member(*at).is_some()).last()?;
            literal(at - 1)
                .filter(|_| begins && ends(last + 1))
                .and_then(|literal| Some((literal, member(last)?, last)))
        };
        let Some(((range, value), name, place)) = right.or_else(left) else { continue };
        if !names_id(name) {
            continue;
        }
        let around = (place > 0).then(|| field(place - 1)).flatten();
        let name = around.map_or_else(|| name.to_owned(), |around| format!("{around}_{name}"));
        found.push(Compared { name, range, value });
    }
    let one_of = |at: usize| {
        let given = |at: &usize| literal(*at).is_some() || matches!(text(*at), "," | ";" | "[") || field(*at).is_some();
        let begin = (0..at).rev().take_while(given).last().unwrap_or(at);
        begin > 1 && text(begin - 1) == "(" && ONE_OF.contains(&text(begin - 2))
    };
    for at in 1..tokens.len() {
        let Some((range, value)) = literal(at) else { continue };
        let is_key = text(at + 1) == ":" || text(at - 1) == "[" && at > 1 && text(at - 2).starts_with('.');
        let name = (0..at).rev().find_map(field).unwrap_or("id");
        let meant = if value.is_number() { names_id(name) && one_of(at) } else { !is_key };
        if meant && !found.iter().any(|known| known.range == range) {
            found.push(Compared { name: name.to_owned(), range, value });
        }
    }
    found.sort_by_key(|one| one.range.start);
    found
}

/// Operators beside a number that is reckoned or compared with.
const RECKONS: [&str; 11] = ["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">="];

/// The numbers that a program reckons or compares with, and its texts that stand for a value.
pub(crate) fn values(program: &str) -> Vec<(Range<usize>, Value)> {
    let Some(mut tokens) = tokens(program) else { return Vec::new() };
    tokens.retain(|token| token.kind != Kind::Space);
    let reckons = |at: Option<usize>| {
        let token = at.and_then(|at| tokens.get(at));
        token.is_some_and(|token| RECKONS.contains(&&program[token.range.clone()]))
    };
    let numbers = tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Number);
    let reckoned = numbers.filter(|(at, _)| reckons(at.checked_sub(1)) || reckons(Some(at + 1)));
    let read = |range: Range<usize>| Some((range.clone(), serde_json::from_str(&program[range]).ok()?));
    let mut found: Vec<_> = reckoned.filter_map(|(_, token)| read(token.range.clone())).collect();
    found.extend(string_literals(program).into_iter().map(|literal| (literal.range, Value::from(literal.text))));
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// By what it takes something for where it stands: numbers in brackets, `-1` too, the bounds of slices, and the words for it.
pub(crate) fn positions(program: &str) -> Vec<String> {
    let Some(mut tokens) = tokens(program) else { return Vec::new() };
    tokens.retain(|token| token.kind != Kind::Space);
    let text = |at: usize| tokens.get(at).map_or("", |token| &program[token.range.clone()]);
    let is_number = |at: usize| tokens.get(at).is_some_and(|token| token.kind == Kind::Number);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if ["first", "last", "nth", "limit"].contains(&text(at)) {
            found.push(text(at).to_owned());
        }
        let slice = usize::from(text(at) == "[" && text(at + 1) == ":");
        let minus = usize::from(text(at + slice + 1) == "-");
        let number = at + slice + minus + 1;
        if text(at) == "[" && is_number(number) && ["]", ":"].contains(&text(number + 1)) {
            found.push(format!("{}{}", &"-"[..minus], text(number)));
        }
    }
    found
}

/// The ranges that it takes of lists, as they are written: `[3:]`.
pub(crate) fn ranges(program: &str) -> Vec<&str> {
    let Some(tokens) = tokens(program) else { return Vec::new() };
    let text = |at: usize| tokens.get(at).map_or("", |token| &program[token.range.clone()]);
    let ends = |from: usize| (from..tokens.len().min(from + 8)).find(|at| text(*at) == "]");
    let bounds = |inside: &str| inside.contains(':') && inside.chars().all(|c| c.is_ascii_digit() || ":- ".contains(c));
    let opens = (0..tokens.len()).filter(|at| text(*at) == "[");
    let all = opens.filter_map(|open| Some(&program[tokens[open].range.start..tokens[ends(open)?].range.end]));
    all.filter(|range| bounds(&range[1..range.len() - 1])).collect()
}

/// Whether one of these words stands in it.
pub(crate) fn names(program: &str, words: &[&str]) -> bool {
    tokens(program).is_some_and(|tokens| tokens.iter().any(|token| words.contains(&&program[token.range.clone()])))
}

/// Whether it reckons a number of others and does not round it.
pub(crate) fn reckons(program: &str) -> bool {
    let Some(mut tokens) = tokens(program) else { return false };
    tokens.retain(|token| token.kind != Kind::Space);
    let text = |at: usize| tokens.get(at).map_or("", |token| &program[token.range.clone()]);
    let is_sign = |at: usize| at == 0 || ["[", ":", "(", ",", "|"].contains(&text(at - 1));
    let reckons = |at: usize| ["+", "*", "/", "add"].contains(&text(at)) || text(at) == "-" && !is_sign(at);
    (0..tokens.len()).any(reckons) && !names(program, &["round"])
}

/// Whether it names a variable.
pub(crate) fn names_variable(program: &str, name: &str) -> bool {
    let Some(tokens) = tokens(program) else { return program.contains(&format!("${name}")) };
    tokens.iter().any(|token| match token.kind {
        Kind::Word => program[token.range.clone()].strip_prefix('$') == Some(name),
        Kind::Interpolated => names_variable_inside(&program[token.range.clone()], name),
        _ => false,
    })
}

/// An interpolated string may name it anywhere.
fn names_variable_inside(text: &str, name: &str) -> bool {
    let word = format!("${name}");
    text.match_indices(&word)
        .any(|(at, _)| !text[at + word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_what_is_reckoned_or_compared_with() {
        for (program, expected) in [
            (".rate * 42.5", vec![json!(42.5)]),
            ("(12 + .a) | .[3]", vec![json!(12)]),
            (".[] | select(.name == \"Emma\" and .price<=80) | .id", vec![json!("Emma"), json!(80)]),
            (".[1:20] | first(.[]) | {\"a\": .b[\"c\"]}", vec![]),
            ("\"open", vec![]),
        ] {
            let found: Vec<Value> = values(program).into_iter().map(|(_, value)| value).collect();
            assert_eq!(found, expected, "{program}");
        }
    }

    #[test]
    fn interpolations_are_read_to_a_depth_that_the_stack_bears() {
        let nested = |depth: usize| format!("{}1{}", "\"\\(".repeat(depth), ")\"".repeat(depth));
        assert_eq!(tokens(&nested(MAX_NESTING)).map(|found| found.len()), Some(1));
        assert_eq!(tokens(&nested(MAX_NESTING + 1)), None);
        assert_eq!(tokens(&nested(1_000_000)), None);
        assert_eq!(stages(&nested(1_000_000)).len(), 1, "what is not understood is one stage");
    }

    #[test]
    fn programs_are_split_at_the_pipes_of_the_top() {
        for (program, parts) in [
            (".items[] | select(.a == \"x|y\") | .id", vec![".items[] ", " select(.a == \"x|y\") ", " .id"]),
            ("map(.a | .b)|=1|.c", vec!["map(.a | .b)|=1", ".c"]),
            ("if .a | .b then 1 else 2 end | .x", vec!["if .a | .b then 1 else 2 end ", " .x"]),
            ("\"a\\(.b | \"(|\")\" | .c # | no", vec!["\"a\\(.b | \"(|\")\" ", " .c # | no"]),
            ("\"open", vec!["\"open"]),
            ("def f: .a | .b; f | .c", vec!["def f: .a | .b; f | .c"]),
        ] {
            assert_eq!(stages(program), parts);
            assert_eq!(stages(program).join("|"), program);
        }
    }

    #[test]
    fn only_strings_that_are_values_are_literals() {
        let texts = |program| string_literals(program).into_iter().map(|one| one.text).collect::<Vec<_>>();
        assert_eq!(texts(".items[] | select(.title == \"A \\\"b\\\"\") | .id"), ["A \"b\""]);
        assert_eq!(texts("{\"key\": \"value\", b: .[\"c\"]} | .\"d\" | @uri \"e\" | contains(\"f\")"), ["value", "f"]);
        assert_eq!(texts("[\"a\", \"b\"] | \"x\\(.y)\""), ["a", "b"]);
    }

    #[test]
    fn ids_that_are_compared_with_are_found() {
        for (program, found) in [
            (".[] | select(.assignee_id == 32)", vec!["assignee_id 32"]),
            (".[] | select(32 == .assignee_id and .state == \"open_1\")", vec!["assignee_id 32", "state \"open_1\""]),
            (".[] | select(.assignee | IN(\"u_3\", \"bob\")) | .id", vec!["assignee \"u_3\""]),
            ("map(select(.id | IN(32, 33))) | .[0]", vec!["id 32", "id 33"]),
            ("[.[].id] | index(32)", vec!["id 32"]),
            ("{\"a_1\": .[\"b_2\"]} | .n | IN(3)", vec![]),
            ("map(select(.assignee.id == \"u_7\" or .id==9)) | length", vec!["assignee_id \"u_7\"", "id 9"]),
            (".[] | select(.count == 3 or .id == 3 + 1 or .key == \"open\")", vec![]),
            (".[] | select(.id != 4 and 5 != .owner_id)", vec!["id 4", "owner_id 5"]),
            ("select(.label_ids | any(. == 32)) | .id", vec!["label_ids 32"]),
            (".counts | any(. == 32)", vec![]),
            ("{\"id\": 3} | .id == $x", vec![]),
            (".id ==", vec![]),
        ] {
            let all = compared(program);
            let told: Vec<String> = all.iter().map(|one| format!("{} {}", one.name, one.value)).collect();
            assert_eq!(told, found, "{program}");
            let stands = |one: &Compared| one.value.to_string().as_str() == &program[one.range.clone()];
            assert!(all.iter().all(stands));
        }
    }

    #[test]
    fn what_reckons_is_not_a_position_or_what_rounds() {
        for (program, wanted) in [
            ("[.a[].b] | add", true),
            (".a * 2", true),
            (".a - .b", true),
            (".a[-1].b", false),
            ("\"+\"", false),
            (".a * 100 | round / 100", false),
        ] {
            assert_eq!(reckons(program), wanted, "{program}");
        }
    }

    #[test]
    fn positions_are_found() {
        for (program, found) in [
            (".items[0].id", vec!["0"]),
            (".items[-1].id | .[2]", vec!["-1", "2"]),
            (".items | last | .id", vec!["last"]),
            ("first(.items[]) | .lists[ -2 : ]", vec!["first", "-2"]),
            (".items[:3][]", vec!["3"]),
            (".items[] | select(.n == -1) | .last | .[\"0\"]", vec![]),
            ("[1, 2]", vec![]),
        ] {
            assert_eq!(positions(program), found, "{program}");
        }
    }

    #[test]
    fn conditions_and_variables_are_found() {
        assert_eq!(conditions("[.a[] | select(.b == (1) and .c)] | map(select(.d))"), [".b == (1) and .c", ".d"]);
        assert!(names_variable("select(.a == $want)", "want") && names_variable("\"x\\($want)\"", "want"));
        assert!(!names_variable("select(.a == \"$want\" or $wanted)", "want"));
    }
}
