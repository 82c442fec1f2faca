//! Queries: sugar, unwrapping, saving with provenance, errors that name the real cause, the log.

use rote_types::{Classify, ErrorKind};
use serde_json::json;

use super::support::{Setup, failed, http, json_body};
use crate::{QuerySource, Tokenizer, WorkspaceError};

#[test]
fn sugar_works_on_stored_bodies() {
    let setup = Setup::new();
    let id = setup.record(json_body("{\"a\":{\"b\":[1,2]},\"items\":[{\"n\":\"x\"}]}"));
    let rows: &[(&str, &[&str])] = &[
        ("$", &["{\"a\":{\"b\":[1,2]},\"items\":[{\"n\":\"x\"}]}"]),
        ("$.a.b[1]", &["2"]),
        ("$ | .items[] | .n", &["\"x\""]),
        ("items[0].n", &["\"x\""]),
        (".a.b | add", &["3"]),
        (".a.b[] | select(. == $.a.b[0])", &["1"]),
    ];
    for (program, expected) in rows {
        assert_eq!(setup.query(id, program, None).values, *expected, "{program}");
    }
}

#[test]
fn output_is_indented_without_touching_numbers_and_raw_strings_are_bare() {
    let setup = Setup::new();
    let id = setup.record(json_body("{\"a\":[1.10,{}],\"s\":\"x\\n{\",\"big\":123456789012345678901234567890}"));
    let result = setup.query(id, ".", None);
    let expected =
        "{\n  \"a\": [\n    1.10,\n    {}\n  ],\n  \"s\": \"x\\n{\",\n  \"big\": 123456789012345678901234567890\n}";
    assert_eq!(result.text(false), expected);
    assert_eq!(setup.query(id, ".s, .a[0]", None).text(true), "x\n{\n1.10");
    assert_eq!(setup.query(id, ".s", None).text(false), "\"x\\n{\"");
}

#[test]
fn an_mcp_envelope_is_unwrapped_on_request() {
    let setup = Setup::new();
    let id =
        setup.record(json_body("{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1,\\\"content\\\":2}\"}]}"));
    let ask = |program: &str| setup.ask(QuerySource::Response(id), program, None, true).map(|result| result.values);
    assert_eq!(ask(".a").unwrap(), ["1"]);
    assert_eq!(ask("content").unwrap(), ["{\"a\":1,\"content\":2}"]);
    assert_eq!(ask(".content").unwrap(), ["2"]);
    let words = setup.record(json_body("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}}"));
    assert_eq!(setup.ask(QuerySource::Response(words), ".", None, true).unwrap().values, ["\"hello\""]);
    let plain = setup.record(json_body("{\"a\":1}"));
    let error = setup.ask(QuerySource::Response(plain), ".a", None, true).unwrap_err();
    assert!(matches!(error, WorkspaceError::Query { source } if source.to_string().contains("ask without -m")));
}

#[test]
fn a_saved_result_is_a_variable_with_provenance() {
    let setup = Setup::new();
    let id = setup.record(json_body("{\"items\":[{\"id\":7},{\"id\":8}]}"));
    let saved = setup.query(id, "items[0].id", Some("first")).saved.unwrap();
    assert_eq!((saved.value, saved.source_response), (json!(7), Some(id)));
    assert_eq!(saved.source_query.as_deref(), Some(".items[0].id"));
    let several = setup.query(id, ".items[].id", Some("ids")).saved.unwrap();
    assert_eq!(several.value, json!([7, 8]));
    let nothing = setup.ask(QuerySource::Response(id), "empty", Some("x"), false);
    assert!(matches!(nothing, Err(WorkspaceError::NotOneValue { count: 0, .. })));
    assert_eq!(setup.workspace.vars().unwrap().len(), 2);
}

#[test]
fn a_variable_can_be_the_root_or_a_value_in_a_query() {
    let setup = Setup::new();
    let id = setup.record(json_body("{\"owner\":{\"name\":\"x\"},\"items\":[{\"by\":\"x\"},{\"by\":\"y\"}]}"));
    setup.query(id, ".owner", Some("owner"));
    assert_eq!(setup.query(id, "$owner.name", None).values, ["\"x\""]);
    assert_eq!(setup.query(id, ".items | map(select(.by == $owner.name)) | length", None).values, ["1"]);
    assert_eq!(setup.query(id, "3 as $owner | $owner", None).values, ["3"]);
    let root = setup.ask(QuerySource::Variable("owner".to_owned()), ".name", None, false).unwrap();
    assert_eq!(root.values, ["\"x\""]);
    let missing = setup.ask(QuerySource::Variable("nope".to_owned()), ".", None, false).unwrap_err();
    assert_eq!((missing.kind(), missing.hint()), (ErrorKind::NotFound, Some("rote set nope=VALUE".to_owned())));
    assert_eq!(setup.ask(QuerySource::Response(id), "$unset", None, false).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn standard_input_is_json_or_else_one_string() {
    let setup = Setup::new();
    let ask =
        |text: &[u8], program: &str| setup.ask(QuerySource::Text(text.to_vec()), program, None, false).unwrap().values;
    assert_eq!(ask(b" {\"a\": 1}\n", ".a"), ["1"]);
    assert_eq!(ask(b"plain text", "length"), ["10"]);
}

#[test]
fn a_query_on_a_call_without_an_answer_is_refused_and_shows_why() {
    let setup = Setup::new();
    let id = setup.record(failed("upstream", "it could not be reached"));
    let error = setup.ask(QuerySource::Response(id), ".id", None, false).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Upstream,
            "the call of `@1` got no answer (it could not be reached), so the query has nothing to read"
        )
    );
    assert!(setup.query(id, ".", None).values[0].contains("it could not be reached"));
}

#[test]
fn a_query_that_cannot_be_logged_is_answered() {
    let setup = Setup::new();
    let id = setup.record(json_body("{\"a\": 1}"));
    let read_only = |on: bool| {
        let sql = format!("PRAGMA query_only = {on}");
        setup.workspace.with("allow no write", |connection| connection.execute_batch(&sql)).unwrap();
    };
    read_only(true);
    let result = setup.query(id, ".a", None);
    assert_eq!((result.values.as_slice(), result.command), (&["1".to_owned()][..], None));
    assert!(result.unlogged.is_some_and(|why| why.starts_with("cannot log the query")));
    assert!(setup.ask(QuerySource::Response(id), ".a", Some("x"), false).is_err(), "what is to be saved is");
    read_only(false);
    assert!(setup.query(id, ".a", None).command.is_some());
}

#[test]
fn a_query_on_an_error_response_says_so() {
    let setup = Setup::new();
    let id = setup.record(http(404, "application/json", b"{\"message\":\"Not Found\"}"));
    let result = setup.query(id, ".message", None);
    assert_eq!(result.source_error.as_deref(), Some("`@1` is an error response: HTTP 404: Not Found"));
    let error = setup.ask(QuerySource::Response(id), ".message.id", None, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(error.to_string(), "response `@1` is an error (HTTP 404: Not Found), so the query has nothing to read");
    assert_eq!(setup.ask(QuerySource::Response(id), ".[", None, false).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn every_query_is_logged_and_tokens_are_counted_later() {
    let setup = Setup::new();
    let rows: Vec<String> = (0..200).map(|n| format!("{{\"id\":{n},\"name\":\"thing number {n}\"}}")).collect();
    let id = setup.record(json_body(&format!("[{}]", rows.join(","))));
    setup.query(id, ".[0].name", None);
    setup.ask(QuerySource::Text(b"[1,2,3]".to_vec()), "length", None, false).unwrap();
    let before = setup.workspace.queries().unwrap();
    assert_eq!((before[0].source_tokens, before[0].tokens_saved()), (None, None));
    assert_eq!(setup.workspace.count_tokens(Tokenizer).unwrap(), 4);
    assert_eq!(setup.workspace.count_tokens(Tokenizer).unwrap(), 0);
    let queries = setup.workspace.queries().unwrap();
    let summary = setup.workspace.summary(id).unwrap();
    assert_eq!(queries[0].source_tokens, summary.response_tokens);
    assert_eq!(queries[0].result_tokens, Some(Tokenizer.count("\"thing number 0\"")));
    assert!(queries[0].tokens_saved().unwrap() > 1_000);
    assert_eq!(queries[1].source_tokens, Some(Tokenizer.count("[1,2,3]")));
    let stats = setup.workspace.stats().unwrap();
    assert_eq!(stats.tokens_saved, queries.iter().filter_map(crate::QueryRecord::tokens_saved).sum::<u64>());
    assert_eq!((stats.queries, stats.responses, stats.encoding), (2, 1, "o200k_base"));
    // The body is the same after its file got the counts.
    assert_eq!(setup.body(id).as_json(), format!("[{}]", rows.join(",")));
}
