//! What jq does, in tables: program, input, outputs. The rows come from jq's manual and from its test suite.

mod index;
mod needs;

use crate::evaluate::{Failure, MAX_DEPTH, MAX_PROGRAM_BYTES, evaluate};

const LIMIT: u64 = 1 << 20;

fn run(program: &str, input: &str) -> Result<Vec<String>, Failure> {
    evaluate(program, input.as_bytes().to_vec(), LIMIT)
}

#[track_caller]
fn check(rows: &[(&str, &str, &[&str])]) {
    let mut wrong = Vec::new();
    for (program, input, expected) in rows {
        let actual = run(program, input);
        let fits = actual.as_ref().is_ok_and(|values| values.iter().map(String::as_str).eq(expected.iter().copied()));
        if !fits {
            wrong.push(format!("{program} on {input}: expected {expected:?}, got {actual:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn paths_iteration_and_slices_are_those_of_jq() {
    check(&[
        (".", "{\"b\":1,\"a\":[ true, null ]}", &["{\"b\":1,\"a\":[true,null]}"]),
        (".a.b?", "{\"a\":{\"b\":7}}", &["7"]),
        (".a", "null", &["null"]),
        (".[\"a b\"]", "{\"a b\":1}", &["1"]),
        (".[2:4]", "\"abcdefghi\"", &["\"cd\""]),
        (".[:-2]", "\"größe\"", &["\"grö\""]),
        (".[2:4]", "[1,2,3,4,5]", &["[3,4]"]),
        (".[-1]", "[1,2,3]", &["3"]),
        (".[]", "{\"a\":1,\"b\":2}", &["1", "2"]),
        (".results[:2][]", "{\"results\":[1,2,3]}", &["1", "2"]),
        ("[.[] | .[1:2]?]", "[null,{\"a\":1},[1,2]]", &["[null,[2]]"]),
        ("..", "[[1]]", &["[[1]]", "[1]", "1"]),
        ("[.[]?]", "1", &["[]"]),
        ("[paths]", "{\"a\":[1]}", &["[[\"a\"],[\"a\",0]]"]),
        ("[paths(type == \"number\")]", "{\"a\":[1,\"x\"]}", &["[[\"a\",0]]"]),
        ("[leaf_paths]", "{\"a\":[1]}", &["[[\"a\",0]]"]),
        ("getpath([\"a\",\"b\"])", "null", &["null"]),
        ("getpath([\"a\",0])", "{\"a\":[5]}", &["5"]),
        ("setpath([\"a\",\"b\"]; 1)", "null", &["{\"a\":{\"b\":1}}"]),
        ("delpaths([[\"a\"]])", "{\"a\":1,\"b\":2}", &["{\"b\":2}"]),
        ("setpath([2]; 1)", "null", &["[null,null,1]"]),
        ("setpath([\"a\",0]; 1)", "{\"a\":[5,6]}", &["{\"a\":[1,6]}"]),
        ("del(.[1,2])", "[1,2,3]", &["[1]"]),
        ("del(.a, .x.y)", "{\"a\":1,\"c\":2,\"b\":3}", &["{\"c\":2,\"b\":3}"]),
        ("del(.[] | select(. > 1))", "[1,2,3]", &["[1]"]),
        ("del(.[1:])", "[1,2,3]", &["[1]"]),
        ("del(.a.b)", "{\"a\":{\"b\":1,\"c\":2}}", &["{\"a\":{\"c\":2}}"]),
        ("to_entries", "{\"a\":1}", &["[{\"key\":\"a\",\"value\":1}]"]),
        ("from_entries", "[{\"name\":\"a\",\"value\":1},{\"k\":\"b\",\"v\":false}]", &["{\"a\":1,\"b\":false}"]),
        ("with_entries(.value += 1)", "{\"a\":1}", &["{\"a\":2}"]),
        ("path(..)", "[1]", &["[]", "[0]"]),
        (".a |= . + 1", "{\"a\":1}", &["{\"a\":2}"]),
        (".a += 1 | .b //= 2", "{\"a\":1}", &["{\"a\":2,\"b\":2}"]),
        ("pick(.a.b)", "{\"a\":{\"b\":1,\"c\":2}}", &["{\"a\":{\"b\":1}}"]),
    ]);
}

#[test]
fn generators_stop_early() {
    check(&[
        ("[limit(3; .[])]", "[0,1,2,3,4]", &["[0,1,2]"]),
        ("first(range(infinite))", "null", &["0"]),
        ("[limit(5; repeat(.))]", "1", &["[1,1,1,1,1]"]),
        ("first(empty)", "null", &[]),
        ("isempty(empty), isempty(1, error(\"x\"))", "null", &["true", "false"]),
        ("[range(0; 10; 3)]", "null", &["[0,3,6,9]"]),
        ("[.[] | until(. > 4; . + 1)]", "[1,6]", &["[5,6]"]),
        ("label $out | foreach .[] as $i (0; . + $i; if . > 2 then ., break $out else empty end)", "[1,2,3]", &["3"]),
        ("reduce .[] as [$a, $b] (0; . + $a * $b)", "[[1,2],[3,4]]", &["14"]),
        ("[.[] | select(. > 1)]", "[1,2,3]", &["[2,3]"]),
        ("any, all", "[true,false]", &["true", "false"]),
        ("IN(2, 3)", "2", &["true"]),
        ("INDEX(.id)", "[{\"id\":1}]", &["{\"1\":{\"id\":1}}"]),
        ("try error(\"x\") catch .", "null", &["\"x\""]),
        ("def f($x): $x * 2; f(21)", "null", &["42"]),
        (". as {a: $x, b: [$y]} | $x + $y", "{\"a\":1,\"b\":[2]}", &["3"]),
        ("if . then \"yes\" end", "true", &["\"yes\""]),
        ("[tostream]", "{\"a\":[1]}", &["[[[\"a\",0],1],[[\"a\",0]],[[\"a\"]]]"]),
        ("fromstream(tostream)", "{\"a\":[1,{\"b\":2}]}", &["{\"a\":[1,{\"b\":2}]}"]),
    ]);
}

#[test]
fn strings_formats_and_regular_expressions_are_those_of_jq() {
    check(&[
        ("@base64, (@base64 | @base64d)", "\"hello\"", &["\"aGVsbG8=\"", "\"hello\""]),
        ("fromjson", "\"{\\\"a\\\":1}\"", &["{\"a\":1}"]),
        ("tojson", "[1,1.5,\"x\"]", &["\"[1,1.5,\\\"x\\\"]\""]),
        ("@json, @text", "{\"a\":1}", &["\"{\\\"a\\\":1}\"", "\"{\\\"a\\\":1}\""]),
        ("@csv", "[1,\"a\\\"b\",null,true]", &["\"1,\\\"a\\\"\\\"b\\\",,true\""]),
        ("@tsv", "[1,\"a\\tb\"]", &["\"1\\ta\\\\tb\""]),
        ("@uri", "\"a b&c\"", &["\"a%20b%26c\""]),
        ("@html", "\"<a>\"", &["\"&lt;a&gt;\""]),
        ("@sh", "\"it's\"", &["\"'it'\\\\''s'\""]),
        ("\"\\(.id)\\t\\(.name)\"", "{\"id\":1,\"name\":\"x\"}", &["\"1\\tx\""]),
        ("test(\"^a.c$\"; \"i\")", "\"ABC\"", &["true"]),
        ("capture(\"(?<y>[0-9]{4})-(?<m>[0-9]{2})\")", "\"2026-11\"", &["{\"y\":\"2026\",\"m\":\"11\"}"]),
        ("sub(\"(?<x>b)\"; \"[\\(.x)]\")", "\"abab\"", &["\"a[b]ab\""]),
        ("gsub(\"a\"; \"x\")", "\"banana\"", &["\"bxnxnx\""]),
        ("[match(\"a\"; \"g\").offset]", "\"banana\"", &["[1,3,5]"]),
        ("[scan(\"[0-9]+\")]", "\"a1b22\"", &["[\"1\",\"22\"]"]),
        ("[splits(\", *\")]", "\"a, b,c\"", &["[\"a\",\"b\",\"c\"]"]),
        ("ltrimstr(\"a\"), rtrimstr(\"c\")", "\"abc\"", &["\"bc\"", "\"ab\""]),
        ("ltrimstr(\"a\")", "1", &["1"]),
        ("split(\",\") | join(\"-\")", "\"a,b\"", &["\"a-b\""]),
        ("join(\",\")", "[1,null,\"x\"]", &["\"1,,x\""]),
        ("ascii_upcase, ascii_downcase", "\"aB\"", &["\"AB\"", "\"ab\""]),
        ("trim, ltrim, rtrim", "\" x \"", &["\"x\"", "\"x \"", "\" x\""]),
        ("startswith(\"a\"), endswith(\"a\")", "\"ab\"", &["true", "false"]),
        ("explode | implode", "\"aé\"", &["\"aé\""]),
        ("indices(\",\")", "\"a,b,c\"", &["[1,3]"]),
        ("length, utf8bytelength", "\"é\"", &["1", "2"]),
        ("tostring", "[1]", &["\"[1]\""]),
        ("tonumber", "\"12\"", &["12"]),
        ("ascii", "65", &["\"A\""]),
        ("contains({a:[\"x\"]})", "{\"a\":[\"xy\"],\"b\":1}", &["true"]),
        ("inside(\"abc\")", "\"b\"", &["true"]),
    ]);
}

#[test]
fn arrays_and_numbers_are_those_of_jq() {
    check(&[
        ("add, length, min, max", "[1,3,2]", &["6", "3", "1", "3"]),
        ("sort, unique, reverse", "[3,1,3]", &["[1,3,3]", "[1,3]", "[3,1,3]"]),
        ("sort_by(.a) | map(.a)", "[{\"a\":2},{\"a\":1}]", &["[1,2]"]),
        ("group_by(.a) | map(length)", "[{\"a\":1},{\"a\":2},{\"a\":1}]", &["[2,1]"]),
        ("unique_by(length)", "[\"a\",\"b\",\"cc\"]", &["[\"a\",\"cc\"]"]),
        ("min_by(.a).a, max_by(.a).a", "[{\"a\":2},{\"a\":1}]", &["1", "2"]),
        ("flatten, flatten(1)", "[1,[2,[3]]]", &["[1,2,3]", "[1,2,[3]]"]),
        ("floor, ceil, round", "1.5", &["1", "2", "2"]),
        ("10 / 2, 7 / 2, 7 % 3", "null", &["5", "3.5", "1"]),
        ("transpose", "[[1],[2,3]]", &["[[1,2],[null,3]]"]),
        ("map_values(. + 1)", "{\"a\":1}", &["{\"a\":2}"]),
        ("keys, has(\"a\")", "{\"b\":1,\"a\":2}", &["[\"a\",\"b\"]", "true"]),
        ("walk(if type == \"number\" then . + 1 else . end)", "[1,[2]]", &["[2,[3]]"]),
        ("nan, infinite | isnan", "null", &["true", "false"]),
        ("[nan]", "null", &["[null]"]),
        ("todate, (\"2015-03-05T23:51:47Z\" | fromdate)", "1425599507", &["\"2015-03-05T23:51:47Z\"", "1425599507"]),
        ("strftime(\"%Y-%m-%d\")", "1425599507", &["\"2015-03-05\""]),
        ("combinations", "[[1,2],[3]]", &["[1,3]", "[2,3]"]),
        (
            "[.[] | type]",
            "[0,\"\",null,[],{},true]",
            &["[\"number\",\"string\",\"null\",\"array\",\"object\",\"boolean\"]"],
        ),
    ]);
}

#[test]
fn numbers_and_key_order_pass_through_unchanged() {
    let text = "{\"z\":10000000000000000000000000001,\"a\":[1.10,1e1000,-0.000,3.141592653589793238462643383279]}";
    assert_eq!(run(".", text), Ok(vec![text.to_owned()]));
    check(&[
        (".id", "{\"id\":9007199254740993}", &["9007199254740993"]),
        (".id + 1", "{\"id\":9007199254740993}", &["9007199254740994"]),
        ("[.[] | tojson]", "[1.10]", &["[\"1.10\"]"]),
    ]);
}

#[test]
fn what_rote_adds_is_there() {
    check(&[
        (".scores | sum, avg, min, max", "{\"scores\":[1,2,6]}", &["9", "3", "1", "6"]),
        ("avg", "[1,2]", &["1.5"]),
        ("avg, sum", "[]", &["null", "null"]),
        ("upper, lower", "\"Ärger\"", &["\"ÄRGER\"", "\"ärger\""]),
    ]);
}

#[test]
fn nothing_outside_is_reachable() {
    let programs = [
        "input",
        "inputs",
        "env",
        "$ENV",
        "now",
        "localtime",
        "strflocaltime(\"%Y\")",
        "stderr",
        "halt",
        "halt(1)",
        "halt_error",
        "input_filename",
        "import \"a\" as a; .",
        "include \"a\"; .",
        "$__prog_args",
        "get_search_list",
    ];
    for program in programs {
        let result = run(program, "null");
        assert!(matches!(result, Err(Failure::Syntax(_))), "{program}: {result:?}");
    }
}

#[test]
fn a_program_that_does_not_parse_says_what_and_where() {
    let rows = [
        (".a | input", "unknown function `input/0` at column 6"),
        (".a |", "expected term at the end of the program"),
        ("map(.x", "expected closing parenthesis"),
        (".a ]", "expected"),
        ("$x", "unknown variable `$x` at column 1"),
        (".a\n| nope(1)", "unknown function `nope/1` at line 2, column 3"),
        ("\"abc", "expected"),
        ("", "expected term at the end of the program"),
    ];
    for (program, expected) in rows {
        match run(program, "null") {
            Err(Failure::Syntax(message)) => {
                assert!(message.contains(expected), "{program}: {message}")
            }
            other => panic!("{program}: {other:?}"),
        }
    }
    let long = format!("{}.", " ".repeat(MAX_PROGRAM_BYTES));
    assert!(matches!(run(&long, "null"), Err(Failure::Syntax(_))));
}

#[test]
fn runtime_errors_carry_the_message_and_stay_short() {
    assert_eq!(run("error(\"broken\")", "null"), Err(Failure::Runtime("broken".to_owned())));
    match run(".[] | .a", "[1]") {
        Err(Failure::Runtime(message)) => {
            assert_eq!(message, "Cannot index number with string (\"a\")")
        }
        other => panic!("{other:?}"),
    }
    match run("error", &format!("\"{}\"", "é".repeat(5_000))) {
        Err(Failure::Runtime(message)) => assert_eq!(message.chars().count(), 401),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert_eq!(run("{(1 | tojson): 1}", "null"), Ok(vec!["{\"1\":1}".to_owned()]));
    assert!(matches!(run("{(1): 1}", "null"), Err(Failure::Runtime(_))));
}

#[test]
fn input_that_is_not_json_is_refused() {
    for text in ["", "{", "{\"a\":}", "nope", "[1] [2]", "{\"a\":1"] {
        assert!(matches!(run(".", text), Err(Failure::Input(_))), "{text}");
    }
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
    assert!(matches!(run(".", &deep), Err(Failure::Input(_))));
    let fine = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert_eq!(run(".", &fine), Ok(vec![fine]));
}

#[test]
fn output_is_bounded() {
    assert_eq!(evaluate("repeat(1)", b"null".to_vec(), 1_000), Err(Failure::OutputLimit));
    assert_eq!(evaluate("[range(1000)]", b"null".to_vec(), 1_000), Err(Failure::OutputLimit));
    assert_eq!(evaluate("\"abc\"", b"null".to_vec(), 5), Ok(vec!["\"abc\"".to_owned()]));
    assert!(matches!(run("reduce range(600) as $i (.; [.])", "null"), Err(Failure::Runtime(_))));
}

#[test]
fn a_word_of_the_grammar_is_a_key() {
    check(&[
        ("{reduce: 1, foreach: 2, if: 3, and: 4}", "null", &["{\"reduce\":1,\"foreach\":2,\"if\":3,\"and\":4}"]),
        ("{reduce: (1 as $x | $x)}", "null", &["{\"reduce\":1}"]),
        (".[] as {reduce: $x} | $x", "[{\"reduce\":1}]", &["1"]),
        ("reduce .[] as {reduce: $x} (0; . + $x)", "[{\"reduce\":1}]", &["1"]),
        (".reduce, .foreach", "{\"reduce\":1}", &["1", "null"]),
    ]);
}

#[test]
fn a_number_has_one_sign() {
    for text in ["+-5", "-+5", "--5", "---nan", "--nan"] {
        let words = format!("string (\\\"{text}\\\") cannot be parsed as a number");
        check(&[("try tonumber catch .", &format!("\"{text}\""), &[&format!("\"{words}\"")])]);
    }
    check(&[("tonumber", "\"+5\"", &["5"]), ("tonumber", "\"-nan\"", &["null"])]);
}

#[test]
fn an_array_is_not_longer_than_memory() {
    check(&[
        ("try (.[nan] = 9) catch .", "[1]", &["\"Cannot set array element at NaN index\""]),
        ("try (.[nan] = 9) catch .", "null", &["\"Cannot set array element at NaN index\""]),
        ("try (.[infinite] = 9) catch .", "null", &["\"Array index too large\""]),
        (".[nan]", "[1]", &["null"]),
    ]);
}

#[test]
fn alternatives_in_alternatives_are_counted_as_a_whole() {
    let nested = (0..20).fold("1".to_owned(), |body, _| format!(". as [$a] ?// $a | ({body})"));
    let Err(Failure::Syntax(words)) = run(&nested, "1") else { panic!("it was taken") };
    assert_eq!(words, "its alternatives (`?//`) repeat too much");
}

#[test]
fn what_is_evaluated_directly_gives_what_jaq_gives() {
    let terms = [
        "[.[] | select(.a % 2 == 0) | .b.c]",
        "[.[].b?, 1]",
        "[.[] | .b.c?]",
        "[.[]?.a]",
        "[.[] | {a, \"x\": .b, y: [.a]}]",
        "[.[] | select(.a > 1 and (.b | not) or .a == null) | .a]",
        "[.[] | .a * 2 + 1]",
        "[.[] | .a / 0]",
        "[.[0].b, .[-1].a, .[1:]]",
        "[.[] | .a, .b]",
        "[.[] | .a.b.c]",
        "[.a]",
        ".a == .b",
        "[.[] | select((.a, .b) == 1)]",
        "[path(.[] | select(.a == 1))]",
        "try path([.a]) catch \"no path\"",
        "map(select(.a >= 1)) | [.[] | .a] | length",
        "[.[] | \"x\" * .a]",
    ];
    let inputs = [
        "[{\"a\":1,\"b\":{\"c\":3}},{\"a\":2,\"b\":{\"c\":null}},{\"a\":4,\"b\":null}]",
        "{\"a\":{\"a\":1},\"b\":{\"a\":\"x\",\"b\":false}}",
        "[1,[2],null]",
        "null",
        "7",
        "[{\"a\":1.5,\"b\":1e3}]",
    ];
    for term in terms {
        for input in inputs {
            // Below a definition nothing is evaluated directly.
            assert_eq!(run(term, input), run(&format!("def unused: 1; {term}"), input), "{term} on {input}");
        }
    }
}

#[test]
fn a_name_that_a_program_defines_is_its_own() {
    check(&[
        ("def select(f): 5; [.[] | select(.)]", "[1]", &["[5]"]),
        ("[.[] | (def not: 6; not)]", "[1]", &["[6]"]),
        ("[def select(f): 5; .[] | select(.)]", "[1]", &["[5]"]),
    ]);
}
