//! What becomes a step, what becomes a parameter, what is refused.

use rote_types::{Classify, ErrorKind, ResponseId};
use serde_json::{Value, json};

use super::support::{Fixture, SHOP, wish};
use super::tale::Tale;
use crate::error::CrystallizeError;
use crate::{Content, CrystallizeRequest, FlowError, Package, ParamSpec, ResultSpec, WriteMode};

fn plan(made: &crate::Crystallized) -> Value {
    serde_json::to_value(&made.plan).unwrap()
}

#[tokio::test]
async fn responses_variables_and_templates_become_a_graph_with_parameters() {
    let fixture = Fixture::new();
    fixture.set("owner", json!("octocat"));
    assert!(fixture.call("orders_list", json!({"owner": "$owner", "limit": 5})).await);
    fixture.query(1, ".items[0].id", Some("first"));
    assert!(fixture.call("orders_get", json!({"id": "$first"})).await);
    assert!(fixture.call("orders_get", json!({"id": "@1{.items[1].id}"})).await);
    assert!(fixture.call("orders_create", json!({"item": "for $owner: @2{.price} and @3{.price}"})).await);
    fixture.query(4, "{what: .created.item}", None);
    let made = fixture.crystallize(&[("limit", None)]).await.unwrap();
    let from = |step: &str, jq: &str| json!({"$from": {"step": step, "jq": jq}});
    assert_eq!(
        plan(&made),
        json!({
            "version": 1,
            "parameters": {"limit": {"required": true}, "owner": {"required": true}},
            "steps": [
                {"id": "s1", "adapter": "shop", "tool": "orders_list",
                 "arguments": {"owner": {"$param": "owner"}, "limit": {"$param": "limit"}}},
                {"id": "s2", "adapter": "shop", "tool": "orders_get", "arguments": {"id": from("s1", ".items[0].id")}},
                {"id": "s3", "adapter": "shop", "tool": "orders_get", "arguments": {"id": from("s1", ".items[1].id")}},
                {"id": "s4", "adapter": "shop", "tool": "orders_create", "arguments": {"item": {"$text": [
                    "for ", {"$param": "owner"}, ": ", from("s2", ".price"), " and ", from("s3", ".price")]}}},
            ],
            "result": from("s4", "{what: .created.item}"),
        })
    );
    assert_eq!(made.report.replayed_calls, 4);
    let frontmatter = &made.frontmatter;
    assert_eq!(frontmatter.parameters["properties"]["limit"], json!({"type": "integer", "examples": [5]}));
    assert_eq!(frontmatter.parameters["properties"]["owner"]["description"], "Whose");
    let writes: Vec<(&str, WriteMode)> =
        frontmatter.write_permissions.iter().map(|one| (one.tool.as_str(), one.mode)).collect();
    assert_eq!(writes, [("orders_create", WriteMode::Audit)]);
    let pinned = &frontmatter.adapters[&super::support::id()];
    assert_eq!(pinned.tools.len(), 3);
    assert_eq!(pinned.fingerprint, fixture.adapters.open(&super::support::id()).unwrap().manifest().fingerprint);
    assert_eq!(frontmatter.baseline.calls, 4);
    assert!(frontmatter.baseline.tokens > 0);
    assert!(made.path.is_file());
    assert_eq!(fixture.shop.log().len(), 4, "the replay sent nothing");
}

#[tokio::test]
async fn a_long_id_stays_as_it_was_recorded() {
    let fixture = Fixture::new();
    for id in [9_007_199_254_740_993_u64, 9_007_199_254_740_992] {
        assert!(fixture.call("orders_get", json!({"id": id})).await);
    }
    let made = fixture.crystallize(&[]).await.unwrap();
    let written = Package::read(rote_home::read_capped(&made.path, 1 << 20).unwrap()).unwrap();
    let Content::Plan(written) = written.content else { panic!() };
    assert_eq!(serde_json::to_value(&written).unwrap(), plan(&made));
    assert_eq!(plan(&made)["steps"][0]["arguments"], json!({"id": 9_007_199_254_740_992_u64}));
}

#[tokio::test]
async fn failed_superseded_and_unused_calls_are_left_out_with_a_reason() {
    let fixture = Fixture::new();
    assert!(!fixture.call("orders_get", json!({"id": 404})).await);
    assert!(fixture.call("orders_list", json!({"owner": "nobody-needs"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    assert!(fixture.call("orders_create", json!({"item": "ink"})).await);
    assert!(fixture.call("orders_get", json!({"id": 1})).await);
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    fixture.query(2, ".items | length", Some("unused"));
    let made = fixture.crystallize(&[]).await.unwrap();
    let kept: Vec<u64> = made.report.steps.iter().map(|step| step.response.0).collect();
    assert_eq!(kept, [3, 4, 5, 7]);
    let dropped: Vec<(u64, &str)> =
        made.report.dropped.iter().map(|one| (one.response.0, one.reason.split(':').next().unwrap())).collect();
    assert_eq!(dropped, [(1, "failed"), (2, "nothing that stays uses it"), (6, "superseded by @7")]);
    assert_eq!(made.report.steps[1].needs, ["s3"], "a write waits for the write before it");
    assert_eq!(made.report.steps[3].needs, ["s5"], "a read after a write waits for it");
    assert_eq!(made.report.result, "`.` of @7 shop/orders_get");
}

#[tokio::test]
async fn a_value_that_was_asked_for_is_replaced_inside_text_too_and_others_are_proposed() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen of octocat", "note": "2026-11-21"})).await);
    let made = fixture.crystallize(&[("who", Some("octocat"))]).await.unwrap();
    // The list is read by nobody, so only the write is left.
    assert_eq!(
        plan(&made)["steps"][0]["arguments"],
        json!({"item": {"$text": ["pen of ", {"$param": "who"}]}, "note": "2026-11-21"})
    );
    let proposed: Vec<&str> = made.report.proposals.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(proposed, ["note"]);
}

#[tokio::test]
async fn a_parameter_that_cannot_be_made_is_refused_with_what_could_be() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    assert!(fixture.call("orders_create", json!({"item": "ink"})).await);
    for (param, reason) in [
        (("item", None), "different values: `pen` at s1:/item, `ink` at s2:/item"),
        (("colour", None), "no argument of a kept call has this name"),
        (("colour", Some("red")), "no argument of a kept call holds `red`"),
        (("9lives", Some("pen")), "start with a letter"),
    ] {
        let error = fixture.crystallize(&[param]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.details().unwrap()["arguments"], json!(["item"]));
    }
}

#[tokio::test]
async fn what_cannot_be_crystallized_is_refused_and_nothing_is_written() {
    let fixture = Fixture::new();
    let error = fixture.crystallize(&[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Crystallize(CrystallizeError::NothingToCrystallize { .. })), "{error}");
    assert!(!fixture.call("orders_get", json!({"id": 404})).await);
    let error = fixture.crystallize(&[]).await.unwrap_err();
    assert!(error.to_string().contains("none of its calls succeeded"), "{error}");
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    fixture.query(2, ".items[0].id", Some("first"));
    assert!(fixture.call("orders_get", json!({"id": "$first"})).await);
    fixture.clear(2);
    let error = fixture.crystallize(&[]).await.unwrap_err();
    assert_eq!(error.to_string(), "`@3 shop/orders_get` uses response `@2`, which was cleared");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(fixture.flows.library.list().unwrap().is_empty());
}

#[tokio::test]
async fn a_secret_in_an_argument_is_never_made_part_of_a_flow() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "ghp_0123456789abcdefghij0123456789abcdef"})).await);
    let error = fixture.crystallize(&[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("argument `/item` of `@1 shop/orders_create`"), "{error}");
    assert!(!error.to_string().contains("ghp_"));
    for value in [None, Some("ghp_0123456789abcdefghij0123456789abcdef")] {
        let request = CrystallizeRequest { force: true, ..wish(&[("item", value)]) };
        let made = fixture.flows.crystallizer.crystallize(&request).await.unwrap();
        assert_eq!(made.frontmatter.parameters["properties"]["item"], json!({"type": "string", "writeOnly": true}));
        assert_nowhere(made.path.parent().unwrap(), "ghp_0123");
    }
}

#[tokio::test]
async fn a_secret_in_a_description_is_not_made_part_of_a_flow() {
    let secret = "ghp_0123456789abcdefghij0123456789abcdef";
    let fixture = Fixture::new();
    fixture.install(&SHOP.replace("\"Whose\"", &format!("\"Whose, as {secret}\"")));
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    let mut request = wish(&[("owner", None)]);
    request.description = Some(format!("Lists with {secret}"));
    let error = fixture.flows.crystallizer.crystallize(&request).await.unwrap_err().to_string();
    assert!(error.contains("the description holds what looks like a secret") && !error.contains(secret), "{error}");
    request.description = None;
    request.params[0].description = Some(format!("Bearer: {secret}"));
    let error = fixture.flows.crystallizer.crystallize(&request).await.unwrap_err().to_string();
    assert!(error.contains("the description of `owner` holds") && !error.contains(secret), "{error}");
    request.params[0].description = None;
    let made = fixture.flows.crystallizer.crystallize(&request).await.unwrap();
    assert_eq!(made.frontmatter.parameters["properties"]["owner"].get("description"), None);
}

/// A shop whose `note` is a password.
fn concealing() -> Fixture {
    let fixture = Fixture::new();
    let note = "\"note\": {\"type\": \"string\"";
    fixture.install(&SHOP.replace(note, &format!("{note}, \"format\": \"password\"")));
    fixture
}

#[tokio::test]
async fn what_the_schema_of_an_argument_conceals_is_not_kept_of_a_run_either() {
    let fixture = concealing();
    assert!(fixture.call("orders_create", json!({"item": "pen", "note": "typed-77"})).await);
    fixture.crystallize(&[]).await.unwrap();
    fixture.shop.lose(b"");
    let error = fixture.run(&fixture.run_request(&[])).await.unwrap_err().to_string();
    assert!(error.contains("typed-77"), "the person typed it: {error}");
    let stats = fixture.flows.analytics.stats(&"report".parse().unwrap()).unwrap();
    let kept = stats.errors[0].error.clone().unwrap();
    assert!(kept.contains("\"note\":\"<SECRET>\"") && !kept.contains("typed-77"), "{kept}");
}

#[tokio::test]
async fn what_a_schema_conceals_is_not_kept_of_a_run() {
    let fixture = concealing();
    fixture.set("note", json!("recorded-77"));
    assert!(fixture.call("orders_create", json!({"item": "pen", "note": "$note"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let schema = &made.frontmatter.parameters["properties"]["note"];
    assert_eq!(schema, &json!({"type": "string", "format": "password", "writeOnly": true}));
    assert_nowhere(made.path.parent().unwrap(), "recorded-77");
    fixture.shop.lose(b"");
    fixture.run(&fixture.run_request(&[("note", "open\"sesame")])).await.unwrap_err();
    assert!(fixture.shop.log().pop().unwrap().contains("sesame"));
    let stats = fixture.flows.analytics.stats(&"report".parse().unwrap()).unwrap();
    let error = stats.errors[0].error.clone().unwrap();
    assert!(error.contains("\"note\":\"<SECRET>\"") && !error.contains("sesame"), "{error}");
    assert_nowhere(&fixture.home.adapter_logs_dir(&super::support::id()), "sesame");
}

/// Checks that no file of a folder holds a text.
fn assert_nowhere(folder: &std::path::Path, text: &str) {
    let mut seen = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nowhere(&path, text);
        } else {
            let held = String::from_utf8_lossy(&rote_home::read_capped(&path, 1 << 24).unwrap()).contains(text);
            assert!(!held, "{}", path.display());
        }
        seen += 1;
    }
    assert!(seen > 0, "{}", folder.display());
}

#[tokio::test]
async fn a_secret_inside_an_object_a_default_or_a_query_is_not_kept_either() {
    let mut tale = Tale::new();
    let event = json!({"title": "Call", "start": {"day": 1, "password": "hunter2x"}, "secret": "hunter2x"});
    tale.call("createEvent", event, json!({"id": "ev_1", "note": "with hunter2x"})).await;
    let spec = |name: &str, default: Option<Option<&str>>| ParamSpec {
        name: name.to_owned(),
        default: default.map(|one| one.map(str::to_owned)),
        ..ParamSpec::default()
    };
    let params = |start, secret| CrystallizeRequest {
        params: vec![spec("start", start), spec("secret", secret)],
        force: true,
        ..wish(&[])
    };
    let made = tale.wish(&params(None, None)).await.unwrap();
    assert_eq!(made.frontmatter.parameters["properties"]["start"], json!({"type": "object", "writeOnly": true}));
    assert_nowhere(made.path.parent().unwrap(), "hunter2x");
    for (start, secret) in [(Some(None), None), (None, Some(None)), (None, Some(Some("other")))] {
        let error = tale.wish(&params(start, secret)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains("a default would be kept in the flow"), "{error}");
    }
    let mut tale = Tale::new();
    let token = "ghp_0123456789abcdefghij0123456789abcdef";
    let issues = json!({"items": [{"id": 41, "text": "x"}, {"id": 42, "text": token}]});
    tale.call("listIssues", json!({}), issues).await;
    tale.query(1, &format!(".items[] | select(.text == \"{token}\") | .id"));
    tale.call("addComment", json!({"issue_id": 42, "body": "Seen"}), json!({"id": 1})).await;
    let error = tale.wish(&wish(&[])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

#[tokio::test]
async fn a_secret_in_a_pair_a_number_a_text_or_a_name_is_a_secret_parameter_or_refused() {
    let token = "ghp_0123456789abcdefghij";
    for (start, secret, at, param) in [
        (
            json!({"env": [{"name": "GITHUB_TOKEN", "value": "plain-77"}]}),
            "plain-77",
            "/start/env/0/value",
            "secret@@1:/start/env/0/value",
        ),
        (json!({"pin": 483_920}), "483920", "/start/pin", "pin"),
        (json!({"otp": 483_920}), "483920", "/start/otp", "code=483920@@1:/start/otp"),
        (json!({"note": "with password=plain-77 on it"}), "plain-77", "/start/note", "word=plain-77"),
        (json!("https://admin:plain-77@db.example"), "plain-77", "/start", "word=plain-77"),
        (json!("https://db.example/?q=1&api_key=plain-77"), "plain-77", "/start", "word=plain-77"),
        (json!({"may": {token: true}}), token, "/start/may", "may"),
    ] {
        let mut tale = Tale::new();
        let answer = json!({"id": "ev_1", "start": start.clone(), "note": format!("It is {secret}.")});
        tale.call("createEvent", json!({"title": "Call", "start": start}), answer).await;
        let error = tale.wish(&wish(&[])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        let told = error.to_string();
        assert!(told.contains(&format!("`{at}`")) && !told.contains(secret), "{told}");
        let hint = error.hint().unwrap();
        assert!(!at.ends_with("value") || hint.contains(param), "{hint}");
        let request = CrystallizeRequest { params: vec![param.parse().unwrap()], force: true, ..wish(&[]) };
        let made = tale.wish(&request).await.unwrap();
        let name = &request.params[0].name;
        assert_eq!(made.frontmatter.parameters["properties"][name]["writeOnly"], json!(true), "{at}");
        assert_nowhere(made.path.parent().unwrap(), secret);
    }
    let mut tale = Tale::new();
    let pair = json!({"env": [{"name": "token_count", "value": 3}], "pin": true, "text": "password: required"});
    tale.call("createEvent", json!({"title": "Call", "start": pair}), json!({"id": "ev_1"})).await;
    tale.wish(&wish(&[])).await.unwrap();
}

#[tokio::test]
async fn a_text_that_equals_a_telling_value_is_asked() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 7})).await);
    assert!(fixture.call("orders_create", json!({"item": "Tok7Abcdefgh"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    assert_eq!(made.plan.steps.len(), 1);
    let question = &made.report.questions[0];
    assert_eq!((question.id.to_string().as_str(), question.open), ("source:s2/item", true));
    assert_eq!(question.answers.iter().map(|one| one.word.as_str()).collect::<Vec<_>>(), ["@1{.token}", "always"]);
    assert_eq!(made.frontmatter.questions[0].id, "source:s2/item");
}

#[tokio::test]
async fn a_draft_is_replaced_only_when_asked_and_a_chosen_result_and_skip_are_honoured() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    fixture.crystallize(&[]).await.unwrap();
    let error = fixture.crystallize(&[]).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Conflict, "flow `report` exists already"));
    let mut request = wish(&[]);
    request.force = true;
    request.skip = vec![ResponseId(2)];
    request.result = Some(ResultSpec { response: ResponseId(1), jq: ".items[].id".to_owned() });
    let made = fixture.flows.crystallizer.crystallize(&request).await.unwrap();
    assert_eq!(plan(&made)["result"], json!({"$from": {"step": "s1", "jq": ".items[].id", "each": true}}));
    assert_eq!(made.frontmatter.write_permissions, []);
}

#[tokio::test]
async fn an_adapter_that_changed_since_the_recording_is_named() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    fixture.install(&super::support::SHOP.replace(r#""name": "limit""#, r#""name": "max""#));
    let error = fixture.crystallize(&[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Crystallize(CrystallizeError::AdapterChanged { .. })), "{error}");
}

#[tokio::test]
async fn the_journal_is_read_by_workspace() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    let journal = rusqlite::Connection::open(fixture.home.journal_file()).unwrap();
    // An event that nobody can read, in another workspace and then in this one.
    let unreadable = |workspace: &str| {
        let sql = "INSERT INTO events (id, ts, kind, body_json, prev_sha256, sha256) \
                   SELECT id, 'never', kind, json_set(body_json, '$.workspace', ?1), prev_sha256, sha256 \
                   FROM events WHERE kind = 'effect.started' LIMIT 1";
        assert_eq!(journal.execute(sql, [workspace]).unwrap(), 1);
    };
    unreadable("other");
    fixture.crystallize(&[]).await.unwrap();
    unreadable("work");
    let error = fixture.flows.crystallizer.crystallize(&CrystallizeRequest { force: true, ..wish(&[]) }).await;
    assert!(error.unwrap_err().to_string().contains("is not readable"));
}

#[tokio::test]
async fn an_unwrapped_mcp_answer_is_unwrapped_in_the_flow_too() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 500})).await);
    fixture.query_mcp(1, ".price");
    let made = fixture.crystallize(&[]).await.unwrap();
    assert_eq!(made.report.replayed_calls, 1);
    let done = fixture.run(&fixture.run_request(&[])).await.unwrap();
    assert_eq!(done.result, json!(7));
}

#[tokio::test]
async fn a_flow_over_two_adapters_pins_and_calls_both() {
    let fixture = Fixture::new();
    let other = "depot".parse().unwrap();
    fixture.install_as(&other, super::support::SHOP);
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    assert!(fixture.call_to(&other, "orders_get", json!({"id": "@1{.items[0].id}"})).await);
    fixture.query(2, ".price", None);
    let made = fixture.crystallize(&[]).await.unwrap();
    let pinned: Vec<&str> = made.frontmatter.adapters.keys().map(|id| id.as_str()).collect();
    assert_eq!(pinned, ["depot", "shop"]);
    let done = fixture.run(&fixture.run_request(&[])).await.unwrap();
    let calls: Vec<&str> = done.steps.iter().map(|step| step.call.as_str()).collect();
    assert_eq!((calls, done.result), (vec!["shop/orders_list", "depot/orders_get"], json!(70)));
}

#[tokio::test]
async fn a_variable_inside_the_results_query_is_a_parameter() {
    let fixture = Fixture::new();
    fixture.set("factor", json!(3));
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    fixture.query(1, ".price * $factor", None);
    let made = fixture.crystallize(&[]).await.unwrap();
    assert!(made.report.notes.iter().all(|note| !note.text.contains("frozen")));
    assert_eq!(made.report.parameters[0].places[0].step, "result");
    assert_eq!(fixture.run(&fixture.run_request(&[("factor", "4")])).await.unwrap().result, json!(80));
}
