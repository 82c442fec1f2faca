//! The words against operations that a person judged, and the rules one by one.

use super::*;
use rote_types::Access::{Destroy, Read, Write};

fn access(method: Method, operation_id: &str, path: &str, summary: &str) -> Access {
    decide(&Evidence { method, operation_id, path, summary })
}

#[test]
fn a_method_is_the_least() {
    for (method, least) in [
        (Method::Get, Read),
        (Method::Post, Write),
        (Method::Patch, Write),
        (Method::Put, Write),
        (Method::Delete, Destroy),
    ] {
        assert_eq!(access(method, "", "/things", ""), least, "{method}");
        assert!(access(method, "list-things", "/things/search", "Search things") >= least, "{method}");
    }
}

#[test]
fn a_verb_counts_in_the_id_in_the_path_and_in_the_summary() {
    for (id, path, summary) in [
        ("chat_delete", "/x", ""),
        ("chat_deleteScheduledMessage", "/x", ""),
        ("repos/transfer", "/x", ""),
        ("enterprise-team-memberships/bulk-remove", "/x", ""),
        ("me.messages.message.replyAll", "/x", ""),
        ("cancelRun", "/x", ""),
        ("delete_order", "/x", ""),
        ("order_delete", "/x", ""),
        ("batchDelete", "/x", ""),
        ("beta_cancelResponse", "/x", ""),
        ("PostInvoicesInvoicePay", "/v1/invoices/{invoice}/pay", ""),
        ("", "/orders/{id}/cancel", ""),
        ("", "/orders/{id}/cancel/", ""),
        ("", "/keys/{id}:obliterate", ""),
        ("", "/chat.delete", ""),
        ("", "/events/{id}/microsoft.graph.cancel", ""),
        ("createCoreV1NamespacedPodEviction", "/pods/{name}/eviction", "create eviction of a Pod"),
        ("x", "/x", "Deletes a thing."),
        ("x", "/x", "<p>Permanently  deletes a thing.</p>"),
        ("x", "/x", "Import/modify/delete variables"),
        ("PostRefunds", "/v1/refunds", "<p>When you create a new refund, …</p>"),
        ("", "/v1/treasury/credit_reversals", ""),
    ] {
        assert_eq!(access(Method::Post, id, path, summary), Destroy, "{id} {path} {summary}");
    }
}

#[test]
fn a_procedure_that_the_path_calls_counts_like_an_id() {
    for (method, path) in [
        (Method::Get, "/services/rest?method=flickr.photos.delete"),
        (Method::Get, "/services/rest?format=json&Method=flickr.photos.delete"),
        (Method::Post, "/#Action=DeleteUser"),
        (Method::Get, "/api?action=purge"),
    ] {
        assert_eq!(access(method, "", path, ""), Destroy, "{path}");
    }
    for (path, expected) in [
        ("/services/rest?method=flickr.photos.search", Read),
        ("/services/rest?method=flickr.photos.setMeta", Write),
        ("/services/rest?method={method}", Read),
        ("/things?sort=delete", Read),
    ] {
        assert_eq!(access(Method::Get, "", path, ""), expected, "{path}");
    }
}

#[test]
fn of_the_procedures_that_an_argument_lists_the_worst_counts() {
    let evidence = Evidence { method: Method::Get, operation_id: "call", path: "/services/rest", summary: "" };
    let decided = |all: &[&str]| decide_called(&evidence, all);
    assert_eq!(decided(&["flickr.photos.search", "flickr.photos.delete"]), Destroy);
    assert_eq!(decided(&["flickr.photos.search", "flickr.photos.setMeta"]), Write);
    assert_eq!((decided(&["flickr.photos.search"]), decided(&[])), (Read, Read));
}

#[test]
fn a_word_counts_beside_what_makes_it_grave() {
    for (path, expected) in [
        ("/terminal/readers/{reader}/process_payment_intent", Destroy),
        ("/payment_intents/{intent}/confirm", Destroy),
        ("/quotes/{quote}/accept", Destroy),
        ("/files/{fileId}/permissions", Destroy),
        ("/images/{image}/process", Write),
        ("/emails/{id}/confirm", Write),
    ] {
        assert_eq!(access(Method::Post, "", path, ""), expected, "{path}");
    }
}

#[test]
fn a_noun_or_another_verb_does_not_count() {
    for (id, path, summary) in [
        ("actions/create-remove-token-for-repo", "/runners/remove-token", "Create a remove token"),
        ("PostRefundsRefund", "/v1/refunds/{refund}", "<p>Updates the refund</p>"),
        ("PostTransfersTransferReversalsId", "/v1/transfers/{transfer}/reversals/{id}", "<p>Updates the reversal</p>"),
        ("admin_conversations_unarchive", "/admin.conversations.unarchive", "Unarchive a channel."),
        ("stars_remove", "/stars.remove", "Removes a star from an item."),
        ("me.presence.clearPresence", "/me/presence/microsoft.graph.clearPresence", "Invoke action clearPresence"),
        ("searchRefunds", "/refunds", "Searches refunds"),
        ("orders/apply", "/x", "Apply a discount"),
    ] {
        assert_eq!(access(Method::Post, id, path, summary), Write, "{id} {path} {summary}");
    }
}

#[test]
fn a_method_that_reads_needs_a_verb_that_is_no_noun() {
    for (id, path, summary) in [
        ("apps_uninstall", "/apps.uninstall", "Uninstalls your app from a workspace."),
        ("auth_revoke", "/auth.revoke", "Revokes a token."),
        ("", "/cache/purge", ""),
        ("purgeCache", "/cache", ""),
    ] {
        assert_eq!(access(Method::Get, id, path, summary), Destroy, "{id}");
    }
    for (id, path, summary) in [
        ("list_deleted", "/deleted", "List deleted things"),
        ("get_deletion_status", "/deletion", ""),
        ("repos/download-tarball-archive", "/archive", "Download an archive"),
        ("getArchive", "/archive", ""),
        ("", "/files/{id}/archive", ""),
        ("GetTransfers", "/v1/transfers", "<p>Returns a list of transfers sent</p>"),
        ("purge_status", "/purge", "Get the status of the purge"),
        ("orgs/list-blocked-users", "/orgs/{org}/blocks", "List users blocked by an organization"),
        ("", "/charge", ""),
    ] {
        assert_eq!(access(Method::Get, id, path, summary), Read, "{id} {path}");
    }
    assert_eq!(access(Method::Get, "logoutUser", "/user/logout", "Logs out current user"), Write);
}

#[test]
fn a_put_that_nobody_would_miss_is_calm() {
    let calm = |method, operation_id, path| is_calm_put(&Evidence { method, operation_id, path, summary: "" });
    for (id, path) in [
        ("activity/star-repo-for-authenticated-user", "/user/starred/{owner}/{repo}"),
        ("users/follow", "/user/following/{username}"),
        ("activity/mark-notifications-as-read", "/notifications"),
        ("activity/set-repo-subscription", "/repos/{owner}/{repo}/subscription"),
        ("", "/gists/{gist_id}/star"),
    ] {
        assert!(calm(Method::Put, id, path), "{id}");
        assert!(!calm(Method::Delete, id, path) && !calm(Method::Post, id, path), "{id}");
    }
    for (id, path) in [
        ("repos/create-or-update-file-contents", "/repos/{owner}/{repo}/contents/{path}"),
        ("pulls/merge", "/repos/{owner}/{repo}/pulls/{pull_number}/merge"),
        ("orgs/block-user", "/orgs/{org}/blocks/{username}"),
        ("", "/users/{id}/subscription/delete"),
        ("", ""),
    ] {
        assert!(!calm(Method::Put, id, path), "{id}");
    }
}

#[test]
fn hostile_words_are_only_words() {
    for text in
        ["", "_", "///", "é\u{301}", "<<<", ">", "\u{202e}eteled", &"delete_".repeat(100_000), &"<".repeat(100_000)]
    {
        for method in [Method::Get, Method::Post] {
            assert!(access(method, text, text, text) >= Access::least(method, ToolHints::default(), ""));
        }
    }
}

/// One line of the judged list.
struct Judged {
    line: &'static str,
    half: &'static str,
    own: Access,
    found: Access,
    by_method: bool,
}

fn judged() -> Vec<Judged> {
    let text = include_str!("../../../../tests/fixtures/access/judged.tsv");
    let parse = |line: &'static str| {
        let [_, method, path, id, summary, judged, half] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("seven columns: {line}");
        };
        let method: Method = serde_json::from_value(method.into()).unwrap();
        let own = match judged {
            "reads" => Read,
            "changes" => Write,
            "destroys" => Destroy,
            other => panic!("`{other}` is not a judgement: {line}"),
        };
        let by_method = Access::least(method, ToolHints::default(), "") == Destroy;
        assert!(["tuning", "held-out", "fresh"].contains(&half), "{line}");
        Judged { line, half, own, found: access(method, id, path, summary), by_method }
    };
    text.lines().filter(|line| !line.starts_with('#')).skip(1).map(parse).collect()
}

/// Precision and recall of `Destroy`, in percent, over what `counts` admits.
fn figures(name: &str, all: &[Judged], counts: impl Fn(&Judged) -> bool) -> (usize, usize) {
    let of = |wanted: &dyn Fn(&Judged) -> bool| all.iter().filter(|one| counts(one) && wanted(one)).count();
    let right = of(&|one| one.own == Destroy && one.found == Destroy);
    let (found, own) = (of(&|one| one.found == Destroy), of(&|one| one.own == Destroy));
    let percent = |part: usize, whole: usize| part * 100 / whole.max(1);
    let (precision, recall) = (percent(right, found), percent(right, own));
    println!("{name}: precision {precision} % ({right} of {found}), recall {recall} % ({right} of {own})");
    (precision, recall)
}

#[test]
fn judged_operations_are_found_with_the_stated_precision_and_recall() {
    let all = judged();
    assert_eq!(all.len(), 500);
    for one in all.iter().filter(|one| (one.own == Destroy) != (one.found == Destroy)) {
        println!("  judged {}, found {}: {}", one.own, one.found, one.line);
    }
    for one in &all {
        assert!(one.own != Read || one.found != Destroy, "a read that would ask: {}", one.line);
    }
    // Name, whose lines count, whether those that the method says count too, least precision and recall.
    let floors = [
        ("tuning half", &["tuning"][..], true, (80, 85)),
        ("held-out half", &["held-out"], true, (85, 85)),
        ("both halves, without what the method says", &["tuning", "held-out"], false, (85, 80)),
        ("held-out half, without what the method says", &["held-out"], false, (85, 80)),
        ("fresh hundred", &["fresh"], true, (80, 85)),
        ("fresh hundred, without what the method says", &["fresh"], false, (85, 80)),
    ];
    for (name, halves, with_method, (precision, recall)) in floors {
        let counts = |one: &Judged| halves.contains(&one.half) && (with_method || !one.by_method);
        let reached = figures(name, &all, counts);
        assert!(reached.0 >= precision && reached.1 >= recall, "{name}: {reached:?}");
    }
}
