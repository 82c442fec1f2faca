//! The files of small responses: there once nobody works in the workspace, whatever happened before.

use std::os::unix::fs::PermissionsExt;

use rote_home::{FileMode, read_capped, remove_file, write_atomic};
use rote_types::ResponseId;

use super::support::{Setup, at, call, json_body};
use crate::filing::MAX_UNFILED;
use crate::{Body, Tokenizer, Workspace};

/// Another handle, as another command has one.
fn other(setup: &Setup) -> Workspace {
    Workspace::open(&setup.home, setup.workspace.name()).unwrap()
}

fn recorded(workspace: &Workspace, text: &str) -> ResponseId {
    let (_, id) = workspace.begin_call(&call("list")).unwrap();
    workspace.record(id, json_body(text)).unwrap();
    id
}

fn has_file(setup: &Setup, id: ResponseId) -> bool {
    setup.workspace.response_file(id).symlink_metadata().is_ok()
}

fn assert_file_is_its_row(setup: &Setup, id: ResponseId) {
    let path = setup.workspace.response_file(id);
    assert_eq!(read_capped(&path, 1 << 20).unwrap(), setup.workspace.kept(id).unwrap().bytes, "{id}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_small_response_has_its_file_once_its_command_is_over() {
    let setup = Setup::new();
    let command = other(&setup);
    let ids: Vec<_> = (0..40).map(|n| recorded(&command, &n.to_string())).collect();
    assert!(!has_file(&setup, ids[0]));
    drop(command);
    ids.iter().for_each(|id| assert_file_is_its_row(&setup, *id));
}

#[test]
fn the_next_command_makes_the_file_that_a_killed_one_left_to_make() {
    let setup = Setup::new();
    let killed = other(&setup);
    let id = recorded(&killed, "1");
    std::mem::forget(killed);
    assert!(!has_file(&setup, id));
    other(&setup);
    assert_file_is_its_row(&setup, id);
}

#[test]
fn many_get_their_files_while_the_command_goes_on() {
    let setup = Setup::new();
    let ids: Vec<_> = (0..MAX_UNFILED).map(|_| recorded(&setup.workspace, "1")).collect();
    assert!(setup.workspace.filing.wait());
    ids.iter().for_each(|id| assert_file_is_its_row(&setup, *id));
}

#[test]
fn what_cannot_be_written_now_is_written_later_and_read_all_the_same() {
    let setup = Setup::new();
    let folder = setup.workspace.responses_dir();
    // As a disk without room: no file can be made.
    rote_home::remove_dir(&folder).unwrap();
    write_atomic(&folder, b"", FileMode::Private).unwrap();
    let command = other(&setup);
    let id = recorded(&command, "1");
    drop(command);
    other(&setup);
    assert_eq!(setup.body(id), Body::Json("1".to_owned()));
    remove_file(&folder).unwrap();
    other(&setup);
    assert_file_is_its_row(&setup, id);
}

#[test]
fn a_file_that_cannot_be_made_hides_no_other_and_one_of_a_lost_number_is_replaced() {
    let setup = Setup::new();
    let command = other(&setup);
    let (first, second) = (recorded(&command, "1"), recorded(&command, "2"));
    let path = setup.workspace.response_file(first);
    write_atomic(&setup.workspace.response_file(second), b"{}", FileMode::Private).unwrap();
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    drop(command);
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert_file_is_its_row(&setup, second);
}

#[test]
fn a_response_that_was_cleared_has_neither_row_nor_file() {
    let setup = Setup::new();
    let command = other(&setup);
    let early = recorded(&command, "1");
    setup.workspace.clear(&[early], at(2)).unwrap();
    let late = recorded(&command, "2");
    drop(command);
    assert!(!has_file(&setup, early) && has_file(&setup, late));
    setup.workspace.clear(&[late], at(3)).unwrap();
    assert!(!has_file(&setup, late) && setup.workspace.kept(late).is_err());
}

#[test]
fn tokens_that_are_counted_later_come_into_the_file() {
    let setup = Setup::new();
    let command = other(&setup);
    let id = recorded(&command, "[1]");
    drop(command);
    other(&setup).count_tokens(Tokenizer).unwrap();
    assert_file_is_its_row(&setup, id);
    assert!(String::from_utf8_lossy(&setup.workspace.kept(id).unwrap().bytes).contains("\"response_tokens\":3"));
}

#[test]
fn the_folder_of_a_removed_workspace_does_not_come_back() {
    let setup = Setup::new();
    let command = other(&setup);
    recorded(&command, "1");
    rote_home::remove_dir(setup.workspace.folder()).unwrap();
    drop(command);
    assert!(!setup.workspace.folder().exists());
}
