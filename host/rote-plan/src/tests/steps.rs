//! Fan-out, conditions, failures that do not stop the run, and what becomes of the steps behind them.

use super::*;

/// A step with more keys.
fn with(mut step: Value, more: Value) -> Value {
    step.as_object_mut().unwrap().extend(object(more));
    step
}

fn each(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq, "each": true}})
}

fn compare(left: Value, op: &str, right: Value) -> Value {
    json!({"compare": {"left": left, "op": op, "right": right}})
}

fn exists(left: Value) -> Value {
    json!({"compare": {"left": left, "op": "exists"}})
}

fn or(first: Value, fallback: Value) -> Value {
    json!({"$default": [first, fallback]})
}

fn of(steps: &[Value], result: Value) -> Plan {
    plan(json!({"version": 1, "parameters": {"p": {}}, "steps": steps, "result": result}))
}

fn ran(plan: &Plan) -> (Ran<Fake>, Fake) {
    ran_with(plan, json!({}))
}

fn ran_with(plan: &Plan, parameters: Value) -> (Ran<Fake>, Fake) {
    let mut fake = answering(&[("list", json!([{"id": 7}, {"id": 8}, {"id": 9}])), ("t", json!(1))]);
    (run(plan, &object(parameters), &mut fake), fake)
}

fn status(outcome: &Outcome<usize, String>, step: &str) -> (Status, usize, usize) {
    let StepOutcome { status, responses, failures, .. } = &outcome.steps[step];
    (*status, responses.len(), failures.len())
}

#[test]
fn a_step_that_is_not_well_formed_is_refused_with_its_reason() {
    let when = |condition: Value| with(step("a", "t", json!({})), json!({"when": condition}));
    let fan = |more: Value| with(step("a", "t", json!({})), more);
    let cases = [
        (step("a", "t", json!({"x": {"$item": "."}})), "`a` uses `$item`, but only arguments of a `for_each` step may"),
        (step("a", "t", json!({"x": or(json!({"$index": true}), json!(0))})), "`a` uses `$index`"),
        (fan(json!({"for_each": [{"$item": "."}]})), "`a.for_each` uses `$item`"),
        (with(fan(json!({"for_each": []})), json!({"when": exists(json!({"$item": "."}))})), "`a.when` uses `$item`"),
        (fan(json!({"for_each": null})), "the `for_each` of step `a` is not an array"),
        (fan(json!({"for_each": {"x": {"$param": "p"}}})), "the `for_each` of step `a` is not an array"),
        (fan(json!({"for_each": vec![0; MAX_ITEMS + 1]})), "too many items: at most 1000"),
        (fan(json!({"for_each": from("a", ".")})), "steps wait for each other: `a`"),
        (fan(json!({"max_concurrency": 2})), "step `a` has a wrong `max_concurrency`"),
        (fan(json!({"for_each": [], "max_concurrency": 0})), "it is 1 to 16 and goes with `for_each`"),
        (fan(json!({"for_each": [], "max_concurrency": 17})), "it is 1 to 16 and goes with `for_each`"),
        (fan(json!({"for_each": [], "max_concurrency": null})), "the plan is not well formed"),
        (fan(json!({"on_error": "retry"})), "unknown variant `retry`"),
        (fan(json!({"foreach": []})), "unknown field `foreach`"),
        (when(json!(null)), "a condition is an object with one of"),
        (when(json!({"all": [], "any": []})), "a condition is an object with one of"),
        (when(json!({"all": {}})), "a condition is an object with one of"),
        (when(json!({"compare": {"left": 1, "op": "eq", "right": 1, "x": 1}})), "`compare` has an unknown key `x`"),
        (when(json!({"compare": {"op": "eq", "right": 1}})), "`compare` lacks its left side"),
        (when(compare(json!(1), "like", json!(1))), "the `op` of `compare` is one of `eq`, `ne`"),
        (when(json!({"compare": {"left": 1, "op": "eq"}})), "`eq` in step `a` lacks its right side"),
        (when(compare(json!(1), "exists", json!(1))), "`exists` in step `a` takes no right side"),
        (when(exists(json!({"$param": "q"}))), "`a` refers to parameter `q`, which is not declared"),
        (when(compare(json!(1), "eq", from("z", "."))), "`a` refers to step `z`"),
        (when(json!({"not": exists(from("a", "."))})), "steps wait for each other: `a`"),
        (step("a", "t", json!({"x": or(json!(1), from("a", "."))})), "steps wait for each other: `a`"),
        (step("a", "t", json!({"x": {"$default": [1]}})), "`$default` is a list of two"),
        (step("a", "t", json!({"x": {"$default": [1, 2, 3]}})), "`$default` is a list of two"),
        (step("a", "t", json!({"x": {"$index": false}})), "`$index` is not an expression"),
        (step("a", "t", json!({"x": {"$item": 1}})), "`$item` is not an expression"),
        (fan(json!({"for_each": [], "arguments": {"x": {"$item": "x".repeat(MAX_PROGRAM_BYTES + 1)}}})), "jq program"),
    ];
    for (step, expected) in cases {
        let value = json!({"version": 1, "parameters": {"p": {}}, "steps": [step], "result": 1}).to_string();
        let error = Plan::parse(value.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{} gave {error}", &value[..value.len().min(300)]);
    }
    let in_result = json!({"version": 1, "steps": [], "result": {"$index": true}});
    let error = Plan::parse(in_result.to_string().as_bytes()).unwrap_err();
    assert_eq!(error, PlanError::Item { by: "result".to_owned(), used: "$index" });
}

#[test]
fn conditions_are_bounded_in_depth() {
    let mut deep = exists(json!(1));
    for _ in 0..MAX_DEPTH {
        deep = json!({ "not": deep });
    }
    let value = json!({"version": 1, "steps": [with(step("a", "t", json!({})), json!({"when": deep}))], "result": 1});
    assert!(Plan::parse(value.to_string().as_bytes()).is_err());
    let mut condition = Condition::All(Vec::new());
    for _ in 0..MAX_DEPTH {
        condition = Condition::Not(Box::new(condition));
    }
    let arguments = Expression::Literal(json!({}));
    let step = Step { when: Some(condition), ..Step::new("a".to_owned(), "api".to_owned(), "t".to_owned(), arguments) };
    let result = Expression::Literal(Value::Null);
    let plan = Plan { version: VERSION, parameters: BTreeMap::new(), steps: vec![step], result };
    assert_eq!(plan.validate(), Err(PlanError::TooLarge { what: "levels of nesting", limit: MAX_DEPTH }));
}

#[test]
fn every_new_key_survives_a_round_trip_and_none_is_written_that_was_not_there() {
    let full = with(
        step("b", "t", json!({"x": {"$item": ".id"}, "n": {"$index": true}, "y": or(from("a", "."), json!(null))})),
        json!({
            "needs": ["a"],
            "when": {"all": [{"any": [exists(from("a", "."))]}, {"not": compare(json!(null), "eq", json!(null))}]},
            "for_each": or(each("a", ".[]"), json!([])),
            "max_concurrency": 3,
            "on_error": "continue",
        }),
    );
    let value = json!({"version": 1, "parameters": {}, "steps": [step("a", "t", json!({})), full], "result": 1});
    assert_eq!(serde_json::to_string(&plan(value.clone())).unwrap(), value.to_string());
}

#[test]
fn a_step_is_called_for_each_item_in_order_and_gives_an_array() {
    let arguments =
        json!({"id": {"$item": ".id"}, "n": {"$index": true}, "all": each("list", ".[]"), "whole": {"$item": "."}});
    let plan = of(
        &[
            step("list", "list", json!({})),
            with(step("get", "echo", arguments), json!({"for_each": each("list", ".[]")})),
            step("sum", "echo", json!({"ids": from("get", ".id"), "flat": each("get", ".all")})),
        ],
        from("sum", ".ids"),
    );
    let (outcome, fake) = ran(&plan);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.result, json!([7, 8, 9]));
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(status(&outcome, "get"), (Status::Completed, 3, 0));
    assert_eq!(
        fake.started[2].1,
        json!({"id": 8, "n": 1, "all": [{"id": 7}, {"id": 8}, {"id": 9}], "whole": {"id": 8}})
    );
    assert_eq!(
        fake.log[2..8],
        ["start get[0]", "start get[1]", "start get[2]", "done get[0]", "done get[1]", "done get[2]"]
    );
    assert!(fake.value_queries.is_empty(), "plain paths are not worth a call of the host");
}

#[test]
fn answers_that_come_in_another_order_are_put_in_item_order() {
    let fan = with(step("get", "echo", json!({"x": {"$item": "."}})), json!({"for_each": [1, 2, 3]}));
    let mut fake = Fake { pick: Some(Box::new(|waiting| waiting - 1)), ..Fake::default() };
    let outcome = run(&of(&[fan], from("get", ".x")), &Map::new(), &mut fake).unwrap();
    assert_eq!(outcome.result, json!([1, 2, 3]));
    assert_eq!(fake.log[3..6], ["done get[2]", "done get[1]", "done get[0]"]);
}

#[test]
fn at_most_so_many_items_run_at_once_and_the_next_starts_as_one_ends() {
    let fan = with(step("get", "echo", json!({})), json!({"for_each": [1, 2, 3], "max_concurrency": 2}));
    let (_, fake) = ran(&of(&[fan], json!(1)));
    let expected =
        ["start get[0]", "start get[1]", "done get[0]", "start get[2]", "done get[1]", "done get[2]", "completed get"];
    assert_eq!(fake.log, expected);
    let many = with(step("get", "echo", json!({})), json!({"for_each": vec![0; 30]}));
    let (_, fake) = ran(&of(&[many], json!(1)));
    assert_eq!(fake.log.iter().position(|line| line.starts_with("done")), Some(DEFAULT_CONCURRENCY));
}

#[test]
fn an_empty_array_is_a_step_that_completes_without_responses() {
    let plan = of(
        &[
            with(step("none", "t", json!({})), json!({"for_each": {"$param": "p"}})),
            step("after", "echo", json!({"x": from("none", ".id")})),
        ],
        from("after", ".x"),
    );
    let (outcome, fake) = ran_with(&plan, json!({"p": []}));
    let outcome = outcome.unwrap();
    assert_eq!(outcome.result, json!([]));
    assert_eq!(status(&outcome, "none"), (Status::Completed, 0, 0));
    assert_eq!(fake.log, ["completed none", "start after", "done after"]);
}

#[test]
fn a_for_each_that_is_no_array_or_too_long_fails_its_step() {
    let fan = with(step("get", "t", json!({})), json!({"for_each": {"$param": "p"}}));
    for (parameters, expected) in [
        (json!({"p": "text"}), "`for_each` is a text, not an array"),
        (json!({"p": vec![0; MAX_ITEMS + 1]}), "`for_each` has 1001 items, at most 1000 are allowed"),
        (json!({}), "`for_each` is a parameter that was not given"),
    ] {
        let (outcome, fake) = ran_with(&of(std::slice::from_ref(&fan), json!(1)), parameters.clone());
        assert_eq!(outcome, Err(RunError::Value { by: "get".to_owned(), message: expected.to_owned() }));
        assert_eq!(fake.log, ["fail get", "failed get"]);
        let forgiving = with(fan.clone(), json!({"on_error": "continue"}));
        let outcome = ran_with(&of(&[forgiving], json!(1)), parameters).0.unwrap();
        assert_eq!(status(&outcome, "get"), (Status::Failed, 0, 1));
    }
}

#[test]
fn the_item_is_picked_by_jq_and_by_the_host_where_jq_is_more_than_a_path() {
    for (program, item, expected) in [
        (".", json!(5), Ok(json!(5))),
        (".a.b", json!({"a": {"b": 5}}), Ok(json!(5))),
        (".a.b", json!({"a": null}), Err("`.a.b` of the item is null")),
        ("empty", json!(5), Err("`empty` of the item has no output")),
        ("both", json!(5), Err("`both` of the item has 2 outputs, one is needed")),
        (".[]", json!([5]), Ok(json!(5))),
    ] {
        let fan = with(step("get", "echo", json!({"x": {"$item": program}})), json!({"for_each": [item]}));
        let (outcome, fake) = ran(&of(&[fan], each("get", ".x")));
        match expected {
            Ok(value) => assert_eq!(outcome.unwrap().result, json!([value])),
            Err(message) => {
                assert_eq!(outcome, Err(RunError::Reference { by: "get[0]".to_owned(), message: message.to_owned() }));
            }
        }
        assert_eq!(fake.value_queries.is_empty(), program.starts_with(".") && program != ".[]", "{program}");
    }
    let fan = with(step("get", "echo", json!({"x": {"$item": "boom"}})), json!({"for_each": [1]}));
    let expected = RunError::Step { step: "get[0]".to_owned(), source: "boom".to_owned() };
    assert_eq!(ran(&of(&[fan], json!(1))).0, Err(expected));
}

#[test]
fn a_failed_item_stops_the_run_unless_the_step_says_to_continue() {
    let fan = with(
        step("get", "echo", json!({"fail": {"$item": "."}})),
        json!({"for_each": [false, true, false], "max_concurrency": 1}),
    );
    let (outcome, fake) = ran(&of(std::slice::from_ref(&fan), json!(1)));
    let expected = RunError::Step { step: "get[1]".to_owned(), source: "asked to fail".to_owned() };
    assert_eq!(outcome, Err(expected.clone()));
    assert_eq!(fake.log, ["start get[0]", "done get[0]", "start get[1]", "fail get[1]", "partial get"]);

    let fan = with(fan, json!({"on_error": "continue"}));
    let outcome = ran(&of(&[fan], or(from("get", ".fail"), json!([])))).0.unwrap();
    assert_eq!(outcome.status, RunStatus::Partial);
    assert_eq!(outcome.result, json!([false, false]), "what is there, in item order");
    let StepOutcome { status, responses, failures, because } = &outcome.steps["get"];
    assert_eq!((*status, because.len()), (Status::Partial, 0));
    assert_eq!(responses.keys().copied().collect::<Vec<_>>(), [Some(0), Some(2)]);
    assert_eq!(failures.iter().collect::<Vec<_>>(), [(&Some(1), &expected)]);
}

#[test]
fn a_step_behind_a_failed_one_is_blocked_unless_a_default_stands_in() {
    let bad = with(step("bad", "broken", json!({})), json!({"on_error": "continue"}));
    let plan = of(
        &[
            step("last", "t", json!({"x": from("hard", ".")})),
            bad,
            step("hard", "t", json!({"x": from("bad", ".")})),
            with(step("waits", "t", json!({})), json!({"needs": ["bad"]})),
            step("soft", "echo", json!({"x": or(from("bad", "."), json!("fallback"))})),
            step("free", "t", json!({})),
        ],
        json!({"soft": from("soft", ".x"), "hard": or(from("last", "."), or(from("hard", "."), from("free", ".")))}),
    );
    let (outcome, fake) = ran(&plan);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, RunStatus::Partial);
    assert_eq!(outcome.result, json!({"soft": "fallback", "hard": 1}));
    let expected = [
        "start bad",
        "start free",
        "fail bad",
        "blocked hard bad",
        "blocked waits bad",
        "start soft",
        "blocked last hard",
        "done free",
        "done soft",
    ];
    assert_eq!(fake.log, expected);
    assert_eq!(status(&outcome, "bad"), (Status::Failed, 0, 1));
    assert_eq!(status(&outcome, "last"), (Status::Blocked, 0, 0));
}

#[test]
fn a_result_that_needs_what_is_missing_names_it_and_the_failure_behind_it() {
    let bad = with(step("bad", "broken", json!({})), json!({"on_error": "continue"}));
    let plan = of(&[bad, step("after", "t", json!({"x": from("bad", ".")}))], json!([from("after", ".")]));
    let error = ran(&plan).0.unwrap_err();
    let source = "no answer for broken".to_owned();
    let cause = Some(Box::new(RunError::Step { step: "bad".to_owned(), source }));
    let (by, step_id) = ("result".to_owned(), "after".to_owned());
    assert_eq!(error.to_string(), "`result` needs step `after`, which is blocked; only a `$default` does without");
    assert_eq!(error, RunError::Missing { by, step: step_id, status: Status::Blocked, cause });

    let skipped = with(step("a", "t", json!({})), json!({"when": {"any": []}}));
    let error = ran(&of(&[skipped], from("a", "."))).0.unwrap_err();
    assert!(matches!(error, RunError::Missing { status: Status::Skipped, cause: None, .. }));
}

#[test]
fn a_partial_step_blocks_what_needs_all_of_it() {
    let fan = with(
        step("get", "echo", json!({"fail": {"$item": "."}})),
        json!({"for_each": [false, true], "on_error": "continue"}),
    );
    let plan = of(
        &[
            fan,
            step("whole", "t", json!({"x": from("get", ".fail")})),
            step("part", "echo", json!({"x": or(from("get", ".fail"), json!("no"))})),
        ],
        from("part", ".x"),
    );
    let outcome = ran(&plan).0.unwrap();
    assert_eq!(outcome.result, json!([false]));
    assert_eq!(status(&outcome, "whole").0, Status::Blocked);
}

#[test]
fn a_false_condition_skips_the_step_and_what_needs_it() {
    let plan = of(
        &[
            step("list", "list", json!({})),
            with(step("skip", "t", json!({})), json!({"when": compare(json!({"$param": "p"}), "eq", json!("yes"))})),
            step("behind", "t", json!({"x": from("skip", ".")})),
            step("beside", "echo", json!({"x": or(from("skip", "."), from("list", "."))})),
        ],
        or(from("behind", "."), json!("nothing")),
    );
    let (outcome, fake) = ran_with(&plan, json!({"p": "no"}));
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, &outcome.result), (RunStatus::Completed, &json!("nothing")));
    let expected = ["start list", "skipped skip", "skipped behind skip", "done list", "start beside", "done beside"];
    assert_eq!(fake.log, expected);
    let outcome = ran_with(&plan, json!({"p": "yes"})).0.unwrap();
    assert_eq!(outcome.result, json!(1));
}

#[test]
fn a_step_with_a_skipped_and_a_failed_need_is_blocked_by_the_failed_one_in_any_order() {
    let bad = with(step("bad", "broken", json!({})), json!({"on_error": "continue"}));
    let skipped = with(step("skip", "t", json!({})), json!({"when": {"any": []}}));
    let both = step("both", "t", json!({"x": from("skip", "."), "y": from("bad", "."), "z": from("bad", ".x")}));
    for steps in [[bad.clone(), skipped.clone(), both.clone()], [both, skipped, bad]] {
        let outcome = ran(&of(&steps, json!(1))).0.unwrap();
        assert_eq!(outcome.steps["both"].status, Status::Blocked);
        assert_eq!(outcome.steps["both"].because, ["bad"]);
    }
}

#[test]
fn exists_looks_at_steps_that_did_not_run_and_a_false_condition_beats_a_missing_need() {
    let bad = with(step("bad", "broken", json!({})), json!({"on_error": "continue"}));
    let plan = of(
        &[
            bad,
            with(step("repair", "t", json!({})), json!({"when": {"not": exists(from("bad", "."))}})),
            with(step("use", "t", json!({"x": from("bad", ".")})), json!({"when": exists(from("bad", "."))})),
        ],
        from("repair", "."),
    );
    let (outcome, fake) = ran(&plan);
    assert_eq!(outcome.unwrap().steps["use"].status, Status::Skipped);
    assert_eq!(fake.log, ["start bad", "fail bad", "start repair", "skipped use", "done repair"]);
}

#[test]
fn comparisons_hold_or_fail_as_the_table_says() {
    let list = json!([{"id": 7}, {"id": 8}, {"id": 9}]);
    let cases = [
        (compare(json!(1), "eq", json!(1.0)), Some(true)),
        (compare(json!({"a": [1]}), "eq", json!({"a": [1.0]})), Some(true)),
        (compare(json!({"a": 1}), "eq", json!({"b": 1})), Some(false)),
        (compare(json!("1"), "eq", json!(1)), Some(false)),
        (compare(json!(null), "eq", json!(null)), Some(true)),
        (compare(from("list", "."), "ne", list), Some(false)),
        (compare(json!(u64::MAX), "gt", json!(i64::MAX)), Some(true)),
        (compare(json!(-1), "lt", json!(u64::MAX)), Some(true)),
        (compare(json!(1.5), "le", json!(1.5)), Some(true)),
        (compare(json!("a"), "lt", json!("b")), Some(true)),
        (compare(json!("b"), "ge", json!("b")), Some(true)),
        (compare(json!("b"), "ge", json!(1)), None),
        (compare(json!(null), "lt", json!(1)), None),
        (compare(json!("needle in hay"), "contains", json!("in")), Some(true)),
        (compare(json!([1, 2]), "contains", json!(2.0)), Some(true)),
        (compare(json!({"k": 0}), "contains", json!("k")), Some(true)),
        (compare(json!({"k": 0}), "contains", json!(1)), None),
        (compare(json!(12), "contains", json!(1)), None),
        (exists(from("list", ".")), Some(true)),
        (exists(from("list", ".nothing")), Some(false)),
        (exists(from("list", "empty")), Some(false)),
        (exists(from("list", "both")), Some(true)),
        (exists(json!({"$param": "p"})), Some(false)),
        (exists(json!(null)), Some(false)),
        (compare(from("list", ".nothing"), "eq", json!(null)), Some(true)),
        (compare(from("list", "empty"), "eq", json!(null)), None),
        (compare(from("list", "boom"), "eq", json!(null)), None),
        (json!({"all": []}), Some(true)),
        (json!({"any": []}), Some(false)),
        (json!({"any": [{"all": []}, compare(json!("b"), "lt", json!(1))]}), Some(true)),
        (json!({"all": [{"any": []}, compare(json!("b"), "lt", json!(1))]}), Some(false)),
        (json!({"not": {"any": []}}), Some(true)),
    ];
    for (condition, expected) in cases {
        let asked =
            with(step("a", "t", json!({})), json!({"when": condition, "on_error": "continue", "needs": ["list"]}));
        let (outcome, _) = ran(&of(&[step("list", "list", json!({})), asked], json!(1)));
        let status = match expected {
            Some(true) => Status::Completed,
            Some(false) => Status::Skipped,
            None => Status::Failed,
        };
        assert_eq!(outcome.unwrap().steps["a"].status, status, "{condition}");
    }
}

#[test]
fn a_comparison_that_cannot_be_made_says_why() {
    let asked = with(step("a", "t", json!({})), json!({"when": compare(json!("b"), "lt", json!(1))}));
    let (outcome, fake) = ran(&of(&[asked], json!(1)));
    assert_eq!(outcome.unwrap_err().to_string(), "`a` cannot use a value: `lt` does not take a text and a number");
    assert_eq!(fake.log, ["fail a"]);
}

#[test]
fn a_parameter_that_was_not_given_has_its_default() {
    let arguments = json!({"x": or(json!({"$param": "p"}), json!(3)), "y": {"$text": ["<", or(json!({"$param": "p"}), json!("-")), ">"]}, "z": or(json!({"$param": "p"}), json!({"$param": "p"}))});
    let plan = of(&[step("a", "echo", arguments)], from("a", "."));
    assert_eq!(ran(&plan).0.unwrap().result, json!({"x": 3, "y": "<->"}));
    assert_eq!(ran_with(&plan, json!({"p": 5})).0.unwrap().result, json!({"x": 5, "y": "<5>", "z": 5}));
}

#[test]
fn a_default_does_not_hide_a_value_that_a_response_lacks() {
    let plan = of(
        &[step("list", "list", json!({})), step("a", "t", json!({"x": or(from("list", ".typo"), json!(1))}))],
        json!(1),
    );
    assert!(matches!(ran(&plan).0, Err(RunError::Reference { ref by, .. }) if by == "a"));
}

#[test]
fn a_failure_that_the_host_calls_final_stops_the_run_whatever_the_plan_says() {
    let fan = with(
        step("get", "echo", json!({"fail": {"$item": "."}})),
        json!({"for_each": [true, true, true], "on_error": "continue", "max_concurrency": 2}),
    );
    let mut fake = Fake { last_word: Some("asked to fail"), ..Fake::default() };
    let error = run(&of(&[fan], json!(1)), &Map::new(), &mut fake).unwrap_err();
    assert!(matches!(error, RunError::Step { ref step, .. } if step == "get[0]"));
    assert_eq!(fake.log, ["start get[0]", "start get[1]", "fail get[0]", "fail get[1]", "failed get"]);
}

#[test]
fn a_stop_leaves_the_items_of_other_steps_unstarted_and_says_how_those_steps_ended() {
    let fan = with(step("fan", "echo", json!({})), json!({"for_each": [1, 2, 3], "max_concurrency": 1}));
    let (outcome, fake) = ran(&of(&[fan, step("bad", "broken", json!({}))], json!(1)));
    assert!(matches!(outcome, Err(RunError::Step { ref step, .. }) if step == "bad"));
    let expected =
        ["start fan[0]", "start bad", "done fan[0]", "start fan[1]", "fail bad", "done fan[1]", "partial fan"];
    assert_eq!(fake.log, expected);
}

#[test]
fn items_that_cannot_start_or_have_no_arguments_fail_alone() {
    let fan = |tool: &str| {
        with(
            step("get", tool, json!({"x": {"$item": ".id"}})),
            json!({"for_each": [{"id": 1}, {"no": 2}, {"id": 3}], "on_error": "continue"}),
        )
    };
    let outcome = ran(&of(&[fan("echo")], or(from("get", ".x"), json!(0)))).0.unwrap();
    assert_eq!(outcome.result, json!([1, 3]));
    assert_eq!(status(&outcome, "get"), (Status::Partial, 2, 1));
    let outcome = ran(&of(&[fan("unstartable")], or(from("get", ".x"), json!(0)))).0.unwrap();
    assert_eq!(outcome.result, json!(0));
    assert_eq!(status(&outcome, "get"), (Status::Failed, 0, 3));
}
