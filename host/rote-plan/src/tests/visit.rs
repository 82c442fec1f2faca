//! Going through expressions.

use super::*;

fn expression() -> Expression {
    serde_json::from_value(json!({
        "a/b": {"$text": ["x", {"$param": "p"}]},
        "list": [{"$default": [{"$param": "q"}, "y"]}, {"inner": {"$index": true}, "plain": {"deep": 1}}],
    }))
    .unwrap()
}

/// What is seen, as `way: JSON`.
fn seen(expression: &Expression, onward: &dyn Fn(&Expression) -> Onward) -> Vec<String> {
    let mut seen = Vec::new();
    expression.visit(&mut |way, one| {
        let way = way.iter().map(|step| match step {
            At::Key(key) => format!("{key}>"),
            At::Index(index) => format!("{index}>"),
        });
        seen.push(format!("{} {}", way.collect::<String>(), Value::from(one.clone())));
        onward(one)
    });
    seen
}

#[test]
fn a_visit_comes_to_everything_outer_first_with_the_way_to_it() {
    let all = seen(&expression(), &|_| Onward::Into);
    let inner = [
        r#"a/b> {"$text":["x",{"$param":"p"}]}"#,
        r#"a/b> "x""#,
        r#"a/b> {"$param":"p"}"#,
        r#"list> [{"$default":[{"$param":"q"},"y"]},{"inner":{"$index":true},"plain":{"deep":1}}]"#,
        r#"list>0> {"$default":[{"$param":"q"},"y"]}"#,
        r#"list>0> {"$param":"q"}"#,
        r#"list>0> "y""#,
        r#"list>1> {"inner":{"$index":true},"plain":{"deep":1}}"#,
        r#"list>1>inner> {"$index":true}"#,
        r#"list>1>plain> {"deep":1}"#,
    ];
    assert_eq!(all[0], format!(" {}", Value::from(expression())));
    assert_eq!(all[1..], inner);
}

#[test]
fn a_visit_goes_past_what_it_is_told_to() {
    let past = seen(&expression(), &|one| if one.is_object() { Onward::Into } else { Onward::Past });
    assert_eq!(past.len(), 3, "{past:?}");
    assert!(past[1].starts_with("a/b> ") && past[2].starts_with("list> "), "{past:?}");
}

#[test]
fn a_change_goes_on_inside_what_it_put_there() {
    let mut changed = expression();
    changed.visit_mut(&mut |way, one| match one {
        Expression::Text(_) => {
            *one = Expression::Array(vec![Expression::Param("p".to_owned())]);
            Onward::Into
        }
        Expression::Param(name) => {
            name.push_str(&way.len().to_string());
            Onward::Past
        }
        Expression::Default(..) => Onward::Past,
        _ => Onward::Into,
    });
    let mut wanted = Value::from(expression());
    wanted["a/b"] = json!([{"$param": "p2"}]);
    assert_eq!(Value::from(changed), wanted);
}

#[test]
fn a_deep_expression_is_not_a_deep_stack() {
    let mut deep = Expression::Index;
    for _ in 0..100_000 {
        deep = Expression::Text(vec![deep]);
    }
    // To drop it would be.
    let mut deep = std::mem::ManuallyDrop::new(deep);
    let mut levels = 0;
    deep.walk(&mut |_| levels += 1);
    deep.visit_mut(&mut |_, _| {
        levels -= 1;
        Onward::Into
    });
    assert_eq!((levels, deep.item_use()), (0, Some("$index")));
}
