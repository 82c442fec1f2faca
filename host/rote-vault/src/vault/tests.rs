//! Tests of the store on a real disk.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Counts upwards, so that nonces and keys differ.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
        }
    }
}

struct Fixture {
    _dir: tempfile::TempDir,
    home: Home,
    entropy: Arc<Counting>,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path()).unwrap();
        Self { _dir: dir, home, entropy: Arc::new(Counting(AtomicU64::new(1))) }
    }

    fn vault(&self) -> Vault {
        Vault::open(&self.home, self.entropy.clone(), KeySource::File).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(read_capped(&self.home.tokens_file(), 1 << 20).unwrap()).unwrap()
    }

    fn rewrite(&self, text: &str) {
        write_durable(&self.home.tokens_file(), text.as_bytes(), FileMode::Private).unwrap();
    }
}

fn meta() -> TokenMeta {
    TokenMeta { created_at: Timestamp::UNIX_EPOCH, expires_at: None, description: "note".to_owned() }
}

fn set(vault: &Vault, name: &str, value: &str) {
    vault.set(name, &SecretString::from(value), meta()).unwrap();
}

fn get(vault: &Vault, name: &str) -> Option<String> {
    vault.get(name).unwrap().map(|value| value.expose_secret().to_owned())
}

#[test]
fn a_token_comes_back_and_is_not_on_disk_in_the_clear() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "SHOP_TOKEN", "Bearer sk-very-secret\n");
    assert_eq!(get(&fixture.vault(), "SHOP_TOKEN").as_deref(), Some("sk-very-secret"));
    assert_eq!(get(&fixture.vault(), "OTHER"), None);
    assert!(!fixture.text().contains("very-secret"));
    let mode = |name: &str| fixture.home.secrets_dir().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("tokens.json"), mode(".machine.key")), (0o600, 0o600));
}

#[test]
fn the_same_value_is_never_written_the_same_way_twice() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "same");
    let first = fixture.text();
    set(&fixture.vault(), "A", "same");
    assert_ne!(first, fixture.text());
}

#[test]
fn a_listing_needs_no_key_and_shows_no_value() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "B", "two");
    let claims = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, r#"{"exp":1800000000}"#);
    set(&fixture.vault(), "A", &format!("e30.{claims}.c2ln"));
    rote_home::remove_file(&fixture.home.secrets_dir().join(".machine.key")).unwrap();
    let listed = fixture.vault().list().unwrap();
    let short: Vec<_> = listed.iter().map(|info| (info.name.as_str(), info.kind.as_str(), info.expires_at)).collect();
    assert_eq!(short, [("A", "jwt", Timestamp::from_second(1_800_000_000).ok()), ("B", "static", None)]);
}

#[test]
fn a_lost_key_is_said_and_not_replaced() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    rote_home::remove_file(&fixture.home.secrets_dir().join(".machine.key")).unwrap();
    assert!(matches!(fixture.vault().get("A"), Err(VaultError::KeyMissing { .. })));
    let refused = fixture.vault().set("B", &SecretString::from("two"), meta());
    assert!(matches!(refused, Err(VaultError::KeyMissing { .. })));
}

#[test]
fn another_machines_key_is_said() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    write_durable(&fixture.home.secrets_dir().join(".machine.key"), &[7; 32], FileMode::Private).unwrap();
    assert!(matches!(fixture.vault().get("A"), Err(VaultError::WrongKey { .. })));
    let refused = fixture.vault().set("B", &SecretString::from("two"), meta());
    assert!(matches!(refused, Err(VaultError::WrongKey { .. })));
}

#[test]
fn every_flipped_bit_of_an_entry_is_noticed() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    let original = fixture.text();
    let entry: serde_json::Value = serde_json::from_str(&original).unwrap();
    for field in ["ct", "nonce"] {
        let text = entry["entries"]["A"][field].as_str().unwrap();
        for index in 0..text.len() {
            let mut changed = text.to_owned().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            fixture.rewrite(&original.replace(text, std::str::from_utf8(&changed).unwrap()));
            assert!(matches!(fixture.vault().get("A"), Err(VaultError::Tampered { .. })), "{field} {index}");
        }
    }
}

#[test]
fn entries_cannot_be_swapped() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "READ_ONLY", "one");
    set(&fixture.vault(), "ADMIN", "two");
    fixture.rewrite(&fixture.text().replace("READ_ONLY", "TMP").replace("ADMIN", "READ_ONLY"));
    assert!(matches!(fixture.vault().get("READ_ONLY"), Err(VaultError::Tampered { .. })));
}

#[test]
fn a_cut_file_is_said_and_never_overwritten() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    let original = fixture.text();
    for length in [0, 1, original.len() / 2, original.len() - 3] {
        fixture.rewrite(&original[..length]);
        assert!(matches!(fixture.vault().get("A"), Err(VaultError::Damaged { .. })), "{length}");
        assert!(fixture.vault().set("B", &SecretString::from("two"), meta()).is_err());
        assert_eq!(fixture.text().len(), length);
    }
}

#[test]
fn files_that_others_can_read_are_refused() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    let open = |path: PathBuf| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
    open(fixture.home.tokens_file());
    assert!(matches!(fixture.vault().get("A"), Err(VaultError::Insecure { mode: 0o640, .. })));
    assert!(matches!(fixture.vault().list(), Err(VaultError::Insecure { .. })));
    std::fs::set_permissions(fixture.home.tokens_file(), std::fs::Permissions::from_mode(0o600)).unwrap();
    open(fixture.home.secrets_dir().join(".machine.key"));
    assert!(matches!(fixture.vault().get("A"), Err(VaultError::Home(rote_home::HomeError::Insecure { .. }))));
}

#[test]
fn concurrent_writers_lose_nothing() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                let vault = fixture.vault();
                for number in 0..5 {
                    set(&vault, &format!("T_{writer}_{number}"), "value");
                }
            });
        }
    });
    assert_eq!(fixture.vault().list().unwrap().len(), 40);
    assert_eq!(get(&fixture.vault(), "T_7_4").as_deref(), Some("value"));
}

#[test]
fn the_vault_comes_before_the_environment() {
    let fixture = Fixture::new();
    let vault = fixture.vault();
    let environment = |name: &str| (name == "A" || name == "B").then(|| " Bearer from-env ".to_owned());
    set(&vault, "A", "from-vault");
    let resolve = |name: &str| {
        let found = vault.resolve(name, &environment).unwrap();
        found.map(|(value, source)| (value.expose_secret().to_owned(), source))
    };
    assert_eq!(resolve("A"), Some(("from-vault".to_owned(), TokenSource::Vault)));
    assert_eq!(resolve("B"), Some(("from-env".to_owned(), TokenSource::Environment)));
    assert_eq!(resolve("C"), None);
    assert!(vault.delete("A").unwrap());
    assert!(!vault.delete("A").unwrap());
    assert_eq!(resolve("A"), Some(("from-env".to_owned(), TokenSource::Environment)));
}

#[test]
fn an_unusable_vault_does_not_fall_through_to_the_environment() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one");
    fixture.rewrite("{");
    assert!(fixture.vault().resolve("A", &|_| Some("from-env".to_owned())).is_err());
}

#[test]
fn nothing_printable_holds_a_value() {
    let fixture = Fixture::new();
    let vault = fixture.vault();
    set(&vault, "A", "sk-very-secret");
    assert!(!format!("{vault:?} {:?}", vault.get("A").unwrap()).contains("very-secret"));
}

#[test]
fn every_value_is_known_by_its_name_and_a_change_makes_another_generation() {
    let fixture = Fixture::new();
    let vault = fixture.vault();
    assert!(vault.known().unwrap().is_empty() && vault.generation().is_none(), "an empty store needs no key");
    set(&vault, "SHOP_TOKEN", "sk-one");
    set(&vault, "OTHER", "sk-two");
    let known = |vault: &Vault| -> Vec<(String, String)> {
        let known = vault.known().unwrap().into_iter();
        known.map(|one| (one.name, one.value.expose_secret().to_owned())).collect()
    };
    let both = [("OTHER", "sk-two"), ("SHOP_TOKEN", "sk-one")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(known(&fixture.vault()), both);
    let before = vault.generation();
    assert_eq!(vault.generation(), before);
    set(&vault, "OTHER", "sk-six");
    assert_ne!(vault.generation(), before);
    assert_eq!(known(&vault)[0].1, "sk-six");
    assert!(!format!("{:?}", vault.known().unwrap()).contains("sk-six"), "a value is not printed by accident");
}

#[test]
fn an_entry_that_cannot_be_trusted_is_not_left_out() {
    let fixture = Fixture::new();
    set(&fixture.vault(), "A", "one-value");
    set(&fixture.vault(), "B", "two-value");
    fixture.rewrite(&fixture.text().replace("\"B\"", "\"C\""));
    let error = fixture.vault().known().unwrap_err();
    assert!(matches!(&error, VaultError::Tampered { name } if name == "C"), "{error}");
}
