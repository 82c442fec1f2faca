//! Google Discovery documents: each feature on a fixture of our own, and hostile ones.

use proptest::prelude::*;
use rote_request::{BodyArguments, Location, MediaKind, build};
use rote_types::{Access, AuthKind, Method, SpecType};
use serde_json::{Value, json};

use super::{fixture, inline, tool};
use crate::{Api, NoReferences, Outcome, Source, SpecError, SpecLimits, read};

fn planner() -> Api {
    fixture("planner.discovery.json")
}

fn schema(api: &Api, name: &str) -> Value {
    tool(api, name).tool.input_schema.value().unwrap()
}

fn notes(api: &Api, name: &str) -> Vec<String> {
    match &tool(api, name).outcome {
        Outcome::Generated => Vec::new(),
        Outcome::Repaired { notes } => notes.clone(),
    }
}

/// A document around methods of its own.
fn document(methods: &Value) -> Value {
    json!({"discoveryVersion": "v1", "name": "t", "title": "T", "version": "v1", "rootUrl": "https://t.example/",
           "servicePath": "", "methods": methods, "schemas": {"S": {"type": "object", "properties": {"a": {"type": "string"}}}}})
}

fn read_value(document: &Value) -> Result<Api, SpecError> {
    let bytes = document.to_string();
    read(Source { name: "t.json", bytes: bytes.as_bytes() }, &mut NoReferences, &SpecLimits::default())
}

/// The request line of a call, its body as text.
fn request(api: &Api, name: &str, arguments: Value) -> (String, String) {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let built = build(&tool(api, name).operation, &arguments).unwrap();
    (format!("{} {}", built.method, built.url), String::from_utf8(built.body.unwrap_or_default()).unwrap())
}

#[test]
fn each_method_is_a_tool_of_its_id() {
    let api = planner();
    assert_eq!((api.spec_type, api.spec_version.as_str()), (SpecType::Discovery, "v1"));
    assert_eq!((api.server.name.as_str(), api.server.version.as_str()), ("Planner API", "v2"));
    assert_eq!(api.base_urls[0].url, "https://planner.example/planner/v2");
    assert_eq!(api.base_urls[0].pointer, "/rootUrl");
    let said: Vec<String> = api
        .tools
        .iter()
        .map(|one| format!("{} {} {} {}", one.tool.name, one.tool.toolset, one.tool.access, one.pointer))
        .collect();
    assert_eq!(
        said,
        [
            "planner.about about read /methods/about",
            "planner.plans.insert plans write /resources/plans/methods/insert",
            "planner.plans.patch plans write /resources/plans/methods/patch",
            "planner.events.list events read /resources/events/methods/list",
            "planner.events.insert events write /resources/events/methods/insert",
            "planner.events.delete events destroy /resources/events/methods/delete",
            "planner.events.files.get events_files read /resources/events/resources/files/methods/get",
            "planner.events.files.create events_files write /resources/events/resources/files/methods/create",
            "planner.events.files.create_media events_files write /resources/events/resources/files/methods/create/mediaUpload/protocols/simple",
            "planner.events.files.create_multipart events_files write /resources/events/resources/files/methods/create/mediaUpload/protocols/simple/multipart",
        ]
    );
    assert_eq!((api.total, api.repaired(), api.skipped.len()), (10, 0, 0));
    assert!(api.tools.iter().all(|one| one.tool.original_operation_id.is_none()));
}

#[test]
fn parameters_keep_all_that_is_said_of_them() {
    let api = planner();
    let list = schema(&api, "planner.events.list");
    assert_eq!(list["required"], json!(["planId"]));
    assert_eq!(
        list["properties"],
        json!({
            "eventTypes": {"type": "array", "items": {"type": "string", "enum": ["default", "travel"]},
                           "description": "Kinds of events to return.\n- `default`: Regular events."},
            "maxResults": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 2500, "default": 250},
            "pageToken": {"type": "string"},
            "planId": {"type": "string", "description": "Identifier of the plan."},
            "showDeleted": {"type": "boolean", "default": false, "deprecated": true},
            "syncToken": {"type": "string", "pattern": "^[a-z]+$"},
            "alt": {"type": "string", "enum": ["json"], "default": "json",
                    "description": "Data format for the response.\n- `json`: Responses with Content-Type of application/json"},
            "fields": {"type": "string", "description": "Selector of the fields that the answer has."},
            "quotaUser": {"type": "string", "description": "Whose quota the call counts against."},
        })
    );
    let (line, _) = request(&api, "planner.events.list", json!({"planId": "a/b", "eventTypes": ["default", "travel"]}));
    assert_eq!(line, "GET /plans/a%2Fb/events?eventTypes=default&eventTypes=travel");
}

#[test]
fn common_parameters_that_carry_credentials_are_slots_or_nothing() {
    let api = planner();
    let left: Vec<&str> = api
        .diagnostics
        .iter()
        .filter(|one| one.pointer == "/parameters")
        .map(|one| one.message.split(" (").next().unwrap())
        .collect();
    assert_eq!(left, ["common parameters left out: `key`, `oauth_token`, `prettyPrint`"]);
    for name in ["key", "oauth_token", "prettyPrint"] {
        assert!(api.tools.iter().all(|one| one.operation.parameters.iter().all(|known| known.name != name)), "{name}");
    }
    let kinds: Vec<(&str, &AuthKind)> =
        api.auth.schemes.iter().map(|(name, slot)| (name.as_str(), &slot.kind)).collect();
    assert_eq!(kinds, [("key", &AuthKind::ApiKeyQuery { name: "key".to_owned() }), ("oauth2", &AuthKind::Bearer)]);
    assert_eq!(api.auth.default_scheme.as_deref(), Some("oauth2"));
    assert_eq!(api.auth.schemes["oauth2"].evidence, "oauth2, its access token sent as bearer at /auth/oauth2");
    let ways = |name: &str| tool(&api, name).tool.security.clone();
    assert_eq!(ways("planner.events.list"), [["oauth2"], ["key"]]);
    assert_eq!(ways("planner.about"), [vec!["oauth2"], vec!["key"], vec![]], "no scope is asked for");
    assert_eq!(
        tool(&api, "planner.events.list").scopes,
        ["https://planner.example/auth/plans", "https://planner.example/auth/plans.readonly"]
    );
}

#[test]
fn bodies_are_flattened_and_required_as_each_method_says() {
    let api = planner();
    let insert = schema(&api, "planner.events.insert");
    assert_eq!(insert["required"], json!(["planId", "end", "start"]));
    let names: Vec<&String> = insert["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["planId", "alt", "fields", "quotaUser", "attendees", "end", "parent", "size", "start", "status", "summary"],
        "`id` is read-only"
    );
    assert_eq!(insert["properties"]["size"]["type"], "string", "64 bits are text");
    assert_eq!(
        insert["properties"]["status"]["description"],
        "- `confirmed`: It takes place.\n- `tentative`: It may take place."
    );
    let guests = &insert["$defs"]["Attendee"]["properties"]["guests"];
    assert_eq!(guests, &json!({"type": "integer", "format": "int32", "minimum": 0, "maximum": 9, "default": 0}));
    assert_eq!(insert["$defs"]["Event"]["properties"]["parent"]["$ref"], "#/$defs/Event");
    let body = |name: &str| tool(&api, name).operation.body.clone().unwrap();
    assert!(body("planner.events.insert").required);
    assert!(!body("planner.plans.patch").required, "nothing is required of it");
    assert_eq!(schema(&api, "planner.plans.patch")["required"], json!(["planId"]));
    assert_eq!(schema(&api, "planner.plans.insert")["required"], json!(["title"]));
    assert_eq!(tool(&api, "planner.events.list").response_fields[..3], ["attendees", "dateTime", "email"]);
    let (line, sent) = request(
        &api,
        "planner.events.insert",
        json!({"planId": "p", "start": {"dateTime": "2026-01-01T00:00:00Z"}, "end": {}, "fields": "id"}),
    );
    assert_eq!(line, "POST /plans/p/events?fields=id");
    assert_eq!(sent, r#"{"end":{},"start":{"dateTime":"2026-01-01T00:00:00Z"}}"#);
}

#[test]
fn a_path_of_several_segments_is_given_by_its_segments() {
    let api = planner();
    let get = schema(&api, "planner.events.files.get");
    assert_eq!(get["required"], json!(["plansId", "filesId"]));
    let said = "One segment of `name`, as in the path. The file, as `plans/{plan}/files/{file}`.";
    assert_eq!(get["properties"]["plansId"], json!({"type": "string", "minLength": 1, "description": said}));
    let arguments = json!({"plansId": "p 1", "filesId": "f", "alt": "media"});
    let (line, _) = request(&api, "planner.events.files.get", arguments);
    assert_eq!(line, "GET /v2/plans/p%201/files/f?alt=media");
    assert!(api.diagnostics.iter().any(|one| one.message.contains("given by their segments")), "{:?}", api.diagnostics);
}

#[test]
fn media_is_downloaded_by_alt_and_uploaded_in_one_request() {
    let api = planner();
    let get = tool(&api, "planner.events.files.get");
    assert_eq!(get.operation.accept, "application/json, */*");
    assert_eq!(schema(&api, "planner.events.files.get")["properties"]["alt"]["enum"], json!(["json", "media"]));

    let media = &tool(&api, "planner.events.files.create_media").operation;
    assert_eq!(media.base.as_deref(), Some("https://planner.example"));
    assert_eq!((media.path.as_str(), media.fixed_query.as_str()), ("/upload/planner/v2/files", "uploadType=media"));
    let body = media.body.clone().unwrap();
    assert!(body.required && body.kind == MediaKind::Binary, "{body:?}");
    assert_eq!(body.arguments, BodyArguments::Whole { argument: "__requestBody__".to_owned() });
    let Value::Object(content) = json!({"__requestBody__": {"base64": "aGk=", "content_type": "image/png"}}) else {
        panic!("an object")
    };
    let built = build(media, &content).unwrap();
    assert_eq!(built.body.as_deref(), Some(&b"hi"[..]));
    assert!(built.headers.contains(&("content-type".to_owned(), "image/png".to_owned())), "{:?}", built.headers);

    let multipart = tool(&api, "planner.events.files.create_multipart");
    assert_eq!(multipart.operation.fixed_query, "uploadType=multipart");
    assert_eq!(schema(&api, &multipart.tool.name)["required"], json!(["metadata", "media"]));
    let arguments = json!({"metadata": {"name": "n"}, "media": {"base64": "aGk=", "content_type": "text/plain"}});
    let (_, sent) = request(&api, &multipart.tool.name, arguments);
    let parts: Vec<&str> = sent.lines().filter(|line| !line.starts_with("--") && !line.is_empty()).collect();
    assert_eq!(
        parts,
        [
            "Content-Type: application/json; charset=UTF-8",
            r#"{"name":"n"}"#,
            "Content-Disposition: attachment; filename=\"media\"",
            "Content-Type: text/plain",
            "hi"
        ]
    );
    let told = |text: &str| api.diagnostics.iter().any(|one| one.message.contains(text));
    assert!(told("resumable upload is left out") && told("`batchPath` is ignored"), "{:?}", api.diagnostics);
}

#[test]
fn an_upload_asks_as_its_method_does() {
    let upload = json!({"protocols": {"simple": {"path": "/upload/x", "multipart": true}}, "accept": ["message/*"]});
    let methods = json!({
        "send": {"id": "t.messages.send", "path": "x", "httpMethod": "POST", "request": {"$ref": "S"},
                 "supportsMediaUpload": true, "mediaUpload": upload},
        "purge": {"id": "t.messages.purge", "path": "x", "httpMethod": "POST", "request": {"$ref": "S"},
                  "supportsMediaUpload": true, "mediaUpload": upload},
    });
    let api = read_value(&document(&methods)).unwrap();
    assert_eq!(api.total, 6);
    for (name, access) in [("t.messages.send", Access::Destroy), ("t.messages.purge", Access::Destroy)] {
        let own = tool(&api, name).tool.access;
        for form in ["_media", "_multipart"] {
            assert!(tool(&api, &format!("{name}{form}")).tool.access >= own, "{name}{form}");
        }
        assert!(own <= access, "{name}");
    }
    let media = tool(&api, "t.messages.send_media").operation.body.clone().unwrap();
    assert_eq!(media.content_type, "message/rfc822");
    let mut rootless = document(&methods);
    rootless["rootUrl"].take();
    let api = read_value(&rootless).unwrap();
    let told =
        api.diagnostics.iter().filter(|one| one.message == "media upload is left out: the document has no `rootUrl`");
    assert_eq!((api.total, told.count()), (2, 4));
}

#[test]
fn methods_that_cannot_be_called_are_skipped_with_the_reason() {
    let methods = json!({
        "whole": {"id": "t.whole", "path": "whole", "httpMethod": "GET"},
        "text": "no method",
        "pathless": {"id": "t.pathless", "httpMethod": "GET"},
        "verbless": {"id": "t.verbless", "path": "v"},
        "odd": {"id": "t.odd", "path": "o", "httpMethod": "BREW"},
    });
    let api = read_value(&document(&methods)).unwrap();
    let skipped: Vec<String> =
        api.skipped.iter().map(|one| format!("{} {} {}", one.name, one.pointer, one.reason)).collect();
    assert_eq!(
        skipped,
        [
            "t.text /methods/text the method is not an object",
            "t.pathless /methods/pathless the method has no `path`",
            "t.verbless /methods/verbless the method has no `httpMethod`",
            "t.odd /methods/odd method `BREW` is not supported",
        ]
    );
    assert_eq!((api.total, api.tools.len()), (5, 1));
}

#[test]
fn what_is_odd_in_a_method_is_mended_and_said_where_it_stands() {
    let methods = json!({
        "nameless": {"path": "a/{b}/{+c}", "httpMethod": "post", "parameters": {
            "q": {"type": "integer", "default": "many", "minimum": "x"}, "bad": 1, "gone": {"location": "path"},
            "h": {"location": "body", "type": "string"}},
            "request": {"$ref": "Nowhere"}, "response": {"$ref": "Nowhere"}},
        "inline": {"id": "t.inline", "path": "a", "httpMethod": "POST", "request": {"type": "object"}},
    });
    let api = read_value(&document(&methods)).unwrap();
    assert_eq!(
        notes(&api, "t.nameless"),
        [
            "the method has no `id`; it is named by the resources around it (at /methods/nameless)",
            "path parameter `c` may be several segments, which no `flatPath` tells apart; it is one argument, and a `/` in it is sent as `%2F` (at /methods/nameless)",
            "parameter `bad` left out: it is not an object (at /methods/nameless/parameters/bad)",
            "parameter in `body` left out (at /methods/nameless/parameters/h)",
            "path parameter `gone` is not in the path and was left out (at /methods/nameless/parameters/gone)",
            "path parameter `b` is not declared; taken as a string (at /methods/nameless)",
            "path parameter `c` is not declared; taken as a string (at /methods/nameless)",
            "schema left open: `#/schemas/Nowhere` leads nowhere: there is no `Nowhere` at `/schemas` (at /methods/nameless/request)",
        ]
    );
    assert_eq!(notes(&api, "t.inline"), ["request body without `$ref` taken as any JSON (at /methods/inline/request)"]);
    let body = tool(&api, "t.nameless").operation.body.as_ref().unwrap();
    assert_eq!(body.arguments, BodyArguments::Whole { argument: "__requestBody__".to_owned() });
    let parameters: Vec<(&str, Location)> =
        tool(&api, "t.nameless").operation.parameters.iter().map(|one| (one.name.as_str(), one.location)).collect();
    assert_eq!(parameters, [("q", Location::Query), ("b", Location::Path), ("c", Location::Path)]);
    for text in ["a default that is not a value", "bounds that are not numbers"] {
        assert!(api.diagnostics.iter().any(|one| one.message.contains(text)), "{text}");
    }
}

#[test]
fn methods_of_one_address_are_tools_of_their_own() {
    let get = |id: &str| {
        json!({"id": id, "path": "v1/{+name}", "flatPath": "v1/a/{aId}", "httpMethod": "GET",
                                "parameters": {"name": {"location": "path", "type": "string", "required": true}}})
    };
    let api = read_value(&document(&json!({"a": get("t.a.get"), "b": get("t.b.get"), "c": get("t.b.get")}))).unwrap();
    let names: Vec<&str> = api.tools.iter().map(|one| one.tool.name.as_str()).collect();
    assert_eq!(names[..2], ["t.a.get", "t.b.get"]);
    assert!(names[2].starts_with("t.b.get-"), "two methods claim one id: {names:?}");
    assert!(api.tools.iter().all(|one| one.tool.path == "/v1/a/{aId}" && one.tool.method == Method::Get));
    assert_eq!(api.tools[2].pointer, "/methods/c");
}

#[test]
fn a_document_without_an_address_has_no_server() {
    let text = json!({"discoveryVersion": "v1", "methods": {}}).to_string();
    let source = Source { name: "https://www.example/discovery/rest", bytes: text.as_bytes() };
    let api = read(source, &mut NoReferences, &SpecLimits::default()).unwrap();
    assert!(api.base_urls.is_empty(), "the place where it was found is not the API's: {:?}", api.base_urls);
    let said: Vec<String> = api.diagnostics.iter().map(|one| format!("{} {}", one.pointer, one.message)).collect();
    assert_eq!(
        said,
        [
            "/ the document has no methods",
            "/rootUrl server left out: it has no `url`",
            "/title the document has no title"
        ]
    );
    let regional = json!({"discoveryVersion": "v1", "rootUrl": "https://a.example", "servicePath": "s/",
                          "endpoints": [{"endpointUrl": "https://eu.a.example/", "location": "eu"}, 1]});
    let urls: Vec<String> =
        inline(&regional.to_string()).base_urls.into_iter().map(|one| one.url + &one.pointer).collect();
    assert_eq!(urls, ["https://a.example/s/rootUrl", "https://eu.a.example/s/endpoints/0"]);
}

#[test]
fn too_many_or_too_deep_is_a_limit() {
    let methods: serde_json::Map<String, Value> = (0..30)
        .map(|n| (format!("m{n}"), json!({"id": format!("t.m{n}"), "path": "x", "httpMethod": "GET"})))
        .collect();
    let text = document(&Value::Object(methods)).to_string();
    let limits = SpecLimits { operations: 20, ..SpecLimits::default() };
    let error = read(Source { name: "t", bytes: text.as_bytes() }, &mut NoReferences, &limits).unwrap_err();
    assert_eq!(error.to_string(), "`t` exceeds a limit: more than 20 operations");
    let nested = |levels: usize| {
        let (open, close) = ("{\"resources\":{\"r\":".repeat(levels), "}}".repeat(levels));
        format!("{{\"discoveryVersion\":\"v1\",\"resources\":{{\"r\":{open}{{}}{close}}}}}")
    };
    let deep = |levels: usize| {
        read(Source { name: "t", bytes: nested(levels).as_bytes() }, &mut NoReferences, &SpecLimits::default())
    };
    assert!(deep(60).is_ok());
    for levels in [120, 4_000] {
        assert!(matches!(deep(levels), Err(SpecError::Limit { .. })), "{levels}");
    }
    let long = document(&json!({"x".repeat(2_000): {"id": "t.a", "path": "x", "httpMethod": "GET"}}));
    let error = read_value(&long).unwrap_err();
    assert_eq!(error.to_string(), "`t.json` exceeds a limit: more than 1000 bytes of the place of a method");
    let schema = format!("{}{{}}{}", "{\"properties\":{\"p\":".repeat(120), "}}".repeat(120));
    let text = format!(
        r#"{{"discoveryVersion":"v1","schemas":{{"S":{schema}}},"methods":{{"m":{{"id":"m","path":"m","httpMethod":"PUT","request":{{"$ref":"S"}}}}}}}}"#
    );
    assert_eq!(inline(&text).tools.len(), 1);
}

const WORDS: [&str; 14] = [
    "any",
    "array",
    "integer",
    "string",
    "path",
    "query",
    "GET",
    "POST",
    "S",
    "{+a}",
    "v1/{+a}/b",
    "v1/x/{y}/b",
    "*/*",
    "1",
];

const KEYS: [&str; 30] = [
    "id",
    "path",
    "flatPath",
    "httpMethod",
    "parameters",
    "request",
    "response",
    "scopes",
    "methods",
    "resources",
    "$ref",
    "type",
    "location",
    "repeated",
    "enum",
    "enumDescriptions",
    "default",
    "minimum",
    "properties",
    "items",
    "additionalProperties",
    "annotations",
    "required",
    "variant",
    "map",
    "mediaUpload",
    "protocols",
    "simple",
    "supportsMediaUpload",
    "alt",
];

/// Values with the words of the format in them.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z{}/+#?.~%]{0,8}".prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = prop::sample::select(&KEYS[..]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..8)
                .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn check(document: &Value) {
    if let Ok(api) = read_value(document) {
        assert_eq!(api.generated() + api.repaired() + api.skipped.len(), api.total);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_documents_are_accounted_for(methods in value(), other in value()) {
        check(&json!({"discoveryVersion": "v1", "methods": {"m": methods}, "resources": {"r": other}, "parameters": other,
                      "schemas": {"S": methods, "T": other}, "auth": other, "rootUrl": other, "endpoints": methods}));
    }

    #[test]
    fn mutated_documents_are_accounted_for(at in 0..500_usize, replacement in value()) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/specs/planner.discovery.json");
        let mut document: Value = serde_json::from_slice(&super::bytes(&path).unwrap()).unwrap();
        super::hostile::mutate(&mut document, &mut at.clone(), &replacement);
        check(&document);
    }
}
