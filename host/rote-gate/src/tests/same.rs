//! Writes that could be the second of their kind: the same call again, a number that is given twice, a name that is.

use std::sync::Arc;

use rote_home::{Durability, NewEvent};
use rote_types::{Classify, Clock, ErrorKind, ResponseId, WorkspaceIdentity, WorkspaceName};
use rote_workspace::{CleanFilter, ResponseState, Settlement, Workspace, clean_workspaces};
use serde_json::{Value, json};

use crate::tests::support::{Server, Surface, World, claim};
use crate::{FlowStamp, GateError, Invocation, ToolPermission, recover, settle, sift};

/// A port on which nobody answers: whoever sends there fails in another way than those who are refused before.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Writes into the journal that a call was begun, as a process does that is then gone.
fn begin(world: &World, workspace: Value, response: u64, more: &Value) {
    begin_at(world, "2026-03-01T12:30:00Z", workspace, response, more);
}

fn begin_at(world: &World, at: &str, workspace: Value, response: u64, more: &Value) {
    let mut body = json!({
        "adapter": "api", "tool": "post", "method": "POST", "url": "http://127.0.0.1:9/things/7", "decision": "allow",
        "rule": "", "reason": "", "risk_level": "low", "impact": "", "dry_run": false,
        "fingerprint": "f", "tool_digest": "d", "args_digest": rote_types::sha256(b"{}"),
    });
    body["response"] = json!(ResponseId(response));
    for part in [&workspace, more] {
        body.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
    }
    let event = NewEvent { kind: "effect.started", effect: None, body };
    world.journal.append(at.parse().unwrap(), Durability::Disk, &[event]).unwrap();
}

fn identity(workspace: &Workspace) -> Value {
    serde_json::to_value(workspace.identity()).unwrap()
}

async fn send(world: &World, call: &Invocation) -> GateError {
    let method = if call.tool.name == "get" { "GET" } else { "POST" };
    let mut claim = claim(method, "/things/7");
    let header = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    claim.headers = call.arguments.as_object().unwrap().iter().filter_map(header).collect();
    world.send(call, claim).await.unwrap_err()
}

/// An API whose `POST` declares a header for keys that a vendor gave its own name.
fn vendor_named(base: &str) -> Surface {
    let mut surface = Surface::at(base);
    let post = surface.tools.iter_mut().find(|tool| tool.name == "post").unwrap();
    post.idempotency_header = Some(VENDOR.to_owned());
    surface.redigested()
}

const VENDOR: &str = "X-Qonto-Idempotency-Key";

#[tokio::test]
async fn a_write_in_doubt_is_the_same_under_a_new_key_of_the_callers() {
    let world = World::new();
    let server = Server::start(|_| b"not an answer\r\n\r\n".to_vec()).await;
    let (named, plain) = (vendor_named(&server.url()), Surface::at(&server.url()));
    let post = |workspace: &Arc<Workspace>, arguments: Value, root: Option<&WorkspaceIdentity>| {
        let surface = if arguments.get("idempotency_key").is_some() { &plain } else { &named };
        let mut call = world.call_in(workspace, surface, "post", arguments);
        call.flow = root.map(|root| {
            let permission = ToolPermission { adapter: surface.manifest.id.clone(), tool: "post".to_owned() };
            let (name, write_permissions) = ("f".parse().unwrap(), vec![permission]);
            Arc::new(FlowStamp { name, write_permissions, blessing: None, root: root.clone() })
        });
        call
    };
    let make =
        |name: &str| Arc::new(Workspace::create(&world.home, &name.parse().unwrap(), world.clock.now()).unwrap());
    let refused = |error: GateError| assert!(matches!(error, GateError::SameInDoubt { .. }), "{error:?}");
    for key in [VENDOR, "idempotency_key"] {
        let arguments = |value: &str| json!({"to": "Ada", key: value});
        let sent = server.seen();
        // By hand: in its workspace, and in one that took the name of it.
        let name = format!("hand-{}", key.len());
        let hand = make(&name);
        send(&world, &post(&hand, arguments("k1"), None)).await;
        assert_eq!(server.seen(), sent + 1);
        for again in [arguments("k2"), json!({"to": "Ada"})] {
            refused(send(&world, &post(&hand, again, None)).await);
        }
        drop(hand);
        rote_home::remove_dir(&world.home.workspace_dir(&name.parse().unwrap())).unwrap();
        let hand = make(&name);
        refused(send(&world, &post(&hand, arguments("k3"), None)).await);
        // In a tree of runs: another run of it, also where the workspace of the first is gone.
        let (outer, name) = (make(&format!("outer-{}", key.len())), format!("inner-{}", key.len()));
        let inner = make(&name);
        let root = outer.identity().clone();
        send(&world, &post(&inner, arguments("k1"), Some(&root))).await;
        refused(send(&world, &post(&outer, arguments("k2"), Some(&root))).await);
        drop(inner);
        rote_home::remove_dir(&world.home.workspace_dir(&name.parse().unwrap())).unwrap();
        refused(send(&world, &post(&outer, arguments("k3"), Some(&root))).await);
        assert_eq!(server.seen(), sent + 2, "{key}");
    }
}

#[tokio::test]
async fn a_write_in_doubt_of_which_only_the_log_knows_is_the_same_under_a_new_key() {
    let world = World::new();
    let surface = vendor_named(NOWHERE);
    let lost = world.call(&surface, "post", json!({"n": 1, VENDOR: "k1"}));
    world.workspace.disown(lost.response).unwrap();
    let error = send(&world, &world.call(&surface, "post", json!({"n": 1.0, VENDOR: "k2"}))).await;
    assert!(matches!(error, GateError::SameInDoubt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_key_whose_header_was_not_known_when_the_write_was_begun_does_not_hide_it() {
    let world = World::new();
    let arguments = json!({"n": 1, VENDOR: "k1"});
    let before = world.call(&vendor_named(NOWHERE), "post", arguments.clone());
    let whole = json!({"adapter": "things", "args_digest": rote_govern::args_digest(&arguments)});
    begin(&world, identity(&world.workspace), before.response.0, &whole);
    world.workspace.disown(before.response).unwrap();
    let error = send(&world, &world.call(&vendor_named(NOWHERE), "post", arguments)).await;
    assert!(matches!(error, GateError::SameInDoubt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_number_that_the_journal_has_as_begun_is_not_begun_again() {
    let world = World::new();
    for tool in ["post", "get"] {
        let call = world.call(&Surface::at(NOWHERE), tool, json!({}));
        begin(&world, identity(&world.workspace), call.response.0, &json!({}));
        let error = send(&world, &call).await;
        assert!(matches!(&error, GateError::BegunBefore { response, .. } if *response == call.response), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let row = world.workspace.summary(call.response).unwrap();
        assert_eq!(
            (row.state, row.writes),
            (ResponseState::InDoubt, true),
            "{tool}: what was begun is a write in doubt"
        );
        let skip = [(call.response, Settlement::Skip)];
        settle(&world.journal, &world.workspace, &skip, None, world.clock.now()).unwrap();
    }
    // A read that was begun may be lost, and one of another workspace is another.
    let call = world.call(&Surface::at(NOWHERE), "get", json!({}));
    begin(&world, identity(&world.workspace), call.response.0, &json!({"writes": false}));
    begin(&world, json!({"workspace": "w", "workspace_id": "another"}), call.response.0, &json!({}));
    assert!(matches!(send(&world, &call).await, GateError::Upstream { .. }));
}

#[tokio::test]
async fn lost_rows_are_taken_up_again_and_no_number_is_given_twice() {
    let world = World::new();
    let known = world.call(&Surface::at(NOWHERE), "post", json!({})).response.0;
    begin(&world, identity(&world.workspace), known, &json!({}));
    begin(&world, identity(&world.workspace), known + 2, &json!({"tool": "put", "method": "PUT", "flow": "f"}));
    begin(&world, identity(&world.workspace), known + 3, &json!({"writes": false}));
    begin(&world, json!({"workspace": "w"}), known + 9, &json!({}));
    for _ in 0..2 {
        recover(&world.journal, &world.workspace).unwrap();
        sift(&world.journal, &world.workspace).unwrap();
        let rows = world.workspace.ls().unwrap();
        let state = |row: &rote_workspace::ResponseSummary| (row.id.0 - known, row.state);
        let states: Vec<_> = rows.iter().map(state).collect();
        let expected = [(0, ResponseState::Pending), (2, ResponseState::InDoubt), (3, ResponseState::Lost)];
        assert_eq!(states, expected);
        assert_eq!(rows[1].flow.as_ref().map(|flow| flow.as_str()), Some("f"));
        assert_eq!(rows[1].url, "http://127.0.0.1:9/things/7");
    }
    assert_eq!(world.call(&Surface::at(NOWHERE), "post", json!({})).response.0, known + 4);
}

#[tokio::test]
async fn a_workspace_does_not_share_the_events_of_one_that_had_its_name() {
    let world = World::new();
    let (name, now): (WorkspaceName, _) = ("v".parse().unwrap(), world.clock.now());
    let note = NewEvent { kind: "test", effect: None, body: json!({}) };
    world.journal.append("2026-03-01T11:00:00Z".parse().unwrap(), Durability::Process, &[note]).unwrap();
    let mut earlier: Option<String> = None;
    for _ in 0..2 {
        let workspace = std::sync::Arc::new(Workspace::create(&world.home, &name, now).unwrap());
        assert_ne!(workspace.identity().id, earlier, "each has an id of its own");
        let again = Workspace::create(&world.home, &name, now).unwrap();
        assert_eq!(again.identity(), workspace.identity());
        let call = world.call_in(&workspace, &Surface::at(NOWHERE), "post", json!({}));
        assert_eq!(call.response, ResponseId(1));
        workspace.disown(call.response).unwrap();
        if earlier.is_some() {
            // Nobody began it: that the other one's was begun proves nothing of this.
            sift(&world.journal, &workspace).unwrap();
            assert_eq!(workspace.summary(call.response).unwrap().state, ResponseState::Error);
            break;
        }
        begin(&world, identity(&workspace), 1, &json!({}));
        sift(&world.journal, &workspace).unwrap();
        assert_eq!(workspace.summary(call.response).unwrap().state, ResponseState::InDoubt);
        settle(&world.journal, &workspace, &[(call.response, Settlement::Skip)], None, now).unwrap();
        earlier.clone_from(&workspace.identity().id);
        drop((workspace, again, call));
        let all = CleanFilter { pattern: Some("v".to_owned()), ..CleanFilter::default() };
        let cleaning = clean_workspaces(&world.home, &all, now, false, |_| Ok(None)).unwrap();
        assert_eq!(cleaning.removed, std::slice::from_ref(&name));
    }
}

#[tokio::test]
async fn an_older_workspace_of_a_name_and_one_that_lost_what_it_is_are_refused() {
    let world = World::new();
    let name: WorkspaceName = "v".parse().unwrap();
    let folder = world.home.workspace_dir(&name);
    let database = folder.join("workspace.db");
    let make = |at: &str| Workspace::create(&world.home, &name, at.parse().unwrap()).unwrap();
    let forget = |to: &[u8]| {
        rote_home::remove_dir(&folder).unwrap();
        rote_home::write_atomic(&database, to, rote_home::FileMode::Private).unwrap();
        Workspace::open(&world.home, &name).unwrap()
    };
    // Before it was made somebody else had the name, which is nothing to it.
    begin(&world, json!({"workspace": "v", "workspace_id": "another"}), 1, &json!({}));
    let older = make("2026-03-01T12:30:00Z");
    recover(&world.journal, &older).unwrap();
    drop(older);
    let older = rote_home::read_capped(&database, 1 << 20).unwrap();
    let lost = forget(b"");
    assert_eq!(lost.identity().id, None);
    let error = recover(&world.journal, &lost).unwrap_err();
    assert!(matches!(&error, GateError::Forgotten { response: ResponseId(1), .. }), "{error:?}");
    drop(lost);
    let older = forget(&older);
    assert!(older.identity().id.is_some());
    recover(&world.journal, &older).unwrap();
    let put_back = |id: &str, writes: bool| {
        let identity = json!({"workspace": "v", "workspace_id": id});
        begin_at(&world, "2026-03-01T12:40:00Z", identity, 2, &json!({"writes": writes}));
    };
    put_back("newer", false);
    recover(&world.journal, &older).unwrap();
    put_back("newer", true);
    let error = recover(&world.journal, &older).unwrap_err();
    assert!(error.to_string().contains("`api/post` was begun under its name as `@2`"), "{error}");
    assert_eq!((error.kind(), older.highest().unwrap()), (ErrorKind::Conflict, 0));
}

#[tokio::test]
async fn a_workspace_without_an_id_is_known_by_its_name() {
    let world = World::new();
    begin(&world, json!({"workspace": "w"}), 1, &json!({}));
    let before = WorkspaceIdentity { name: "w".parse().unwrap(), id: None };
    assert!(world.journal.started(&before, ResponseId(1)).unwrap().is_some());
    assert!(world.journal.started(world.workspace.identity(), ResponseId(1)).unwrap().is_none());
}

#[tokio::test]
async fn of_several_words_all_are_said_or_none() {
    let world = World::new();
    let mut ids = Vec::new();
    for number in 0..2 {
        let call = world.call(&Surface::at(NOWHERE), "post", json!({"n": number}));
        begin(&world, identity(&world.workspace), call.response.0, &json!({}));
        world.workspace.disown(call.response).unwrap();
        ids.push(call.response);
    }
    let events = world.events().len();
    let now = world.clock.now();
    let said = [(ids[0], Settlement::Skip), (ids[1], Settlement::Done { answer: Some("{".to_owned()) })];
    settle(&world.journal, &world.workspace, &said, None, now).unwrap_err();
    std::fs::rename(world.home.journal_anchor_file(), world.home.root().join("kept")).unwrap();
    let said = [(ids[0], Settlement::Skip), (ids[1], Settlement::Skip)];
    settle(&world.journal, &world.workspace, &said, None, now).unwrap_err();
    std::fs::rename(world.home.root().join("kept"), world.home.journal_anchor_file()).unwrap();
    assert_eq!(world.events().len(), events, "no word is in the journal");
    assert_eq!(world.workspace.doubts(9).unwrap().len(), 2);
    assert_eq!(settle(&world.journal, &world.workspace, &said, None, now).unwrap().len(), 2);
    assert_eq!((world.events().len(), world.workspace.doubts(9).unwrap().len()), (events + 2, 0));
}
