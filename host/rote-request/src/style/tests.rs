//! The table of OpenAPI 3.1.1 §4.8.12.4, row by row, and the styles that other formats add.

use serde_json::{Value, json};

use super::*;

fn encoding(style: Style, explode: bool) -> Encoding {
    Encoding { style, explode, allow_reserved: false, content_type: None }
}

/// The four values of the specification's table: empty string, string, array, object.
fn table_values() -> [Value; 4] {
    [json!(""), json!("blue"), json!(["blue", "black", "brown"]), json!({ "R": 100, "G": 200, "B": 150 })]
}

fn query(value: &Value, encoding: &Encoding) -> String {
    let pairs = as_pairs("color", value, encoding);
    pairs.iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join("&")
}

#[test]
fn path_styles_follow_the_table() {
    let rows = [
        (Style::Matrix, false, [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"]),
        (Style::Matrix, true, [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"]),
        (Style::Label, false, [".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        (Style::Label, true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        (Style::Simple, false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (Style::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
    ];
    for (style, explode, expected) in rows {
        for (value, expected) in table_values().iter().zip(expected) {
            let encoding = encoding(style, explode);
            assert_eq!(in_path("color", value, &encoding), expected, "{encoding:?} {value}");
        }
    }
}

fn check_query(rows: &[(Style, bool, [&str; 4])]) {
    for (style, explode, expected) in rows {
        for (value, expected) in table_values().iter().zip(expected) {
            let encoding = encoding(*style, *explode);
            assert_eq!(query(value, &encoding), *expected, "{encoding:?} {value}");
        }
    }
}

#[test]
fn query_styles_follow_the_table() {
    let rows = [
        (Style::Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        (Style::Form, true, ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"]),
        (
            Style::SpaceDelimited,
            false,
            ["color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"],
        ),
        (
            Style::PipeDelimited,
            false,
            ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"],
        ),
    ];
    check_query(&rows);
}

#[test]
fn styles_of_other_formats_are_written_as_those_do() {
    let rows = [
        (
            Style::TabDelimited,
            false,
            ["color=", "color=blue", "color=blue%09black%09brown", "color=R%09100%09G%09200%09B%09150"],
        ),
        (
            Style::PipeDelimited,
            true,
            ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
        ),
        (
            Style::DeepObject,
            true,
            [
                "color=",
                "color=blue",
                "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ],
        ),
        (
            Style::Brackets,
            true,
            [
                "color=",
                "color=blue",
                "color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ],
        ),
    ];
    check_query(&rows);
}

#[test]
fn header_values_follow_the_simple_style_unescaped() {
    let rows = [
        (false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
    ];
    for (explode, expected) in rows {
        for (value, expected) in table_values().iter().zip(expected) {
            assert_eq!(in_header(value, &encoding(Style::Simple, explode)).as_deref(), Some(expected), "{value}");
        }
    }
    let spaced = in_header(&json!("a b/c"), &encoding(Style::Simple, false));
    assert_eq!(spaced.as_deref(), Some("a b/c"));
}

#[test]
fn undefined_values_are_left_out() {
    let undefined = [json!(null), json!([]), json!({}), json!([null]), json!({ "a": null })];
    let styles = [
        Style::Form,
        Style::SpaceDelimited,
        Style::PipeDelimited,
        Style::TabDelimited,
        Style::DeepObject,
        Style::Brackets,
    ];
    for value in &undefined {
        for style in styles {
            for explode in [false, true] {
                assert_eq!(query(value, &encoding(style, explode)), "", "{style:?} {explode} {value}");
            }
        }
        for style in [Style::Simple, Style::Label, Style::Matrix] {
            for explode in [false, true] {
                assert_eq!(in_path("p", value, &encoding(style, explode)), "", "{style:?} {explode} {value}");
            }
        }
        assert_eq!(in_header(value, &encoding(Style::Simple, false)), None, "{value}");
    }
}

#[test]
fn deep_objects_nest_and_count() {
    let value = json!({ "a": { "b": [{ "c": 1 }, { "c": true }] }, "d": [["x"]], "e": null, "f": "" });
    let expected = "color[a][b][0][c]=1&color[a][b][1][c]=true&color[d][0][0]=x&color[f]=";
    let actual = query(&value, &encoding(Style::DeepObject, true));
    assert_eq!(actual.replace("%5B", "[").replace("%5D", "]"), expected);
}

#[test]
fn names_written_with_brackets_keep_them() {
    let value = json!(["a", "b"]);
    for style in [Style::Form, Style::Brackets, Style::DeepObject] {
        let pairs = as_pairs("ids[]", &value, &encoding(style, true));
        let names: Vec<_> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ids%5B%5D", "ids%5B%5D"], "{style:?}");
    }
}

#[test]
fn values_inside_flat_styles_become_json() {
    let value = json!([{ "a": [1, 2] }, "x"]);
    assert_eq!(query(&value, &encoding(Style::Form, false)), "color=%7B%22a%22%3A%5B1%2C2%5D%7D,x");
}

#[test]
fn delimiters_inside_values_are_escaped() {
    let value = json!(["a,b", "c|d", "e f", "g&h=i", "j+k", "50%"]);
    assert_eq!(query(&value, &encoding(Style::Form, false)), "color=a%2Cb,c%7Cd,e%20f,g%26h%3Di,j%2Bk,50%25");
}

#[test]
fn reserved_characters_stay_where_the_description_allows_them() {
    let reserved = |style, explode| Encoding { allow_reserved: true, ..encoding(style, explode) };
    assert_eq!(query(&json!("a/b?c=d&e#f"), &reserved(Style::Form, true)), "color=a/b?c=d%26e%23f");
    assert_eq!(in_path("p", &json!("a:b/c?d"), &reserved(Style::Simple, false)), "a:b%2Fc%3Fd");
}

#[test]
fn content_types_decide_how_a_value_is_written() {
    let typed =
        |content_type: &str| Encoding { content_type: Some(content_type.to_owned()), ..encoding(Style::Form, true) };
    let cases = [
        (json!({ "a": 1 }), "application/json", "color=%7B%22a%22%3A1%7D"),
        (json!("x"), "application/json; charset=utf-8", "color=%22x%22"),
        (json!("x"), "application/vnd.api+json", "color=%22x%22"),
        (json!("x y"), "text/plain", "color=x%20y"),
        (json!(7), "text/plain", "color=7"),
    ];
    for (value, content_type, expected) in cases {
        assert_eq!(query(&value, &typed(content_type)), expected, "{content_type}");
    }
    let header = in_header(&json!({ "path": "/\u{e9}\u{1f600}" }), &typed("application/json"));
    assert_eq!(header.as_deref(), Some(r#"{"path":"/\u00e9\ud83d\ude00"}"#));
}
