//! Random plans: readers never panic; every plan that passes the checks runs to its end within its bounds.

use proptest::prelude::*;

use super::*;

/// Random acyclic plans: step `n` may need any earlier one, and the list is then shuffled.
fn dag() -> impl Strategy<Value = Plan> {
    let edges = prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..4), 1..24);
    edges
        .prop_map(|edges| {
            let step_of = |(n, needs): (usize, Vec<prop::sample::Index>)| {
                let needs: Vec<usize> =
                    if n == 0 { Vec::new() } else { needs.into_iter().map(|need| need.index(n)).collect() };
                let (uses, waits): (Vec<usize>, Vec<usize>) = needs.into_iter().partition(|need| need % 2 == 0);
                let arguments = uses
                    .into_iter()
                    .map(|need| {
                        (format!("a{need}"), Expression::From(Reference::new(format!("s{need}"), ".".to_owned())))
                    })
                    .collect();
                let arguments = Expression::Object(arguments);
                let needs = waits.into_iter().map(|need| format!("s{need}")).collect();
                Step { needs, ..Step::new(format!("s{n}"), "api".to_owned(), "t".to_owned(), arguments) }
            };
            edges.into_iter().enumerate().map(step_of).collect::<Vec<_>>()
        })
        .prop_shuffle()
        .prop_map(|steps| Plan {
            version: VERSION,
            parameters: BTreeMap::new(),
            steps,
            result: Expression::Literal(Value::Null),
        })
}

/// JSON that is near to a plan: right words in wrong places.
fn near_plan() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "version",
        "steps",
        "result",
        "parameters",
        "id",
        "adapter",
        "tool",
        "arguments",
        "needs",
        "after",
        "$from",
        "$param",
        "$text",
        "$literal",
        "$object",
        "step",
        "jq",
        "with",
        "s1",
        "required",
        "default",
        "when",
        "for_each",
        "max_concurrency",
        "on_error",
        "continue",
        "all",
        "any",
        "not",
        "compare",
        "left",
        "op",
        "right",
        "eq",
        "exists",
        "$item",
        "$index",
        "$default",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(1)),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

/// A random plan with everything that a step can have, as JSON. Step `n` refers only to earlier ones; the list is
/// in any order.
fn full_plan() -> impl Strategy<Value = Value> {
    let step = (any::<u32>(), prop::collection::vec(any::<u32>(), 8));
    prop::collection::vec(step, 1..10)
        .prop_map(|dice| {
            let mut steps: Vec<Value> =
                dice.into_iter().enumerate().map(|(n, (kind, dice))| wild(n, kind, &dice)).collect();
            let turn = steps.len() / 2;
            steps.rotate_left(turn);
            steps
        })
        .prop_shuffle()
        .prop_map(|steps| {
            let results: Vec<Value> = steps
                .iter()
                .map(|step| json!({"$default": [from(step["id"].as_str().unwrap(), "."), "none"]}))
                .collect();
            json!({"version": 1, "parameters": {"p": {}}, "steps": steps, "result": results})
        })
}

/// One step by dice.
fn wild(n: usize, kind: u32, dice: &[u32]) -> Value {
    let earlier = |die: u32| format!("s{}", die as usize % n.max(1));
    let value = |die: u32| match die % 6 {
        _ if n == 0 => json!(die % 3),
        0 => json!(die % 3),
        1 => from(&earlier(die / 6), ".fail"),
        2 => json!({"$default": [from(&earlier(die / 6), "."), die % 3]}),
        3 => json!({"$default": [{"$param": "p"}, {"$default": [from(&earlier(die / 6), ".x"), null]}]}),
        4 => json!({"$from": {"step": earlier(die / 6), "jq": ".[]", "each": true}}),
        _ => from(&earlier(die / 6), "."),
    };
    let fan_out = kind & 1 == 1;
    let mut arguments = json!({"x": value(dice[0])});
    match dice[1] % 3 {
        0 => arguments["fail"] = json!(true),
        1 if fan_out => arguments["fail"] = json!({"$item": "."}),
        _ => {}
    }
    let mut made = step(&format!("s{n}"), if dice[1] % 7 == 6 { "unstartable" } else { "echo" }, arguments);
    if fan_out {
        let items: Vec<bool> = (0..dice[2] % 7).map(|item| (dice[2] >> item) & 8 == 0).collect();
        made["for_each"] = if dice[3].is_multiple_of(4) { value(dice[3] / 4) } else { json!(items) };
        made["max_concurrency"] = json!(1 + dice[3] % 16);
        if !made["for_each"].is_array() && !made["for_each"].is_object() {
            made["for_each"] = json!([]);
        }
    }
    if kind & 2 == 2 {
        let ops = ["eq", "ne", "lt", "le", "gt", "ge", "contains"];
        let compare =
            json!({"compare": {"left": value(dice[4]), "op": ops[dice[4] as usize % 7], "right": value(dice[5])}});
        let exists = json!({"compare": {"left": value(dice[5] / 2), "op": "exists"}});
        made["when"] =
            if kind & 4 == 4 { json!({"any": [exists, {"not": compare}]}) } else { json!({"all": [compare]}) };
    }
    if kind & 24 != 0 {
        made["on_error"] = json!("continue");
    }
    if n > 0 && dice[6].is_multiple_of(4) {
        made["needs"] = json!([earlier(dice[7])]);
    }
    made
}

fn hosted(plan: &Plan, choices: &[usize]) -> (Ran<Fake>, Fake) {
    let mut fake = Fake::default();
    let (choices, mut turn) = (choices.to_vec(), 0);
    fake.pick = Some(Box::new(move |waiting| {
        turn += 1;
        choices[turn % choices.len()] % waiting
    }));
    (run(plan, &Map::new(), &mut fake), fake)
}

/// The positions of the items of a step in the order in which they started; `None` is the one call without.
fn started_items(fake: &Fake, step: &Step) -> Vec<Option<usize>> {
    let places = fake.log.iter().filter_map(|line| line.strip_prefix("start "));
    let own = places.filter_map(|place| place.strip_prefix(step.id.as_str()));
    let items = own.filter_map(|rest| match rest.strip_prefix('[') {
        Some(item) => Some(item.trim_end_matches(']').parse().ok()),
        None => rest.is_empty().then_some(None),
    });
    items.collect()
}

proptest! {
    #[test]
    fn every_step_starts_once_and_after_its_needs_are_done(plan in dag(), choices in prop::collection::vec(any::<usize>(), 32)) {
        prop_assert_eq!(plan.validate(), Ok(()));
        let mut fake = answering(&[("t", json!(1))]);
        let mut next = choices.into_iter().cycle();
        fake.pick = Some(Box::new(move |waiting| next.next().unwrap_or(0) % waiting));
        run(&plan, &Map::new(), &mut fake).unwrap();
        let at = |line: String| fake.log.iter().position(|entry| *entry == line);
        for step in &plan.steps {
            let start = at(format!("start {}", step.id)).unwrap();
            prop_assert_eq!(fake.log.iter().filter(|entry| **entry == format!("start {}", step.id)).count(), 1);
            for need in step.all_needs() {
                let done = at(format!("done {need}")).unwrap();
                prop_assert!(done < start);
            }
        }
    }

    #[test]
    fn arbitrary_json_never_panics_the_reader(value in near_plan()) {
        let _ = Plan::parse(value.to_string().as_bytes());
        let around = |more: Value| {
            let mut step = step("s1", "t", json!({"x": value.clone()}));
            step.as_object_mut().unwrap().extend(object(more));
            json!({"version": 1, "steps": [step], "result": value.clone()})
        };
        let compare = json!({"compare": {"left": value.clone(), "op": "eq", "right": 1}});
        for plan in [
            around(json!({})),
            around(json!({"when": value.clone()})),
            around(json!({"when": {"any": [compare, {"not": value.clone()}]}})),
            around(json!({"for_each": value.clone()})),
            around(json!({"for_each": [1], "max_concurrency": value.clone(), "on_error": value.clone()})),
        ] {
            if let Ok(plan) = Plan::parse(plan.to_string().as_bytes()) {
                let again = serde_json::to_vec(&plan).unwrap();
                prop_assert_eq!(Plan::parse(&again), Ok(plan));
            }
        }
    }

    #[test]
    fn every_plan_that_passes_the_checks_ends_within_its_bounds(value in full_plan(), choices in prop::collection::vec(any::<usize>(), 32)) {
        let plan = plan(value);
        let (outcome, fake) = hosted(&plan, &choices);
        for step in &plan.steps {
            let items = started_items(&fake, step);
            let bound = if step.for_each.is_some() { MAX_ITEMS } else { 1 };
            prop_assert!(items.len() <= bound);
            // Items whose arguments could not be made leave gaps, never another order.
            prop_assert!(items.is_sorted());
        }
        let mut in_flight: BTreeMap<&str, usize> = BTreeMap::new();
        let limits: BTreeMap<&str, usize> = plan.steps.iter().map(|step| (step.id.as_str(), step.concurrency())).collect();
        let mut begun: Vec<&str> = Vec::new();
        for line in &fake.log {
            let (what, place) = line.split_once(' ').unwrap();
            let step = place.split(['[', ' ']).next().unwrap();
            match what {
                "start" => {
                    begun.push(place);
                    *in_flight.entry(step).or_default() += 1;
                    prop_assert!(in_flight[step] <= limits[step]);
                }
                "done" | "fail" if begun.contains(&place) => *in_flight.entry(step).or_default() -= 1,
                _ => {}
            }
        }
        prop_assert!(in_flight.values().all(|count| *count == 0), "every call is waited for");
        if let Ok(outcome) = outcome {
            prop_assert_eq!(outcome.steps.len(), plan.steps.len());
            let ended_well = |status: Status| matches!(status, Status::Completed | Status::Skipped);
            let is_whole = outcome.steps.values().all(|step| ended_well(step.status));
            prop_assert_eq!(outcome.status == RunStatus::Completed, is_whole);
        }
    }

    #[test]
    fn the_same_plan_and_answers_give_the_same_calls(value in full_plan(), choices in prop::collection::vec(any::<usize>(), 32)) {
        let plan = plan(value);
        let (first, one) = hosted(&plan, &choices);
        let (second, other) = hosted(&plan, &choices);
        prop_assert_eq!(one.log, other.log);
        prop_assert_eq!(one.started, other.started);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn how_steps_end_does_not_depend_on_the_order_of_answers(value in full_plan(), choices in prop::collection::vec(any::<usize>(), 32)) {
        let mut plan = plan(value);
        plan.steps.iter_mut().for_each(|step| step.on_error = OnError::Continue);
        let (first, one) = hosted(&plan, &[0]);
        let (second, other) = hosted(&plan, &choices);
        let (first, second) = (first.unwrap(), second.unwrap());
        prop_assert_eq!(first.result, second.result);
        let ends = |outcome: BTreeMap<String, StepOutcome<usize, String>>| -> Vec<_> {
            outcome.into_iter().map(|(id, step)| (id, step.status, step.because, step.failures)).collect()
        };
        prop_assert_eq!(ends(first.steps), ends(second.steps));
        let sorted = |fake: &Fake| {
            let mut calls: Vec<String> = fake.started.iter().map(|(tool, arguments)| format!("{tool} {arguments}")).collect();
            calls.sort();
            calls
        };
        prop_assert_eq!(sorted(&one), sorted(&other));
    }
}
