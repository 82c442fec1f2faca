//! The rule against parameters that a person judged, and case by case.

use std::collections::HashMap;

use super::*;

const JUDGED: &str = include_str!("../../../../../tests/fixtures/credentials/judged.tsv");

/// One line of the judged list.
pub(crate) struct Judged {
    pub(crate) file: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    id: &'static str,
    field: Field<'static>,
    pub(crate) is_caller: bool,
}

pub(crate) fn judged() -> Vec<Judged> {
    let parse = |line: &'static str| {
        let [file, method, path, id, place, name, required, kind, description, judged] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("ten columns: {line}");
        };
        let place = match place {
            "header" => Place::Header,
            "query" => Place::Query,
            "form" => Place::Form,
            "json" => Place::Json,
            other => panic!("`{other}` is not a place: {line}"),
        };
        assert!(["caller", "other"].contains(&judged), "{line}");
        let field = Field { place, name, required: required == "required", is_text: kind == "string", description };
        Judged { file, method, path, id, field, is_caller: judged == "caller" }
    };
    JUDGED.lines().filter(|line| !line.starts_with('#')).skip(1).map(parse).collect()
}

#[test]
fn judged_parameters_are_taken_for_what_they_are() {
    let totals: HashMap<&str, usize> = JUDGED
        .lines()
        .filter_map(|line| line.strip_prefix("# operations\t")?.split_once('\t'))
        .map(|(file, count)| (file, count.parse().unwrap()))
        .collect();
    let all = judged();
    assert_eq!((all.len(), all.iter().filter(|one| one.is_caller).count()), (222, 173));
    for one in &all {
        let about = |one: &Judged| is_about_credentials(one.path, one.id);
        let asks = |other: &&Judged| {
            other.file == one.file && other.field.plain() == one.field.plain() && other.field.may_be() && !about(other)
        };
        let common = is_common(all.iter().filter(asks).count(), totals[one.file]);
        let found = one.field.is_credential(about(one), common);
        assert_eq!(found, one.is_caller, "{} {} {} {:?}", one.file, one.method, one.path, one.field);
    }
}

fn field(place: Place, name: &'static str, required: bool, description: &'static str) -> Field<'static> {
    Field { place, name, required, is_text: true, description }
}

#[test]
fn what_one_operation_asks_for_is_its_own_affair_in_a_body() {
    use Place::{Form, Header, Json, Query};
    const SAYS: &str = "Your access token";
    // place, name, required, description, about credentials, common → slot
    for (place, name, required, description, about, common, slot) in [
        (Header, "X-Auth-Token", false, "", true, false, true),
        (Header, "X-Subject-Token", true, SAYS, true, false, false),
        (Header, "token", false, SAYS, false, false, false),
        (Header, "token", false, SAYS, false, true, true),
        (Query, "api_key", false, "", false, false, true),
        (Query, "api_key", true, "", true, false, false),
        (Query, "api_key", true, "", true, true, true),
        (Query, "key", true, "Where to look", false, true, false),
        (Form, "token", true, SAYS, false, false, true),
        (Form, "token", false, SAYS, false, false, false),
        (Form, "token", true, "The access token to revoke", true, false, false),
        (Form, "client_secret", true, SAYS, false, true, false),
        (Json, "api_key", true, "", false, false, false),
        (Json, "api_key", true, "", false, true, true),
        (Json, "access_token", false, "", false, true, false),
        (Json, "access_token", false, SAYS, false, true, true),
        (Json, "password", true, "authenticates", false, true, false),
    ] {
        let found = field(place, name, required, description).is_credential(about, common);
        assert_eq!(found, slot, "{place:?} {name} {description}");
    }
    let number = Field { is_text: false, ..field(Query, "api_key", true, "") };
    assert!(!number.is_credential(false, true));
}

#[test]
fn an_operation_about_credentials_says_so_in_its_path_or_id() {
    for (path, id, expected) in [
        ("/tokens/introspect", "", true),
        ("/oauth/revoke", "", true),
        ("/v1/api-keys/{id}", "", true),
        ("/x", "resetApiKey", true),
        ("/v1/{token}/things", "listThings", false),
        ("/chat.postMessage", "chat_postMessage", false),
        ("/email/validate", "validate", false),
        ("/monkeys", "keyboards", false),
    ] {
        assert_eq!(is_about_credentials(path, id), expected, "{path} {id}");
    }
    assert!(is_common(3, 5) && !is_common(3, 6) && !is_common(2, 2));
}
