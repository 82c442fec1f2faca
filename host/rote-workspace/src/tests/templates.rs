//! Templates against a real workspace: types, provenance, and everything that is missing at once.

use rote_types::{Classify, ErrorKind};
use serde_json::{Value, json};

use super::support::{Setup, at, failed, json_body};
use crate::{Dependency, DependencyType, TemplateProblem, WorkspaceError};

fn problems(setup: &Setup, template: &Value) -> Vec<TemplateProblem> {
    match setup.workspace.render(&setup.engine, template) {
        Err(WorkspaceError::Template { problems }) => problems,
        other => panic!("{other:?}"),
    }
}

#[test]
fn whole_references_keep_their_type_and_embedded_ones_become_text() {
    let setup = Setup::new();
    setup.record(json_body("{\"id\":7,\"tags\":[\"a\"],\"name\":\"x\",\"on\":false}"));
    setup.workspace.set_var("n", json!(3), at(1)).unwrap();
    setup.workspace.set_var("s", json!("text"), at(1)).unwrap();
    let rows = [
        (json!("@1{.id}"), json!(7)),
        (json!("@1{.tags}"), json!(["a"])),
        (json!("@1{.on}"), json!(false)),
        (json!("@1{.tags | length}"), json!(1)),
        (json!("@1{id}"), json!(7)),
        (json!("@1"), json!({"id": 7, "tags": ["a"], "name": "x", "on": false})),
        (json!("$n"), json!(3)),
        (json!("n=$n, s=$s"), json!("n=3, s=text")),
        (json!("tags=@1{.tags} id=@1{.id}"), json!("tags=[\"a\"] id=7")),
        (json!("$$n is $n"), json!("$n is 3")),
        (json!({"a": ["$s", {"b": "@1{.name}"}], "c": 5}), json!({"a": ["text", {"b": "x"}], "c": 5})),
        (json!({"$s": "me@1and1.com"}), json!({"$s": "me@1and1.com"})),
        (json!("@1{.missing // null}"), json!(null)),
        (json!("@1{.missing // \"d\"}"), json!("d")),
    ];
    for (template, expected) in rows {
        let rendered = setup.workspace.render(&setup.engine, &template).unwrap();
        assert_eq!(rendered.value, expected, "{template}");
    }
}

#[test]
fn uses_carry_pointer_response_query_and_variable() {
    let setup = Setup::new();
    let id = setup.record(json_body("{\"items\":[{\"id\":7}]}"));
    setup.query(id, "items[0].id", Some("item"));
    setup.workspace.set_var("by_hand", json!(1), at(1)).unwrap();
    let template = json!({"a/b": "$item", "list": ["x", "@1{.items | length}"], "whole": "@1", "v": "$by_hand"});
    let uses = setup.workspace.render(&setup.engine, &template).unwrap().uses;
    let entry = |pointer: &str, query: Option<&str>, variable: Option<&str>, kind| Dependency {
        target_field_path: pointer.to_owned(),
        source_response: (kind != DependencyType::Variable).then_some(id),
        source_query: query.map(str::to_owned),
        variable_name: variable.map(str::to_owned),
        dependency_type: kind,
    };
    let expected = [
        entry("/a~1b", Some(".items[0].id"), Some("item"), DependencyType::QueryReadResult),
        entry("/list/1", Some(".items | length"), None, DependencyType::QueryReadResult),
        entry("/whole", None, None, DependencyType::Response),
        entry("/v", None, Some("by_hand"), DependencyType::Variable),
    ];
    assert_eq!(uses, expected);
    let mut call = super::support::call("use");
    call.uses = uses.clone();
    let (command, _) = setup.workspace.begin_call(&call).unwrap();
    let stored = setup.workspace.dependencies().unwrap();
    assert!(stored.iter().all(|row| row.command_sequence == command));
    assert_eq!(stored.into_iter().map(|row| row.dependency).collect::<Vec<_>>(), uses);
}

#[test]
fn everything_that_is_missing_is_reported_at_once() {
    let setup = Setup::new();
    setup.record(json_body("{\"a\":null,\"list\":[1,2]}"));
    setup.record(failed("upstream", "refused"));
    let (_, pending) = setup.workspace.begin_call(&super::support::call("x")).unwrap();
    assert_eq!(pending.0, 3);
    let template = json!({
        "one": "$owner and ${repo}",
        "two": ["@9", "@1{.a}", "@1{.list[]}", "@1{.x.y", "@1{.[}"],
        "three": "@3",
        "four": "@2{.error.kind.id}",
        "five": "@1{.url | ltrimstr(\"https://\")}",
        "fine": "@1{.list[0]}",
    });
    let found = problems(&setup, &template);
    let places: Vec<(&str, &str)> =
        found.iter().map(|problem| (problem.pointer.as_str(), problem.reference.as_str())).collect();
    assert_eq!(
        places,
        [
            ("/one", "$owner"),
            ("/one", "${repo}"),
            ("/two/0", "@9"),
            ("/two/1", "@1{.a}"),
            ("/two/2", "@1{.list[]}"),
            ("/two/3", "@1{.x.y"),
            ("/two/4", "@1{.[}"),
            ("/three", "@3"),
            ("/four", "@2{.error.kind.id}"),
            ("/five", "@1{.url | ltrimstr(\"https://\")}"),
        ]
    );
    let error = setup.workspace.render(&setup.engine, &template).unwrap_err();
    assert_eq!((error.kind(), error.hint()), (ErrorKind::NotFound, Some("rote set owner=VALUE".to_owned())));
    assert_eq!(error.details().unwrap()["missing"].as_array().unwrap().len(), 10);
    assert!(found[4].reason.contains("2 values"), "{found:?}");
}
