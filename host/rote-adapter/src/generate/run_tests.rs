//! A generated component, run: what it reads of its table and hands to the host.

use rote_request::Operation;
use serde_json::json;
use wasmtime::component::{Component, Func, Instance, Linker, Val};
use wasmtime::{Engine, Store};

use super::generate;

/// What the guest sent, one record per request.
type Sent = Vec<Val>;

struct Running {
    store: Store<Sent>,
    instance: Instance,
}

impl Running {
    fn start(operations: &[Operation]) -> Self {
        let engine = Engine::default();
        let component = Component::new(&engine, generate(operations).unwrap()).unwrap();
        let mut linker: Linker<Sent> = Linker::new(&engine);
        let mut http = linker.instance("rote:host/http@0.2.0").unwrap();
        http.func_new("send", |mut store, _, arguments, results| {
            store.data_mut().push(arguments[0].clone());
            let response = Val::Record(vec![
                ("id".into(), Val::U64(7)),
                ("status".into(), Val::U16(200)),
                ("content-type".into(), Val::String("application/json".into())),
                ("bytes".into(), Val::U64(2)),
            ]);
            results[0] = Val::Result(Ok(Some(Box::new(response))));
            Ok(())
        })
        .unwrap();
        let bytes = generate(operations).unwrap();
        let table = rote_runtime::custom_section(&bytes, rote_runtime::PAYLOAD_SECTION).unwrap().unwrap().to_vec();
        let length = u32::try_from(table.len()).unwrap();
        let mut host = linker.instance("rote:host/operations@0.2.0").unwrap();
        host.func_wrap("length", move |_, (): ()| Ok((length,))).unwrap();
        host.func_wrap("read", move |_, (offset, length): (u32, u32)| {
            let rest = table.get(offset as usize..).unwrap_or_default();
            Ok((rest[..rest.len().min(length as usize)].to_vec(),))
        })
        .unwrap();
        let mut store = Store::new(&engine, Vec::new());
        let instance = linker.instantiate(&mut store, &component).unwrap();
        Self { store, instance }
    }

    fn function(&mut self, name: &str) -> Func {
        self.instance.get_func(&mut self.store, name).unwrap()
    }

    fn describe(&mut self) -> Val {
        let mut results = [Val::Bool(false)];
        self.function("describe").call(&mut self.store, &[], &mut results).unwrap();
        let [result] = results;
        result
    }

    /// Calls a tool; the error, if it is one, by the name of its case.
    fn call(&mut self, tool: &str, arguments: &serde_json::Value) -> Result<Val, String> {
        let parameters = [Val::String(tool.into()), Val::String(arguments.to_string())];
        let mut results = [Val::Bool(false)];
        self.function("call").call(&mut self.store, &parameters, &mut results).unwrap();
        let [result] = results;
        match result {
            Val::Result(Ok(Some(response))) => Ok(*response),
            Val::Result(Err(Some(error))) => match field(&error, "cause") {
                Val::Variant(case, _) => Err(case.clone()),
                other => panic!("not a cause: {other:?}"),
            },
            other => panic!("not a result: {other:?}"),
        }
    }
}

fn operation(number: usize, path_bytes: usize) -> Operation {
    serde_json::from_value(json!({
        "name": format!("tool_{number}"),
        "method": "POST",
        "path": format!("/v{number}/{{id}}/{}", "p".repeat(path_bytes)),
        "parameters": [{
            "argument": "id", "name": "id", "location": "path", "required": true,
            "encoding": { "style": "simple", "explode": false },
        }],
        "body": {
            "content_type": "application/json", "kind": { "json": {} },
            "arguments": { "fields": [{ "argument": "text", "name": "text" }] },
        },
        "credentials": [["token"]],
    }))
    .unwrap()
}

fn field<'a>(record: &'a Val, name: &str) -> &'a Val {
    let Val::Record(fields) = record else { panic!("not a record: {record:?}") };
    &fields.iter().find(|(field, _)| field == name).unwrap().1
}

#[test]
fn a_call_hands_one_built_request_to_the_host() {
    let mut running = Running::start(&[operation(1, 2), operation(2, 2)]);
    assert_eq!(running.describe(), Val::String(r#"{"tools":2,"table":1}"#.into()));
    let response = running.call("tool_2", &json!({ "id": "a/b", "text": "hi" })).unwrap();
    assert_eq!(field(&response, "id"), &Val::U64(7));
    let [request] = running.store.data().as_slice() else { panic!("not one request") };
    assert_eq!(field(request, "method"), &Val::String("POST".into()));
    assert_eq!(field(request, "url"), &Val::String("/v2/a%2Fb/pp".into()));
    let body = br#"{"text":"hi"}"#.iter().copied().map(Val::U8).collect();
    assert_eq!(field(request, "body"), &Val::Option(Some(Box::new(Val::List(body)))));
    let slots = Val::List(vec![Val::List(vec![Val::String("token".into())])]);
    assert_eq!(field(request, "credentials"), &slots);
}

#[test]
fn what_cannot_be_built_is_an_error_and_not_a_request() {
    let mut running = Running::start(&[operation(1, 2)]);
    assert_eq!(running.call("tool_9", &json!({})), Err("not-found".into()));
    assert_eq!(running.call("tool_1", &json!({})), Err("invalid-input".into()));
    assert_eq!(running.call("tool_1", &json!({ "id": ".." })), Err("invalid-input".into()));
    assert_eq!(running.call("tool_1", &json!([])), Err("invalid-input".into()));
    assert!(running.store.data().is_empty());
}

#[test]
fn adapters_share_one_code_and_none_of_them_is_compiled() {
    #[derive(Debug)]
    struct Seven;
    impl rote_types::Entropy for Seven {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(7);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let home = rote_home::Home::open(dir.path().join("home")).unwrap();
    let sandbox = rote_runtime::Sandbox::new(&home, &Seven);
    let prepare = |number| {
        let component = generate(&[operation(number, 2)]).unwrap();
        sandbox.prepare(rote_runtime::World::Adapter, &component).unwrap().code_digest()
    };
    let shell = rote_types::sha256(super::SHELL);
    assert_eq!((prepare(1), prepare(2)), (shell, shell));
    // One entry for both, unpacked from this program: the test of the native code says that it has the shell's.
    assert_eq!(home.cache_dir().join("components").read_dir().unwrap().count(), 1);
}

#[test]
fn a_large_table_is_read_piece_by_piece() {
    let operations: Vec<_> = (0..50).map(|number| operation(number, 100_000)).collect();
    let mut running = Running::start(&operations);
    let text = "x".repeat(1_000_000);
    for number in [0, 49, 7, 31, 7] {
        running.call(&format!("tool_{number}"), &json!({ "id": number, "text": text })).unwrap();
        let expected = format!("/v{number}/{number}/{}", "p".repeat(100_000));
        let request = running.store.data().last().unwrap();
        assert!(field(request, "url") == &Val::String(expected), "tool_{number}");
    }
}
