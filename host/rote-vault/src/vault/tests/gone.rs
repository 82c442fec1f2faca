//! A store that was emptied, or taken away, by anything but a command.

use super::*;

#[test]
fn an_emptied_store_and_one_that_is_gone_are_noticed() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    assert!(fixture.vault().delete("A").unwrap());
    let emptied = fixture.text();
    // Emptied by its own command it is as it has to be.
    assert_eq!((get(&fixture.vault(), "A"), fixture.vault().known().unwrap().len()), (None, 1));
    set(&fixture.vault(), "A", "two");
    bind(&fixture.vault(), "A", "shop", "https://shop.example");
    let unnoticed = |what: &str| {
        let vault = fixture.vault();
        let sent = vault.resolve("A", &"shop".parse().unwrap(), "https://shop.example", &|_| None);
        assert!(sent.is_err() && vault.known().is_err(), "{what}: {sent:?}");
        let binding = binding("shop", "https://evil.example");
        assert!(vault.bind("B", &binding, Timestamp::UNIX_EPOCH).is_err() && vault.delete("A").is_err(), "{what}");
    };
    for text in [
        &*emptied,
        r#"{"version": 1, "entries": {}}"#,
        r#"{"version": 3, "entries": {}}"#,
        r#"{"version": 3, "counter": 1000, "entries": {}}"#,
    ] {
        fixture.rewrite(text);
        unnoticed(text);
        let set = fixture.vault().set("A", &SecretString::from("three"), meta());
        assert!(set.is_err(), "{text}");
    }
    rote_home::remove_file(&fixture.home.tokens_file()).unwrap();
    unnoticed("gone");
    // Nor without the anchor, the mark or the key.
    let (anchor, mark) =
        (fixture.home.chronicle_dir().join("vault.anchor"), fixture.home.config_dir().join(".vault.keyed"));
    for trace in [&anchor, &mark, &fixture.home.secrets_dir().join(".machine.key")] {
        let bytes = read_capped(trace, 4096).unwrap();
        rote_home::remove_file(trace).unwrap();
        unnoticed(&trace.display().to_string());
        write_durable(trace, &bytes, FileMode::Private).unwrap();
    }
    // A person begins anew, and what was there before does not come back.
    set(&fixture.vault(), "A", "four");
    assert_eq!(get(&fixture.vault(), "A").as_deref(), Some("four"));
    fixture.rewrite(&emptied);
    unnoticed("put back");
}

#[test]
fn a_store_whose_first_write_was_cut_off_is_not_gone() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    let vault = fixture.vault();
    // The anchor of nothing stands before the file does.
    vault.write_anchor(vault.key(false).unwrap(), 0).unwrap();
    for trace in [fixture.home.tokens_file(), fixture.home.config_dir().join(".vault.keyed")] {
        rote_home::remove_file(&trace).unwrap();
    }
    assert_eq!(get(&fixture.vault(), "A"), None);
    set(&fixture.vault(), "A", "two");
    assert_eq!(get(&fixture.vault(), "A").as_deref(), Some("two"));
}
