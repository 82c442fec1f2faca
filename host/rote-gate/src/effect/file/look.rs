//! What is read of files: content, lists, matches. Each is an answer in JSON, with bounds that it names when it reached one.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use globset::GlobMatcher;
use regex::Regex;
use rote_types::sha256;
use rote_workspace::SeenFile;
use serde_json::{Value, json};

use crate::effect::answer::Answered;
use crate::effect::place::{Place, Root, disk, read_plain};
use crate::file_refusal::FileRefusal;

/// Most entries of a list.
const MAX_ENTRIES: usize = 10_000;
/// Most files that are searched, and that are looked at for it.
const MAX_SEARCHED: usize = 20_000;
/// Most matches.
const MAX_MATCHES: usize = 1_000;
/// Most characters of a line that is shown.
const MAX_LINE: usize = 500;
/// Deepest folder below the one that was named.
const MAX_DEPTH: usize = 64;
/// Longest time of a list or a search.
const LONGEST: Duration = Duration::from_secs(10);
/// The folder of a version control system, of which nobody wants the insides.
const REPOSITORY: &str = ".git";

/// Reads a file, or some of its lines. What was seen goes with it, also that nothing is there.
pub(super) fn read(root: &Root, place: &Place, (first, last): (u64, u64)) -> Result<(Answered, SeenFile), FileRefusal> {
    let Some(bytes) = root.bytes(place)? else {
        return Ok((absent(place), SeenFile::Absent));
    };
    let digest = sha256(&bytes);
    let mut said = json!({ "path": place.inside, "sha256": digest, "bytes": bytes.len() });
    match String::from_utf8(bytes) {
        Ok(text) => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let count = lines.len();
            let from = usize::try_from(first - 1).unwrap_or(usize::MAX).min(count);
            let to = usize::try_from(last).unwrap_or(usize::MAX).clamp(from, count);
            said["content"] = lines[from..to].concat().into();
            said["lines"] = count.into();
            if (from, to) != (0, count) {
                said["start_line"] = (from + 1).into();
                said["end_line"] = to.into();
            }
        }
        Err(error) => {
            said["content"] = STANDARD.encode(error.as_bytes()).into();
            said["encoding"] = "base64".into();
        }
    }
    Ok((Answered { status: 200, body: said }, SeenFile::Bytes(digest)))
}

/// Says that there is no file.
pub(super) fn absent(place: &Place) -> Answered {
    Answered::problem(404, format!("there is no file `{}`", place.inside))
}

/// Lists a folder, and with `recursive` what is below it.
pub(super) fn list(root: &Root, place: &Place, recursive: bool) -> Result<Answered, FileRefusal> {
    let mut entries: BTreeMap<String, Value> = BTreeMap::new();
    let depth = if recursive { MAX_DEPTH } else { 0 };
    let walked = walk(root, place, depth, |path, found| {
        let (kind, bytes) = match found {
            Found::Folder => ("folder", None),
            Found::File(bytes, _) => ("file", Some(bytes)),
            Found::Link => ("link", None),
            Found::Other => ("other", None),
        };
        let entry = json!({ "path": path, "kind": kind, "bytes": bytes });
        entries.insert(path, entry);
        entries.len() < MAX_ENTRIES
    })?;
    Ok(match walked {
        None => Answered::problem(404, format!("there is no folder `{}`", place.inside)),
        Some(whole) => Answered {
            status: 200,
            body: json!({
                "path": place.shown(), "entries": entries.into_values().collect::<Vec<_>>(), "truncated": !whole
            }),
        },
    })
}

/// Searches files for lines that match.
pub(super) fn search(
    root: &Root,
    place: &Place,
    regex: &Regex,
    files: Option<&GlobMatcher>,
) -> Result<Answered, FileRefusal> {
    let (mut matches, mut searched, mut seen) = (Vec::new(), 0_usize, 0_usize);
    // A pattern without a folder is for names, as everywhere.
    let of_names = files.is_some_and(|glob| !glob.glob().glob().contains('/'));
    let walked = walk(root, place, MAX_DEPTH, |path, found| {
        seen += 1;
        let name = if of_names { path.rsplit('/').next().unwrap_or(&path) } else { &path };
        if let (Found::File(_, read), true) = (found, files.is_none_or(|glob| glob.is_match(name)))
            && let Some(text) = read()
        {
            searched += 1;
            for (number, line) in text.lines().enumerate().filter(|(_, line)| regex.is_match(line)) {
                if matches.len() == MAX_MATCHES {
                    return false;
                }
                let shown: String = line.chars().take(MAX_LINE).collect();
                matches.push(json!({ "path": path, "line": number + 1, "text": shown }));
            }
        }
        seen < MAX_SEARCHED
    })?;
    Ok(match walked {
        None => Answered::problem(404, format!("there is no folder `{}`", place.inside)),
        Some(whole) => Answered {
            status: 200,
            body: json!({ "path": place.shown(), "matches": matches, "files": searched, "truncated": !whole }),
        },
    })
}

/// What is in a folder.
enum Found<'f> {
    Folder,
    /// With its size, and what reads it as text; none for what is not text.
    File(u64, &'f dyn Fn() -> Option<String>),
    Link,
    Other,
}

/// Goes through a folder in the order of names, and tells of each entry with its path below the root, until nobody wants more.
/// Returns whether it saw everything; none where there is no folder.
fn walk(
    root: &Root,
    place: &Place,
    depth: usize,
    mut tell: impl FnMut(String, Found<'_>) -> bool,
) -> Result<Option<bool>, FileRefusal> {
    let top = match root.folder(place) {
        Ok(top) => top,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(disk("list", place, &error)),
    };
    let until = Instant::now() + LONGEST;
    let mut whole = true;
    let mut open = vec![(place.inside.clone(), top, 0)];
    while let Some((path, dir, level)) = open.pop() {
        let mut folders = Vec::new();
        for (name, kind) in names(&dir, &mut whole).map_err(|error| disk("list", place, &error))? {
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let read = || read_plain(&dir, name.as_ref()).ok().and_then(text);
            let goes_on = match kind {
                Kind::Folder => {
                    let goes_on = tell(below.clone(), Found::Folder);
                    let is_closed = name == REPOSITORY || rote_home::is_of_a_home(&root.path.join(&below));
                    if depth > 0 && !is_closed {
                        folders.push((below, name));
                    }
                    goes_on
                }
                Kind::File(bytes) => tell(below, Found::File(bytes, &read)),
                Kind::Link => tell(below, Found::Link),
                Kind::Other => tell(below, Found::Other),
            };
            if !goes_on || Instant::now() > until {
                return Ok(Some(false));
            }
        }
        if level < depth {
            // The last one that is pushed is the next one that is looked at.
            for (below, name) in folders.into_iter().rev() {
                match dir.open_dir_nofollow(&name) {
                    Ok(folder) => open.push((below, folder, level + 1)),
                    Err(_) => whole = false,
                }
            }
        } else if !folders.is_empty() {
            whole = false;
        }
    }
    Ok(Some(whole))
}

enum Kind {
    Folder,
    File(u64),
    Link,
    Other,
}

/// The entries of a folder by name; what cannot be named or looked at is left out, and said to be.
fn names(dir: &Dir, whole: &mut bool) -> io::Result<Vec<(String, Kind)>> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        if names.len() == MAX_ENTRIES {
            *whole = false;
            break;
        }
        let named = entry.and_then(|entry| {
            let name = entry.file_name().into_string().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            let found = dir.symlink_metadata(&name)?;
            let kind = match found.file_type() {
                kind if kind.is_symlink() => Kind::Link,
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_file() => Kind::File(found.len()),
                _ => Kind::Other,
            };
            Ok((name, kind))
        });
        match named {
            Ok(named) => names.push(named),
            Err(_) => *whole = false,
        }
    }
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(names)
}

/// Bytes as text, where they are some.
fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
