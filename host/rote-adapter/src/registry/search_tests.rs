//! Tests of searching: an index is in step with what is installed, whatever happened to it.

use rote_find::Search;
use rote_home::{FileMode, Staged, read_capped, remove_file, write_atomic, write_durable};

use super::tests::{Fixture, SHOP, id};
use crate::{AdapterProblem, InstallOptions, package};

/// A description that has nothing in common with the shop's but words.
const LIBRARY: &str = r#"{"openapi": "3.1.0", "info": {"title": "Library", "version": "1"},
  "servers": [{"url": "https://library.example"}],
  "paths": {"/books": {"get": {"operationId": "books/list", "summary": "List the books of a customer."},
                       "post": {"operationId": "books/order", "summary": "Order a book."}}}}"#;

fn install(fixture: &Fixture, name: &str, text: &str) {
    fixture.install(name, text, &InstallOptions::default()).unwrap();
}

/// What another process finds, as `adapter tool`, with the adapters that it could not read.
fn found(fixture: &Fixture, intent: &str) -> (Vec<String>, Vec<AdapterProblem>) {
    let (hits, problems) = fixture.again().explore(intent, 10).unwrap();
    (hits.fits.into_iter().map(|hit| format!("{} {}", hit.adapter, hit.tool.name)).collect(), problems)
}

#[test]
fn what_is_found_is_what_is_installed() {
    let fixture = Fixture::new();
    assert_eq!(found(&fixture, "order a book"), (vec![], vec![]));
    install(&fixture, "one", SHOP);
    install(&fixture, "two", LIBRARY);
    let (both, problems) = found(&fixture, "order a book");
    assert_eq!((both[0].as_str(), problems.len()), ("two books/order", 0), "{both:?}");
    let (orders, _) = found(&fixture, "order");
    assert!(
        ["one orders/create", "two books/order"].iter().all(|one| orders.iter().any(|hit| hit == one)),
        "{orders:?}"
    );
    install(&fixture, "two", SHOP);
    let (replaced, _) = found(&fixture, "cancel an order");
    assert_eq!(replaced[..2], ["one orders/cancel", "two orders/cancel"], "alike, so the name decides");
    assert!(!replaced.iter().any(|hit| hit.contains("books")), "{replaced:?}");
    fixture.adapters.remove(&id("one")).unwrap();
    assert!(found(&fixture, "cancel an order").0.iter().all(|hit| hit.starts_with("two ")));
}

#[test]
fn where_nothing_fits_anywhere_the_nearest_of_all_adapters_are_named() {
    let fixture = Fixture::new();
    install(&fixture, "one", SHOP);
    install(&fixture, "two", LIBRARY);
    let (found, _) = fixture.adapters.explore("purple whales heavier than orders", 10).unwrap();
    assert!(found.fits.is_empty() && !found.near.is_empty() && found.near.len() <= 3, "{found:?}");
    let (found, _) = fixture.adapters.explore("order a book", 10).unwrap();
    assert!(!found.fits.is_empty() && found.near.is_empty(), "{found:?}");
}

#[test]
fn an_index_that_is_missing_cut_or_of_another_version_is_made_anew() {
    let fixture = Fixture::new();
    install(&fixture, "shop", SHOP);
    let (file, expected) = (fixture.file(package::SEARCH), found(&fixture, "cancel an order"));
    let whole = read_capped(&file, 1 << 20).unwrap();
    let mut other = whole.clone();
    other[7] += 1;
    for damaged in [&whole[..whole.len() - 1], b"", &other] {
        write_atomic(&file, damaged, FileMode::Private).unwrap();
        assert_eq!(found(&fixture, "cancel an order"), expected);
        let kept = read_capped(&file, 1 << 20).unwrap();
        assert!(Search::new("order").best(&kept, 1).is_some(), "it is kept");
    }
    remove_file(&file).unwrap();
    let hits = fixture.again().probe(&id("shop"), "cancel an order", 1).unwrap();
    assert_eq!(hits.fits[0].tool.name, "orders/cancel");
    assert!(file.is_file());
}

#[test]
fn an_installation_that_was_killed_is_not_found() {
    let fixture = Fixture::new();
    install(&fixture, "shop", SHOP);
    let expected = found(&fixture, "order");
    // What a killed process leaves beside the packages: a part of one, with an index.
    let staged = Staged::new(&fixture.adapters.home().adapter_dir(&id("other"))).unwrap();
    let index = read_capped(&fixture.file(package::SEARCH), 1 << 20).unwrap();
    write_durable(&staged.path().join(package::SEARCH), &index, FileMode::Private).unwrap();
    std::mem::forget(staged);
    assert_eq!(found(&fixture, "order"), expected);
}

#[test]
fn an_adapter_whose_tools_were_changed_is_left_out_and_named() {
    let fixture = Fixture::new();
    install(&fixture, "shop", SHOP);
    install(&fixture, "other", SHOP);
    fixture.rewrite("tools.json", "/orders/{id}", "/admins/{id}");
    let (hits, problems) = found(&fixture, "cancel an order");
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit.starts_with("other ")), "{hits:?}");
    assert_eq!(problems.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["shop"]);
}

#[test]
fn a_search_beside_installations_and_removals_finds_what_stays() {
    let fixture = Fixture::new();
    install(&fixture, "stays", SHOP);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let other = fixture.again();
            for _ in 0..6 {
                for text in [LIBRARY, SHOP] {
                    let document = super::Document::embedded("x.json", text.as_bytes());
                    let loader = super::Loader::new(&document);
                    let options = InstallOptions::default();
                    other.install(other.prepare(&id("comes"), document, loader, &options).unwrap()).unwrap();
                }
                other.remove(&id("comes")).unwrap();
            }
        });
        // As many searches as there is time for, and one when all is done.
        while !changes.is_finished() {
            let (hits, _) = found(&fixture, "cancel an order");
            assert_eq!(hits[0].split(' ').nth(1), Some("orders/cancel"), "{hits:?}");
            assert!(hits.iter().any(|hit| hit == "stays orders/cancel"), "{hits:?}");
        }
    });
    let (hits, problems) = found(&fixture, "cancel an order");
    assert!(hits.iter().all(|hit| hit.starts_with("stays ")) && problems.is_empty(), "{hits:?} {problems:?}");
}
