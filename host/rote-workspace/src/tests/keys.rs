//! Which request carries which idempotency key.

use rote_types::{Access, ResponseId, Sha256Digest, sha256};

use super::support::{Setup, at, call, failed, http, json_body};
use crate::{ClaimedKey, Settlement};

fn purpose(text: &str) -> Sha256Digest {
    sha256(text.as_bytes())
}

/// A write that is about to be sent; its process lives.
fn begun(setup: &Setup, fresh: &str) -> (ResponseId, ClaimedKey) {
    let write = crate::NewCall { access: Access::Write, ..call("create") };
    let (_, id) = setup.workspace.begin_call(&write).unwrap();
    (id, setup.workspace.claim_key(id, &purpose("a"), Some(fresh), Some(at(9))).unwrap())
}

fn leave(setup: &Setup, id: ResponseId) {
    let lost = crate::LostAnswer {
        request: crate::RequestRecord::default(),
        status: None,
        message: "gone".to_owned(),
        started: at(1),
        duration: std::time::Duration::ZERO,
    };
    setup.workspace.leave_in_doubt(id, &lost).unwrap();
}

fn claimed(key: &str, again: bool, replaces: &[ResponseId]) -> ClaimedKey {
    ClaimedKey { key: Some(key.to_owned()), again, replaces: replaces.to_vec() }
}

#[test]
fn each_write_has_a_key_of_its_own_until_one_may_be_sent_again() {
    let setup = Setup::new();
    let (first, key) = begun(&setup, "k1");
    assert_eq!(key, claimed("k1", false, &[]));
    assert_eq!(begun(&setup, "k2").1, claimed("k2", false, &[]), "another write that is alike");
    leave(&setup, first);
    assert_eq!(begun(&setup, "k3").1, claimed("k3", false, &[]), "nobody said that it may be sent again");
    setup.workspace.settle(first, &Settlement::Retry, at(5)).unwrap();
    let (second, key) = begun(&setup, "k4");
    assert_eq!(key, claimed("k1", true, &[]));
    assert_eq!(begun(&setup, "k5").1, claimed("k5", false, &[]), "only one request takes its place");
    leave(&setup, second);
    setup.workspace.settle(second, &Settlement::Retry, at(6)).unwrap();
    assert_eq!(begun(&setup, "k6").1, claimed("k1", true, &[]), "and so on");
}

#[test]
fn a_request_that_never_left_gives_its_key_back() {
    let setup = Setup::new();
    let (first, _) = begun(&setup, "k1");
    leave(&setup, first);
    setup.workspace.settle(first, &Settlement::Retry, at(5)).unwrap();
    let (second, _) = begun(&setup, "k2");
    setup.workspace.record(second, failed("denied", "no")).unwrap();
    assert_eq!(begun(&setup, "k3").1, claimed("k1", true, &[]));
}

#[test]
fn a_key_whose_write_was_answered_or_settled_is_not_sent_again() {
    let answers = [json_body("{}"), http(409, "", b""), http(500, "", b"")];
    for answer in answers {
        let setup = Setup::new();
        let (first, _) = begun(&setup, "k1");
        leave(&setup, first);
        setup.workspace.settle(first, &Settlement::Retry, at(5)).unwrap();
        let (second, _) = begun(&setup, "k2");
        setup.workspace.record(second, answer).unwrap();
        assert_eq!(begun(&setup, "k3").1, claimed("k3", false, &[]));
    }
    for said in [Settlement::Skip, Settlement::Done { answer: None }] {
        let setup = Setup::new();
        let (first, _) = begun(&setup, "k1");
        leave(&setup, first);
        setup.workspace.offer_key(first, at(9)).unwrap();
        setup.workspace.settle(first, &said, at(5)).unwrap();
        assert_eq!(begun(&setup, "k2").1, claimed("k2", false, &[]), "{said:?}");
    }
}

#[test]
fn an_offered_key_goes_to_one_call_that_is_alike_and_its_doubts_end_with_that() {
    let setup = Setup::new();
    let (first, _) = begun(&setup, "k1");
    leave(&setup, first);
    setup.workspace.offer_key(first, at(9)).unwrap();
    let write = crate::NewCall { access: Access::Write, ..call("create") };
    let (_, other) = setup.workspace.begin_call(&write).unwrap();
    let key = setup.workspace.claim_key(other, &purpose("b"), Some("k2"), Some(at(9))).unwrap();
    assert_eq!(key, claimed("k2", false, &[]), "another call");
    // Killed after it had the key and before the doubt was settled: both are offered next time.
    let (second, key) = begun(&setup, "k3");
    assert_eq!(key, claimed("k1", true, &[first]));
    assert_eq!(begun(&setup, "k4").1, claimed("k4", false, &[]), "the offer is taken");
    leave(&setup, second);
    [first, second].iter().for_each(|id| setup.workspace.offer_key(*id, at(9)).unwrap());
    assert_eq!(begun(&setup, "k5").1, claimed("k1", true, &[first, second]));
    assert_eq!(setup.workspace.key_purpose(first).unwrap(), Some(purpose("a").to_string()));
    assert_eq!(setup.workspace.key_purpose(setup.record(json_body("{}"))).unwrap(), None);
}

#[test]
fn an_offer_that_is_over_gives_no_key_and_not_another_one_either() {
    // Rote's own, and one of the caller's.
    for fresh in [Some("k"), None] {
        let setup = Setup::new();
        let number =
            || setup.workspace.begin_call(&crate::NewCall { access: Access::Write, ..call("create") }).unwrap().1;
        let claim = |now| setup.workspace.claim_key(number(), &purpose("a"), fresh, now);
        let first = number();
        setup.workspace.claim_key(first, &purpose("a"), fresh, Some(at(1))).unwrap();
        leave(&setup, first);
        setup.workspace.offer_key(first, at(9)).unwrap();
        for now in [Some(at(10)), None] {
            let error = claim(now).unwrap_err();
            assert!(matches!(error, crate::WorkspaceError::KeyTooOld { id, .. } if id == first), "{error}");
        }
        let expected = ClaimedKey { key: fresh.map(str::to_owned), again: true, replaces: vec![first] };
        assert_eq!(claim(Some(at(9))).unwrap(), expected);
        let again = claim(Some(at(10))).unwrap().again;
        assert!(!again, "the offer is taken");
    }
}
