//! The short forms of queries that rote users write, turned into jq.
//!
//! `$` is the root (`$`, `$.a`, `$ | .[]`), and a leading field name needs no dot (`content`, `items[0].id`).
//! A program that is jq already stays as it is, byte for byte: a bare word that jq knows keeps jq's meaning.

/// Words that may open a jq program: keywords, constants and builtins without arguments.
const JQ_WORDS: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "and",
    "any",
    "arrays",
    "as",
    "ascii",
    "ascii_downcase",
    "ascii_upcase",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "avg",
    "booleans",
    "break",
    "builtins",
    "capture",
    "catch",
    "cbrt",
    "ceil",
    "combinations",
    "cos",
    "cosh",
    "date",
    "debug",
    "def",
    "elif",
    "else",
    "empty",
    "end",
    "env",
    "error",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "explode",
    "fabs",
    "false",
    "finites",
    "first",
    "flatten",
    "floor",
    "foreach",
    "from_entries",
    "fromdate",
    "fromdateiso8601",
    "fromjson",
    "frexp",
    "gamma",
    "get_search_list",
    "getpath",
    "gmtime",
    "halt",
    "halt_error",
    "have_decnum",
    "have_literal_numbers",
    "if",
    "implode",
    "import",
    "in",
    "include",
    "infinite",
    "input",
    "input_filename",
    "input_line_number",
    "inputs",
    "isarray",
    "isboolean",
    "isfinite",
    "isinfinite",
    "isnan",
    "isnormal",
    "isnumber",
    "isobject",
    "isstring",
    "iterables",
    "keys",
    "keys_unsorted",
    "label",
    "last",
    "leaf_paths",
    "length",
    "lgamma",
    "localtime",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lower",
    "ltrim",
    "max",
    "min",
    "mktime",
    "modf",
    "modulemeta",
    "module",
    "nan",
    "nearbyint",
    "normals",
    "not",
    "now",
    "null",
    "nulls",
    "numbers",
    "objects",
    "or",
    "paths",
    "pow10",
    "recurse",
    "recurse_down",
    "reduce",
    "reverse",
    "rint",
    "round",
    "rtrim",
    "scalars",
    "significand",
    "sin",
    "sinh",
    "sort",
    "splits",
    "sqrt",
    "stderr",
    "strings",
    "sum",
    "tan",
    "tanh",
    "tgamma",
    "then",
    "to_entries",
    "toarray",
    "tobytes",
    "toboolean",
    "todate",
    "todateiso8601",
    "tojson",
    "tonumber",
    "tostream",
    "tostring",
    "transpose",
    "trim",
    "true",
    "trunc",
    "try",
    "type",
    "unique",
    "upper",
    "utf8bytelength",
    "values",
    "walk",
    "with_entries",
    "y0",
    "y1",
    "j0",
    "j1",
    "__loc__",
];

/// The variable that holds the root while `$` is used past the beginning.
const ROOT: &str = "$__root";

/// Returns the jq program for `program`: `$` as root, bare leading field names; plain jq stays as it is.
#[must_use]
pub fn desugar(program: &str) -> String {
    let trimmed = program.trim();
    if trimmed.is_empty() {
        return ".".to_owned();
    }
    let (head, rest) = match trimmed.strip_prefix('$') {
        Some(rest) if !starts_name(rest) => leading_root(rest),
        _ if is_bare_field(trimmed) => (".", trimmed),
        // The caller's own white space stays: it is jq already.
        _ => ("", program),
    };
    let rest = replace_roots(rest);
    if rest.contains_root { format!(". as {ROOT} | {head}{}", rest.text) } else { format!("{head}{}", rest.text) }
}

/// Returns the names of all `$name` words in `program`. Some may be bound by the program itself: a workspace variable
/// of the same name is then shadowed, so offering it does no harm.
pub(crate) fn variable_names(program: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for place in dollars(program) {
        let rest = &program[place + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..end];
        if starts_name(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether `program` opens with the bare word `content`, which stands for the payload when `-m` unwraps it.
pub(crate) fn strip_bare_content(program: &str) -> Option<&str> {
    let rest = program.trim().strip_prefix("content")?;
    match rest.trim_start().chars().next() {
        None | Some('|' | ',') => Some(rest),
        Some('.') if rest.starts_with('.') => Some(rest.strip_prefix('.').unwrap_or(rest)),
        _ => None,
    }
}

fn starts_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// `$.a` is `.a`, everything else after a leading `$` follows a `.`.
fn leading_root(rest: &str) -> (&'static str, &str) {
    match rest.strip_prefix('.') {
        Some(path) if starts_name(path) || path.starts_with(['[', '"', '.']) => ("", rest),
        _ => (".", rest),
    }
}

/// Whether the program opens with a word that can only be meant as a field.
fn is_bare_field(program: &str) -> bool {
    let end = program.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(program.len());
    let (word, rest) = program.split_at(end);
    starts_name(word) && !JQ_WORDS.contains(&word) && !rest.trim_start().starts_with('(') && !rest.starts_with("::")
}

struct Replaced {
    text: String,
    contains_root: bool,
}

/// Replaces each `$` that is code and no name.
fn replace_roots(program: &str) -> Replaced {
    let mut text = String::with_capacity(program.len());
    let mut contains_root = false;
    let mut copied = 0;
    for place in dollars(program) {
        if !starts_name(&program[place + 1..]) {
            text.push_str(&program[copied..place]);
            text.push_str(ROOT);
            copied = place + 1;
            contains_root = true;
        }
    }
    text.push_str(&program[copied..]);
    Replaced { text, contains_root }
}

/// Returns the places of every `$` that is code: not in a string (interpolations are code) and not in a comment.
fn dollars(program: &str) -> Vec<usize> {
    let mut places = Vec::new();
    // Each entry is an open string; the number counts brackets open inside its current interpolation.
    let mut strings: Vec<usize> = Vec::new();
    let mut in_text = false;
    let mut in_comment = false;
    let mut bytes = program.bytes().enumerate();
    while let Some((place, byte)) = bytes.next() {
        if in_comment {
            in_comment = byte != b'\n';
        } else if in_text {
            match byte {
                b'"' => {
                    strings.pop();
                    in_text = false;
                }
                b'\\' => {
                    let escaped = bytes.next();
                    in_text = !matches!(escaped, Some((_, b'(')));
                }
                _ => {}
            }
        } else {
            match byte {
                b'$' => places.push(place),
                b'#' => in_comment = true,
                b'"' => {
                    strings.push(0);
                    in_text = true;
                }
                b'(' => strings.iter_mut().last().into_iter().for_each(|open| *open += 1),
                b')' => match strings.last_mut() {
                    Some(0) => in_text = true,
                    Some(open) => *open -= 1,
                    None => {}
                },
                _ => {}
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sugar_becomes_jq() {
        let rows = [
            ("", "."),
            ("$", "."),
            ("$.a", ".a"),
            ("$.contact.name", ".contact.name"),
            ("$[0]", ".[0]"),
            ("$ | .[] | .name", ". | .[] | .name"),
            ("content", ".content"),
            ("content[0].text", ".content[0].text"),
            ("items | length", ".items | length"),
            ("name.first", ".name.first"),
            (".items[] | select(.id == $.wanted)", ". as $__root | .items[] | select(.id == $__root.wanted)"),
            ("\"\\($.a) $5\"", ". as $__root | \"\\($__root.a) $5\""),
        ];
        for (sugar, jq) in rows {
            assert_eq!(desugar(sugar), jq, "{sugar}");
        }
    }

    #[test]
    fn jq_stays_as_it_is() {
        let programs = [
            ".",
            ".a.b",
            " .a ",
            "length",
            "keys",
            "map(.x)",
            "my_function(1)",
            "def f: 1; f",
            "[.[] | .a]",
            "{a: 1}",
            "\"cost: $5\"",
            "\"$\"",
            ". as $x | $x",
            "reduce .[] as $i (0; . + $i)",
            "if . then 1 else 2 end",
            "@base64",
            "$var.field",
            "..",
            "-1",
            "first(.[])",
            "try error catch .",
            ".a # costs $\n",
            "sum",
            "avg",
        ];
        for program in programs {
            assert_eq!(desugar(program), program);
        }
    }

    #[test]
    fn variable_names_are_found_in_code_only() {
        let rows: &[(&str, &[&str])] = &[
            ("$var.field", &["var"]),
            (". as $x | $x + $y", &["x", "y"]),
            ("\"\\($x) $y\"", &["x"]),
            ("\"\\(\"\\($a)\" + $b) $c\" + $d", &["a", "b", "d"]),
            ("# $x\n.", &[]),
        ];
        for (program, expected) in rows {
            assert_eq!(variable_names(program), *expected, "{program}");
        }
    }

    #[test]
    fn bare_content_is_the_payload() {
        assert_eq!(strip_bare_content("content"), Some(""));
        assert_eq!(strip_bare_content("content | .a"), Some(" | .a"));
        assert_eq!(strip_bare_content("content.items"), Some("items"));
        assert_eq!(strip_bare_content(".content"), None);
        assert_eq!(strip_bare_content("contents"), None);
        assert_eq!(strip_bare_content("content[0].text"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(program in "\\PC*") {
            let _ = desugar(&program);
            let _ = variable_names(&program);
            let _ = strip_bare_content(&program);
        }

        #[test]
        fn programs_that_open_with_a_dot_and_have_no_dollar_do_not_change(rest in "[^$]*") {
            let program = format!(".{rest}");
            prop_assert_eq!(desugar(&program), program);
        }

        #[test]
        fn desugaring_twice_changes_nothing_more(program in "[a-z.$|\\[\\]\" ()#\\\\]{0,40}") {
            let once = desugar(&program);
            prop_assert_eq!(desugar(&once), once.clone());
        }
    }
}
