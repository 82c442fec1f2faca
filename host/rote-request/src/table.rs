//! The operation table that a generated adapter component carries beside the shell.
//!
//! Layout, all integers little endian: 8 bytes magic, `u32` version, `u32` count, then `count` index entries of
//! four `u32` (name offset, name length, record offset, record length; offsets from the start of the table),
//! sorted by the bytes of the name, then names and records. A record is the JSON of one [`Operation`]. A lookup
//! is a binary search that decodes one record and nothing else. Invariants: `encode` is a function of the set of
//! operations, not of their order; every read is bounds-checked, so foreign bytes give an error, never a panic.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use crate::Operation;

/// The first bytes of a table.
pub const MAGIC: &[u8; 8] = b"rote-ops";

/// The version of the layout that this crate reads and writes.
pub const VERSION: u32 = 1;

const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;

/// Where a table lies: in memory, or with the host of a guest, which reads only what it needs.
pub trait Source {
    /// Its length in bytes.
    fn length(&self) -> usize;

    /// The bytes from `start` to `end`; none when it ends before.
    fn read(&self, start: usize, end: usize) -> Option<Cow<'_, [u8]>>;
}

impl Source for [u8] {
    fn length(&self) -> usize {
        self.len()
    }

    fn read(&self, start: usize, end: usize) -> Option<Cow<'_, [u8]>> {
        self.get(start..end).map(Cow::Borrowed)
    }
}

/// Why a table could not be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes do not start with [`MAGIC`].
    NotATable,
    /// The layout is of another version.
    Version {
        /// The version found.
        found: u32,
    },
    /// A count or an offset points outside the table.
    OutOfBounds,
    /// A record is not the JSON of an operation of the indexed name.
    Record {
        /// The name in the index.
        name: String,
        /// What JSON said, if it was JSON that failed.
        source: Option<serde_json::Error>,
    },
    /// Two operations have one name.
    DuplicateName { name: String },
    /// The table would be larger than 4 GiB.
    TooLarge,
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATable => formatter.write_str("the bytes are not an operation table"),
            Self::Version { found } => {
                write!(formatter, "the operation table has version {found}, not {VERSION}")
            }
            Self::OutOfBounds => formatter.write_str("the operation table is truncated or corrupt"),
            Self::Record { name, .. } => {
                write!(formatter, "the record of operation `{name}` is corrupt")
            }
            Self::DuplicateName { name } => write!(formatter, "two operations are named `{name}`"),
            Self::TooLarge => formatter.write_str("the operation table is larger than 4 GiB"),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record { source: Some(source), .. } => Some(source),
            _ => None,
        }
    }
}

/// Writes the table of `operations`.
///
/// # Errors
/// [`TableError::DuplicateName`] when two operations share a name, [`TableError::TooLarge`] beyond 4 GiB.
pub fn encode(operations: &[Operation]) -> Result<Vec<u8>, TableError> {
    let mut sorted: Vec<&Operation> = operations.iter().collect();
    sorted.sort_by(|left, right| left.name.as_bytes().cmp(right.name.as_bytes()));
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(TableError::DuplicateName { name: pair[0].name.clone() });
    }
    let mut index = Vec::with_capacity(HEADER_BYTES + ENTRY_BYTES * sorted.len());
    index.extend_from_slice(MAGIC);
    index.extend_from_slice(&VERSION.to_le_bytes());
    push_size(&mut index, sorted.len())?;
    let content_start = HEADER_BYTES + ENTRY_BYTES * sorted.len();
    let mut content = Vec::new();
    for operation in sorted {
        for part in [operation.name.as_bytes(), &record(operation)?] {
            push_size(&mut index, content_start + content.len())?;
            push_size(&mut index, part.len())?;
            content.extend_from_slice(part);
        }
    }
    u32::try_from(index.len() + content.len()).map_err(|_| TableError::TooLarge)?;
    index.append(&mut content);
    Ok(index)
}

fn record(operation: &Operation) -> Result<Vec<u8>, TableError> {
    serde_json::to_vec(operation)
        .map_err(|source| TableError::Record { name: operation.name.clone(), source: Some(source) })
}

fn push_size(bytes: &mut Vec<u8>, size: usize) -> Result<(), TableError> {
    let size = u32::try_from(size).map_err(|_| TableError::TooLarge)?;
    bytes.extend_from_slice(&size.to_le_bytes());
    Ok(())
}

/// Returns how many operations the table says it has.
///
/// # Errors
/// Any reading error of [`TableError`]; names and records are not looked at.
pub fn len<S: Source + ?Sized>(table: &S) -> Result<usize, TableError> {
    let header = table.read(0, HEADER_BYTES).ok_or(TableError::NotATable)?;
    if header.get(..MAGIC.len()) != Some(MAGIC.as_slice()) {
        return Err(TableError::NotATable);
    }
    let found = read_u32(&header, 8)?;
    if found != VERSION {
        return Err(TableError::Version { found });
    }
    let count = read_size(&header, 12)?;
    let index = count.checked_mul(ENTRY_BYTES).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
    match index {
        Some(end) if end <= table.length() => Ok(count),
        _ => Err(TableError::OutOfBounds),
    }
}

/// Returns the operation called `name`, reading and decoding no other; `None` when there is none.
///
/// # Errors
/// Any reading error of [`TableError`]. The caller cannot help: the table is corrupt.
pub fn find<S: Source + ?Sized>(table: &S, name: &str) -> Result<Option<Operation>, TableError> {
    let (mut low, mut high) = (0, len(table)?);
    while low < high {
        let middle = low + (high - low) / 2;
        let start = HEADER_BYTES + middle * ENTRY_BYTES;
        let entry = table.read(start, start + ENTRY_BYTES).ok_or(TableError::OutOfBounds)?;
        match (*slice(table, &entry, 0)?).cmp(name.as_bytes()) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return decode(&slice(table, &entry, 8)?, name).map(Some),
        }
    }
    Ok(None)
}

fn decode(record: &[u8], name: &str) -> Result<Operation, TableError> {
    let operation: Operation = serde_json::from_slice(record)
        .map_err(|source| TableError::Record { name: name.to_owned(), source: Some(source) })?;
    if operation.name == name { Ok(operation) } else { Err(TableError::Record { name: name.to_owned(), source: None }) }
}

/// Reads an (offset, length) pair at `at` of an entry and returns the bytes that it points to.
fn slice<'t, S: Source + ?Sized>(table: &'t S, entry: &[u8], at: usize) -> Result<Cow<'t, [u8]>, TableError> {
    let start = read_size(entry, at)?;
    let end = start.checked_add(read_size(entry, at + 4)?).ok_or(TableError::OutOfBounds)?;
    table.read(start, end).ok_or(TableError::OutOfBounds)
}

fn read_size(bytes: &[u8], at: usize) -> Result<usize, TableError> {
    usize::try_from(read_u32(bytes, at)?).map_err(|_| TableError::OutOfBounds)
}

fn read_u32(bytes: &[u8], at: usize) -> Result<u32, TableError> {
    let bytes = at.checked_add(4).and_then(|end| bytes.get(at..end)).ok_or(TableError::OutOfBounds)?;
    bytes.try_into().map(u32::from_le_bytes).map_err(|_| TableError::OutOfBounds)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation(name: &str) -> Operation {
        Operation {
            name: name.to_owned(),
            method: "GET".to_owned(),
            base: None,
            path: format!("/{name}"),
            fixed_query: String::new(),
            parameters: Vec::new(),
            body: None,
            accept: "application/json".to_owned(),
            credentials: vec![vec!["token".to_owned()]],
        }
    }

    #[test]
    fn every_encoded_operation_is_found_and_no_other() {
        let operations: Vec<_> = (0..257).map(|number| operation(&format!("tool_{number}"))).collect();
        let table = encode(&operations).unwrap();
        assert_eq!(len(&table[..]).unwrap(), 257);
        for wanted in &operations {
            assert_eq!(find(&table[..], &wanted.name).unwrap().as_ref(), Some(wanted));
        }
        for absent in ["", "tool_", "tool_257", "tool_00", "zzz"] {
            assert_eq!(find(&table[..], absent).unwrap(), None, "{absent}");
        }
    }

    #[test]
    fn the_order_of_operations_does_not_change_the_table() {
        let (first, second) = (operation("a"), operation("b"));
        assert_eq!(encode(&[first.clone(), second.clone()]).unwrap(), encode(&[second, first]).unwrap());
    }

    #[test]
    fn an_empty_table_has_no_operation() {
        let table = encode(&[]).unwrap();
        assert_eq!(len(&table[..]).unwrap(), 0);
        assert_eq!(find(&table[..], "x").unwrap(), None);
    }

    #[test]
    fn two_operations_of_one_name_are_refused() {
        let error = encode(&[operation("a"), operation("a")]).unwrap_err();
        assert_eq!(error.to_string(), "two operations are named `a`");
    }

    #[test]
    fn a_foreign_header_is_named() {
        let mut table = encode(&[operation("a")]).unwrap();
        assert!(matches!(len(&table[..7]), Err(TableError::NotATable)));
        assert!(matches!(find(&table[..40], "a"), Err(TableError::OutOfBounds)));
        table[8] = 9;
        assert!(matches!(len(&table[..]), Err(TableError::Version { found: 9 })));
        table[0] = b'X';
        assert!(matches!(len(&table[..]), Err(TableError::NotATable)));
    }

    #[test]
    fn a_record_of_another_name_is_corrupt() {
        let mut table = encode(&[operation("a")]).unwrap();
        let at = HEADER_BYTES + ENTRY_BYTES;
        table[at] = b'b';
        assert!(matches!(find(&table[..], "b"), Err(TableError::Record { source: None, .. })));
    }

    proptest! {
        #[test]
        fn a_damaged_table_never_panics(at in 0usize..400, byte: u8, cut in 0usize..400, name in "[a-c]") {
            let mut table = encode(&[operation("a"), operation("b"), operation("c")]).unwrap();
            let at = at % table.len();
            table[at] = byte;
            table.truncate(table.len().saturating_sub(cut));
            let _ = len(&table[..]);
            if let Ok(Some(found)) = find(&table[..], &name) {
                prop_assert_eq!(found.name, name);
            }
        }

        #[test]
        fn foreign_bytes_never_panic(mut bytes: Vec<u8>, name: String, real_header: bool) {
            if real_header {
                let mut table = MAGIC.to_vec();
                table.extend_from_slice(&VERSION.to_le_bytes());
                table.append(&mut bytes);
                bytes = table;
            }
            let _ = len(&bytes[..]);
            let _ = find(&bytes[..], &name);
        }
    }
}
