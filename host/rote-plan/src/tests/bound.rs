//! Variables of jq programs, and steps that only come after others.

use super::*;

fn bound(jq: &str, values: Value) -> Value {
    json!({"$from": {"step": "list", "jq": jq, "with": values}})
}

/// Runs `get` with an argument `x` behind `list`.
fn given(x: Value, parameters: Value) -> (Ran<Fake>, Fake) {
    let plan = plan(json!({
        "version": 1,
        "parameters": {"p": {}, "q": {"default": 7}},
        "steps": [step("list", "list", json!({})), step("get", "echo", json!({ "x": x }))],
        "result": from("get", ".x"),
    }));
    let mut fake = answering(&[("list", json!({"id": 3, "none": null}))]);
    (run(&plan, &object(parameters), &mut fake), fake)
}

#[test]
fn a_variable_that_is_not_well_formed_is_refused_with_its_reason() {
    let many: Map<String, Value> = (0..=MAX_VARIABLES).map(|n| (format!("v{n}"), json!({"$param": "p"}))).collect();
    let cases = [
        (json!({"n": {"$from": {"step": "a", "jq": "."}}}), "steps wait for each other: `a`"),
        (json!({"n": {"$from": {"step": "z", "jq": "."}}}), "`a` refers to step `z`"),
        (json!({"n": {"$param": "q"}}), "`a` refers to parameter `q`, which is not declared"),
        (json!({"n": {"$item": "."}}), "`$from` is not well formed: unknown variant `$item`"),
        (json!({"n": 1}), "`$from` is not well formed"),
        (json!({"a-b": {"$param": "p"}}), "`a` binds `a-b`, which is not a variable of jq"),
        (json!({"1": {"$param": "p"}}), "`a` binds `1`, which is not a variable of jq"),
        (json!({"": {"$param": "p"}}), "`a` binds ``, which is not a variable of jq"),
        (many.into(), "too many variables in a jq program: at most 20"),
    ];
    for (values, expected) in cases {
        let steps = [step("list", "t", json!({})), step("a", "t", json!({"x": bound("$n", values.clone())}))];
        let value = json!({"version": 1, "parameters": {"p": {}}, "steps": steps, "result": 1});
        let error = Plan::parse(value.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{values} gave {error}");
    }
    let mut deep = json!({"$param": "p"});
    for _ in 0..MAX_DEPTH {
        deep = bound(".", json!({ "n": deep }));
    }
    let value = json!({"version": 1, "parameters": {"p": {}}, "steps": [step("list", "t", json!({}))], "result": deep});
    assert!(Plan::parse(value.to_string().as_bytes()).is_err());
}

#[test]
fn a_program_is_given_its_variables_as_data() {
    let param = |name: &str| json!({ "$param": name });
    for (values, parameters, expected) in [
        (json!({"n": param("p")}), json!({"p": -5}), "(-5) as $n | .[$n]"),
        (json!({"n": param("p")}), json!({"p": "a \"b\" \\(1)"}), r#"("a \"b\" \\(1)") as $n | .[$n]"#),
        (json!({"n": param("q"), "m": from("list", ".id")}), json!({}), "(3) as $m | (7) as $n | .[$n]"),
        (json!({"n": param("p")}), json!({"p": {"a": [1]}}), r#"({"a":[1]}) as $n | .[$n]"#),
        (json!({"n": bound(".", json!({"m": param("q")}))}), json!({}), r#"("(7) as $m | .") as $n | .[$n]"#),
    ] {
        assert_eq!(given(bound(".[$n]", values.clone()), parameters).0.unwrap().result, json!(expected), "{values}");
    }
    for (values, expected) in [
        (json!({"n": param("p")}), "parameter `p` was not given"),
        (json!({"n": from("list", ".none")}), "`.none` of step `list` is null"),
        (json!({"n": from("list", "empty")}), "`empty` of step `list` has no output"),
    ] {
        let error = given(bound(".[$n]", values), json!({})).0.unwrap_err();
        assert_eq!(error, RunError::Reference { by: "get".to_owned(), message: expected.to_owned() });
    }
    let error = given(bound(".[$n]", json!({"n": param("p")})), json!({"p": null})).0.unwrap_err();
    let message = "`$n` of `.[$n]` is null".to_owned();
    assert_eq!(error, RunError::Reference { by: "get".to_owned(), message });
}

#[test]
fn a_step_whose_variable_comes_from_a_skipped_one_is_skipped() {
    let mut skipped = step("found", "t", json!({}));
    skipped["when"] = json!({"any": []});
    let uses = step("get", "t", json!({"x": bound(".", json!({"n": from("found", ".id")}))}));
    let or = step("or", "echo", json!({"x": {"$default": [bound(".", json!({"n": from("found", ".id")})), 5]}}));
    let steps = [step("list", "t", json!({})), skipped, uses, or];
    let plan = plan(json!({"version": 1, "steps": steps, "result": from("or", ".x")}));
    let outcome = run(&plan, &Map::new(), &mut answering(&[("t", json!(1))])).unwrap();
    assert_eq!(outcome.steps["get"].because, ["found"]);
    assert_eq!(outcome.result, json!(5));
}

#[test]
fn a_step_after_a_skipped_one_runs_and_one_that_needs_it_does_not() {
    let mut skipped = step("maybe", "t", json!({}));
    skipped["when"] = json!({"any": []});
    let mut after = step("after", "t", json!({}));
    after["after"] = json!(["maybe", "slow"]);
    let mut needs = step("needs", "t", json!({}));
    needs["needs"] = json!(["maybe"]);
    let steps = [after, needs, skipped, step("slow", "t", json!({}))];
    let plan = plan(json!({"version": 1, "steps": steps, "result": 1}));
    let mut fake = answering(&[("t", json!(1))]);
    let outcome = run(&plan, &Map::new(), &mut fake).unwrap();
    let status = |step: &str| outcome.steps[step].status;
    assert_eq!((status("after"), status("needs")), (Status::Completed, Status::Skipped));
    let log = ["skipped maybe", "start slow", "skipped needs maybe", "done slow", "start after", "done after"];
    assert_eq!(fake.log, log);
    let again: Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
}

#[test]
fn what_a_step_comes_after_exists_and_does_not_wait_for_it() {
    for (other, expected) in [("z", "`a` refers to step `z`"), ("a", "steps wait for each other: `a`")] {
        let mut step = step("a", "t", json!({}));
        step["after"] = json!([other]);
        let value = json!({"version": 1, "steps": [step], "result": 1}).to_string();
        let error = Plan::parse(value.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
