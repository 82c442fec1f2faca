//! Keys of every type in values of every type, where a program can take one: read, asked for, bound, assigned, deleted.

use super::{check, run};

/// Values, and what jq calls their types.
const VALUES: [(&str, &str); 7] = [
    ("null", "null"),
    ("true", "boolean"),
    ("7", "number"),
    ("\"abc\"", "string"),
    ("[5,6]", "array"),
    ("{\"a\":1}", "object"),
    ("{\"start\":0,\"end\":1}", "object"),
];

/// Keys, their types, and what they give in the values above; none where jq has an error.
const KEYS: [(&str, &str, [Option<&str>; 7]); 8] = [
    ("null", "null", [None; 7]),
    ("true", "boolean", [None; 7]),
    ("0", "number", [Some("null"), None, None, None, Some("5"), None, None]),
    ("1.7", "number", [Some("null"), None, None, None, Some("6"), None, None]),
    ("-3", "number", [Some("null"), None, None, None, Some("null"), None, None]),
    ("\"a\"", "string", [Some("null"), None, None, None, None, Some("1"), Some("null")]),
    ("[6]", "array", [None, None, None, None, Some("[1]"), None, None]),
    ("{\"start\":1,\"end\":null}", "object", [Some("null"), None, None, Some("\"bc\""), Some("[6]"), None, None]),
];

#[track_caller]
fn gives(program: &str, input: &str, expected: &str) {
    check(&[(program, input, &[expected])]);
}

#[test]
fn a_key_fits_a_value_or_is_an_error_everywhere() {
    for (key, key_type, found) in KEYS {
        for ((value, value_type), found) in VALUES.into_iter().zip(found) {
            let words = format!("Cannot index {value_type} with {key_type} ({key})").replace('"', "\\\"");
            let wanted = found.map_or_else(|| format!("\"{words}\""), str::to_owned);
            for read in
                [".[KEY]", "KEY as $k | .[$k]", ".[KEY | .]", "getpath([KEY])", "[.] | .[0][KEY]", "[.[KEY]][0]"]
            {
                gives(&format!("try ({read}) catch .").replace("KEY", key), value, &wanted);
            }
            let none_or_one = |one: &str| found.map_or_else(|| "[]".to_owned(), |_| format!("[{one}]"));
            for read in ["[.[KEY]?]", "[try .[KEY]]", "[getpath([KEY])?]", "[.[KEY | .]?]"] {
                gives(&read.replace("KEY", key), value, &none_or_one(found.unwrap_or_default()));
            }
            for path in ["[path(.[KEY]?)]", "[path(getpath([KEY]))?]", "[try path(.[KEY | .])]"] {
                gives(&path.replace("KEY", key), value, &none_or_one(&format!("[{key}]")));
            }
            let pattern = format!("[. as {{({key}): $x}} ?// $y | $x]");
            gives(&pattern, value, &found.map_or_else(|| "[null]".to_owned(), |found| format!("[{found}]")));
            if found.is_none() {
                for change in [".[KEY] = 1", ".[KEY] |= 1", ".[KEY] += 1", "del(.[KEY])", "to_entries, .[KEY] //= 1"] {
                    let program = change.replace("KEY", key);
                    assert!(run(&program, value).is_err(), "{program} on {value}");
                }
            }
        }
    }
}

#[test]
fn has_asks_objects_for_strings_and_arrays_for_numbers() {
    for (key, key_type, _) in KEYS {
        for (value, value_type) in VALUES {
            let answer = match (value_type, key_type) {
                ("null", _) => "false".to_owned(),
                ("object", "string") => value.contains("\"a\"").to_string(),
                ("array", "number") => (!key.starts_with('-')).to_string(),
                _ => format!("\"Cannot check whether {value_type} has a {key_type} key\""),
            };
            gives(&format!("try has({key}) catch ."), value, &answer);
            gives(&format!(". as $v | {key} | try in($v) catch ."), value, &answer);
        }
    }
}

#[test]
fn only_arrays_and_objects_are_iterated() {
    check(&[
        ("[.[] | try .[] catch .]", "[[1],{\"a\":2}]", &["[1,2]"]),
        ("try .[] catch .", "null", &["\"Cannot iterate over null (null)\""]),
        ("try [.[]] catch .", "7", &["\"Cannot iterate over number (7)\""]),
        ("try map(.) catch .", "\"a\"", &["\"Cannot iterate over string (\\\"a\\\")\""]),
        ("try path(.[]) catch .", "true", &["\"Cannot iterate over boolean (true)\""]),
        ("[.[]?], [path(.[]?)], [.[].a?]", "[{\"a\":1},7]", &["[{\"a\":1},7]", "[[0],[1]]", "[1]"]),
        ("[.[]?], [path(.[]?)]", "7", &["[]", "[]"]),
    ]);
}

#[test]
fn a_pattern_that_does_not_fit_gives_way_to_the_next() {
    check(&[
        (".[] as [$x] ?// {a: $x} | $x", "[{\"a\":1}]", &["1"]),
        (".[] as {a: $x} ?// [$x] | $x", "[{\"a\":1},[2]]", &["1", "2"]),
        (".[] as [[$x]] ?// [{a: $x}] ?// $x | $x", "[[[1]],[{\"a\":2}],3]", &["1", "2", "3"]),
        ("try (. as [$x] | $x) catch .", "{}", &["\"Cannot index object with number (0)\""]),
        ("try (. as {a: $x} | $x) catch .", "[]", &["\"Cannot index array with string (\\\"a\\\")\""]),
        (". as [$x, {a: [$y]}] | [$x, $y]", "null", &["[null,null]"]),
        ("reduce .[] as [$x] (0; . + $x)", "[[1],[2]]", &["3"]),
        ("try (reduce .[] as [$x] (0; . + $x)) catch .", "[[1],{}]", &["\"Cannot index object with number (0)\""]),
    ]);
}

#[test]
fn keys_read_the_input_of_the_path_and_the_last_change_last() {
    check(&[
        (".a[.b]", "{\"a\":[5,6],\"b\":1}", &["6"]),
        (".a[.b:]", "{\"a\":[5,6],\"b\":1}", &["[6]"]),
        ("[.[0,1][0,1]]", "[[1,2],[3,4]]", &["[1,3,2,4]"]),
        ("[(.[0], .[1])[0,1]]", "[[1,2],[3,4]]", &["[1,3,2,4]"]),
        ("[path(.a[.b])]", "{\"a\":[5,6],\"b\":1}", &["[[\"a\",1]]"]),
        ("[path(.[1.7], .[1.2:2.5])]", "null", &["[[1.7],[{\"start\":1.2,\"end\":2.5}]]"]),
        ("try (.[] | first) catch .", "[{\"a\":1}]", &["\"Cannot index object with number (0)\""]),
        ("try getpath(\"a\") catch .", "{\"a\":1}", &["\"Path must be specified as an array\""]),
        ("try .[{}] catch .", "[1]", &["\"Start and end indices of an array slice must be numbers\""]),
        ("try (.[\"a\":]) catch .", "[1]", &["\"Start and end indices of an array slice must be numbers\""]),
        ("path(getpath([\"a\",0]) | .b)", "null", &["[\"a\",0,\"b\"]"]),
    ]);
}
