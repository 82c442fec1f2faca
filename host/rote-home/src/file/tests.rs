//! Tests of the file operations.

use std::os::unix::fs::symlink;

use super::*;

fn text(path: &Path) -> String {
    String::from_utf8(read_capped(path, 1 << 20).unwrap()).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_replace_sets_content_and_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/file");
    write_atomic(&path, b"one", FileMode::Shared).unwrap();
    assert_eq!((text(&path).as_str(), mode(&path)), ("one", 0o644));
    write_durable(&path, b"two", FileMode::Private).unwrap();
    assert_eq!((text(&path).as_str(), mode(&path)), ("two", 0o600));
}

#[test]
fn a_full_disk_keeps_the_old_content_and_leaves_no_temporary_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    write_atomic(&path, b"old", FileMode::Private).unwrap();
    let error = replace(&path, FileMode::Private, |file| {
        file.write_all(b"ne")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    })
    .unwrap_err();
    assert!(matches!(error, HomeError::Io { .. }), "{error}");
    assert_eq!(text(&path), "old");
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
}

#[test]
fn a_link_is_never_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    write_atomic(&outside, b"precious", FileMode::Private).unwrap();
    let link = dir.path().join("link");
    symlink(&outside, &link).unwrap();
    assert!(matches!(write_atomic(&link, b"x", FileMode::Private), Err(HomeError::Symlink { .. })));
    assert!(matches!(append_line(&link, "x", FileMode::Private), Err(HomeError::Symlink { .. })));
    assert_eq!(text(&outside), "precious");
}

#[test]
fn a_read_is_capped_and_names_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    write_atomic(&path, b"12345", FileMode::Private).unwrap();
    assert_eq!(read_capped(&path, 5).unwrap(), b"12345");
    assert!(matches!(read_capped(&path, 4), Err(HomeError::TooLarge { max_bytes: 4, .. })));
    assert!(matches!(read_capped(Path::new("/dev/zero"), 4), Err(HomeError::TooLarge { .. })));
    let missing = read_capped(&dir.path().join("missing"), 4).unwrap_err();
    assert!(missing.is_not_found() && missing.to_string().contains("missing"), "{missing}");
}

#[test]
fn a_line_that_a_kill_cut_is_closed_before_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/log.jsonl");
    append_line(&path, "one", FileMode::Private).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"tw").unwrap();
    append_line(&path, "three", FileMode::Private).unwrap();
    assert_eq!(text(&path), "one\ntw\nthree\n");
    assert_eq!(mode(&path), 0o600);
    assert!(matches!(append_line(&path, "a\nb", FileMode::Private), Err(HomeError::Invalid { .. })));
}

#[test]
fn lines_of_many_writers_stay_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.jsonl");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..25 {
                    append_line(path, &writer.to_string().repeat(100), FileMode::Private).unwrap();
                }
            });
        }
    });
    let text = text(&path);
    assert_eq!(text.lines().count(), 200);
    assert!(text.lines().all(|line| line.len() == 100 && line.bytes().all(|b| b == line.as_bytes()[0])));
}
