use rote_types::sha256;

use super::*;
use crate::key::tests::{Counting, PASSPHRASE, at, home};

/// A home with a key, and a plan of two calls.
struct World {
    home: Home,
    entropy: Counting,
    keys: Keys,
    key: Unlocked,
    approvals: Approvals,
    plan: Plan,
    _dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let ((dir, home), entropy) = (home(), Counting::default());
        let (keys, key) = Keys::create(&home, PASSPHRASE, at(0), &entropy).unwrap();
        let approvals = Approvals::open(&home).unwrap();
        let (mut plan, _) = crate::plan::tests::vector();
        plan.fingerprints.insert("things".to_owned(), "mcp_1".to_owned());
        plan.trust.insert("things".to_owned(), "00".to_owned());
        Self { home, entropy, keys, key, approvals, plan, _dir: dir }
    }

    fn active(&self) -> PublicKey {
        self.keys.active(&self.key.id).unwrap()
    }

    fn request(&self) -> Envelope {
        let about = About { title: "writes a file".to_owned(), ..About::default() };
        let asked = Asked { plan: &self.plan, kind: Kind::Call, about: &about };
        self.approvals.request(&asked, &self.active(), at(0), &self.entropy).unwrap()
    }

    fn sign(&self, id: ApprovalId, approved: &[bool]) -> Result<Envelope, ApprovalError> {
        self.approvals.sign(id, Said { approved, by: "p", denial: None }, &self.key, at(1))
    }

    fn signed(&self) -> ApprovalId {
        let id = self.request().id;
        self.sign(id, &[true, false]).unwrap();
        id
    }

    fn consume(&self, id: ApprovalId, plan: &Plan, now: Timestamp) -> Result<Vec<Decision>, Problem> {
        self.approvals.consume(id, (&self.keys, &self.active()), plan, None, now).unwrap()
    }

    fn state(&self, id: ApprovalId) -> State {
        self.approvals.get(id).unwrap().state(at(2))
    }

    /// Writes a column of an envelope, as somebody with the file may.
    fn edit(&self, id: ApprovalId, column: &str, value: &str) {
        let update = format!("UPDATE approval_envelopes SET {column} = ?2 WHERE envelope_id = ?1");
        self.approvals.connection.execute(&update, (id.to_string(), value)).unwrap();
    }
}

#[test]
fn an_approval_is_used_once_by_one_of_many() {
    let world = World::new();
    let id = world.signed();
    let (home, keys, plan, active) = (&world.home, &world.keys, &world.plan, &world.active());
    let wins = std::thread::scope(|scope| {
        let use_up = || Approvals::open(home).unwrap().consume(id, (keys, active), plan, None, at(2)).unwrap();
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(use_up)).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    let (won, lost): (Vec<_>, Vec<_>) = wins.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 7));
    let decided: Vec<bool> = won[0].as_ref().unwrap().iter().map(|one| one.approved).collect();
    assert_eq!(decided, [true, false]);
    assert!(lost.iter().all(|one| one.as_ref().unwrap_err().code() == "expired_or_consumed"), "{lost:?}");
    assert_eq!(world.consume(id, &world.plan, at(3)).unwrap_err().code(), "expired_or_consumed");
}

#[test]
fn what_is_not_as_it_was_approved_uses_nothing_up() {
    let world = World::new();
    let id = world.signed();
    let drifts: [fn(&mut Plan); 6] = [
        |plan| plan.root = "/tmp/elsewhere".to_owned(),
        |plan| plan.agent = "other".to_owned(),
        |plan| plan.calls[0].params = sha256(b"another byte"),
        |plan| plan.intent = Some("INT-1".to_owned()),
        |plan| drop(plan.fingerprints.insert("things".to_owned(), "mcp_2".to_owned())),
        |plan| drop(plan.calls.pop()),
    ];
    for drift in drifts {
        let mut moved = world.plan.clone();
        drift(&mut moved);
        assert_eq!(world.consume(id, &moved, at(2)).unwrap_err().code(), "context_drift");
        assert_eq!(world.state(id), State::Pending);
    }
    world.consume(id, &world.plan, at(2)).unwrap();
}

#[test]
fn whoever_edits_the_database_gets_nothing_for_it() {
    let edits = [
        ("tool_calls_json", r#"[{"args":{},"tool_call_id":"a","tool_name":"b"}]"#, "context_drift"),
        ("tool_calls_json", "", "context_drift"),
        ("plan_hash", "00", "invalid_signature"),
        ("nonce", "00", "invalid_signature"),
        ("key_id", "00", "unknown_key_id"),
        ("signature_hex", "00", "invalid_signature"),
        ("signed_object_json", "{}", "invalid_signature"),
        ("scope_json", r#"{"scope_schema_version":3}"#, "scope_schema_unsupported"),
        ("expires_at", "1999999999", "context_drift"),
        ("issued_at", "1899999999", "context_drift"),
        ("state", "rejected", "denied"),
    ];
    for (column, value, code) in edits {
        let world = World::new();
        let id = world.signed();
        // One byte of an argument, where no value is given.
        let other = world.approvals.get(id).unwrap().tool_calls.to_string().replace("a.txt", "b.txt");
        let value = if value.is_empty() { &other } else { value };
        world.edit(id, column, value);
        let problem = world.consume(id, &world.plan, at(2)).unwrap_err();
        assert_eq!(problem.code(), code, "{column}: {problem}");
        // Nothing of it can be signed either, where a person would see something else.
        let fresh = World::new();
        let id = fresh.request().id;
        fresh.edit(id, column, value);
        let is_overwritten_or_free = matches!(column, "nonce" | "signed_object_json");
        assert_eq!(fresh.sign(id, &[true, true]).is_ok(), is_overwritten_or_free, "{column}");
    }
}

#[test]
fn decisions_are_those_that_were_signed() {
    let world = World::new();
    let id = world.signed();
    let ids = world.approvals.get(id).unwrap().ids();
    let decide = |at: usize, approved| Decision { tool_call_id: ids[at].clone(), approved };
    let submit = |decisions: &[Decision]| {
        world.approvals.consume(id, (&world.keys, &world.active()), &world.plan, Some(decisions), at(2)).unwrap()
    };
    for wrong in
        [vec![decide(1, false), decide(0, true)], vec![decide(0, true)], vec![decide(0, true), decide(1, true)], vec![]]
    {
        assert_eq!(submit(&wrong).unwrap_err().code(), "bijection_mismatch");
        assert_eq!(world.state(id), State::Pending);
    }
    submit(&[decide(0, true), decide(1, false)]).unwrap();
    assert!(matches!(
        world.sign(world.request().id, &[true]),
        Err(ApprovalError::Undecidable { problem: Problem::Bijection, .. })
    ));
}

#[test]
fn the_second_of_its_end_is_over() {
    for (late, counts) in [(0, false), (-1, true)] {
        let world = World::new();
        let id = world.signed();
        let now = at(LIFETIME.as_secs() + late);
        assert_eq!(world.consume(id, &world.plan, now).is_ok(), counts);
    }
    let world = World::new();
    let id = world.signed();
    assert_eq!(world.consume(id, &world.plan, at(-61)).unwrap_err().code(), "expired_or_consumed");
    world.consume(id, &world.plan, at(-60)).unwrap();
}

#[test]
fn a_rotation_lets_go_of_what_was_asked_under_the_old_key() {
    let world = World::new();
    let used = world.signed();
    world.consume(used, &world.plan, at(2)).unwrap();
    let open = world.signed();
    let (keys, next) = world.keys.rotate(&world.key, PASSPHRASE, at(3), &world.entropy).unwrap();
    let active = keys.active(&world.key.id).unwrap();
    // Also where the process died before it could let go of it.
    let consumed = world.approvals.consume(open, (&keys, &active), &world.plan, None, at(4)).unwrap();
    assert_eq!(consumed.unwrap_err().code(), "expired_or_consumed");
    assert_eq!(world.approvals.expire_all().unwrap(), 1);
    assert_eq!(world.state(open), State::Expired);
    // What was decided with the old key can still be read.
    let old = world.approvals.get(used).unwrap();
    let public = keys.known(&world.key.id).unwrap();
    assert_eq!(old.signed.as_ref().unwrap().decisions(&public.bytes, &old.subject()).unwrap().len(), 2);
    let under_the_new = world.approvals.request(
        &Asked { plan: &world.plan, kind: Kind::Call, about: &About::default() },
        &active,
        at(4),
        &world.entropy,
    );
    let id = under_the_new.unwrap().id;
    assert_ne!(id, open);
    let said = Said { approved: &[true, true], by: "p", denial: None };
    assert!(world.approvals.sign(id, said, &world.key, at(4)).is_err());
    world.approvals.sign(id, said, &next, at(4)).unwrap();
}

#[test]
fn the_same_asks_once_and_nobody_buries_it() {
    let mut world = World::new();
    let first = world.request();
    assert_eq!(world.request().id, first.id);
    assert!(first.is_whole());
    for number in 1..MAX_PENDING {
        world.plan.context = format!("ctx-{number}");
        // Other names than 256 that a byte can tell apart.
        let entropy = Numbered(number);
        let asked = Asked { plan: &world.plan, kind: Kind::Call, about: &About::default() };
        world.approvals.request(&asked, &world.active(), at(0), &entropy).unwrap();
    }
    world.plan.context = "one too many".to_owned();
    let asked = Asked { plan: &world.plan, kind: Kind::Call, about: &About::default() };
    let full = world.approvals.request(&asked, &world.active(), at(0), &Numbered(9_999)).unwrap_err();
    assert!(matches!(full, ApprovalError::Full(MAX_PENDING)), "{full}");
    // They end by themselves, and what has been over for a week is gone.
    let later = at(LIFETIME.as_secs() + 1);
    world.approvals.request(&asked, &world.active(), later, &Numbered(9_999)).unwrap();
    assert_eq!(world.approvals.list().unwrap().len(), MAX_PENDING + 1);
    world.plan.context = "after a week".to_owned();
    let asked = Asked { plan: &world.plan, kind: Kind::Call, about: &About::default() };
    let week = at(LIFETIME.as_secs() * 2 + RETENTION);
    world.approvals.request(&asked, &world.active(), week, &Numbered(10_000)).unwrap();
    assert_eq!(world.approvals.list().unwrap().len(), 2);
}

#[derive(Debug)]
struct Numbered(usize);

impl Entropy for Numbered {
    fn fill(&self, buffer: &mut [u8]) {
        let bytes = self.0.to_be_bytes();
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = bytes[at % bytes.len()];
        }
    }
}

#[test]
fn no_needs_no_key_and_is_final() {
    let world = World::new();
    let id = world.request().id;
    world.approvals.reject(id, "p", Some("too risky"), at(1)).unwrap();
    let problem = world.consume(id, &world.plan, at(2)).unwrap_err();
    assert_eq!(problem.to_string(), "User denied this action: too risky");
    assert!(world.sign(id, &[true, true]).is_err());
    let silent = world.request().id;
    assert_ne!(silent, id);
    world.approvals.reject(silent, "p", None, at(1)).unwrap();
    assert_eq!(world.consume(silent, &world.plan, at(2)).unwrap_err().to_string(), "User denied this action.");
    // Also of one that was signed already: a person may think better of it.
    let signed = world.signed();
    world.approvals.reject(signed, "p", None, at(2)).unwrap();
    assert_eq!(world.consume(signed, &world.plan, at(2)).unwrap_err().code(), "denied");
    // A signature is not put over another one.
    let decided = world.signed();
    assert!(world.sign(decided, &[true, true]).is_err());
}
