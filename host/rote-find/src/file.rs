//! The index of one adapter's tools as bytes: the tools, then each stem with the tools that have it.
//!
//! Layout, all numbers LEB128: [`MAGIC`]; count of tools, of each its name, method, marks, depth, required arguments
//! and the stems of its name and path; count of stems, of each its text, the number of tools that have it in name, path
//! or title, or anywhere where none has it there, and the bytes that say which tools have it, so that what nobody asks
//! for is passed over; the SHA-256 of all that. A text is its length and its bytes. Stems are in order, and a stem of a
//! tool is its place in that order.
//! Invariants: the same tools in the same order give the same bytes; the digest and every read are checked, so that
//! damaged and foreign bytes are [`None`] and never a panic; nothing but the tools of the answer is copied out.

use std::collections::BTreeMap;

use rote_types::{Access, Method, Tool, sha256};
use serde_json::Value;

use crate::fields::{self, Fields};

/// The first bytes, with the version of the layout and of what is written into it.
const MAGIC: &[u8; 8] = b"rote-ix\x06";

/// Bytes of the digest at the end.
const DIGEST: usize = 32;

const DEPRECATED: usize = 1;
/// The path ends with a parameter.
const ITEM: usize = 2;
/// Where the access begins.
const ACCESS: usize = 2;

/// The methods by their number in the file.
const METHODS: [Method; 9] = [
    Method::Get,
    Method::Head,
    Method::Options,
    Method::Trace,
    Method::Post,
    Method::Patch,
    Method::Put,
    Method::Delete,
    Method::Mcp,
];

/// An index in the making.
#[derive(Debug, Default)]
pub struct Builder {
    stems: BTreeMap<String, Vec<(usize, u8, u8)>>,
    tools: Vec<Listed>,
}

#[derive(Debug)]
struct Listed {
    name: String,
    numbers: [usize; 4],
    head: Vec<String>,
}

/// What an index has of one tool.
#[derive(Debug)]
pub struct Row {
    name: String,
    numbers: [usize; 4],
    fields: Fields,
}

impl Row {
    /// Reads a tool; `schema` is that of its arguments.
    #[must_use]
    pub fn of<S>(tool: &Tool<S>, schema: &Value) -> Self {
        let method = METHODS.iter().position(|method| *method == tool.method).unwrap_or(METHODS.len());
        let access = match tool.access {
            Access::Read => 0,
            Access::Write => 1,
            Access::Destroy => 2,
        };
        let parts = tool.path.split('/').filter(|part| !part.is_empty());
        let item = parts.clone().next_back().is_some_and(|last| last.ends_with('}'));
        let marks = usize::from(tool.deprecated) * DEPRECATED + usize::from(item) * ITEM + (access << ACCESS);
        let required = schema["required"].as_array().map_or(0, Vec::len);
        let numbers = [method, marks, parts.count(), required];
        Self { name: tool.name.clone(), numbers, fields: fields::read(tool, schema) }
    }
}

impl Builder {
    /// Returns an index without a tool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn push(&mut self, row: Row) {
        let number = self.tools.len();
        for (stem, (weight, flags)) in row.fields.stems {
            self.stems.entry(stem).or_default().push((number, weight, flags));
        }
        self.tools.push(Listed { name: row.name, numbers: row.numbers, head: row.fields.head });
    }

    /// Returns the bytes of the index.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let numbers: BTreeMap<&str, usize> = self.stems.keys().map(String::as_str).zip(0..).collect();
        put(&mut bytes, self.tools.len());
        for tool in &self.tools {
            put_text(&mut bytes, tool.name.as_bytes());
            tool.numbers.iter().for_each(|number| put(&mut bytes, *number));
            put(&mut bytes, tool.head.len());
            tool.head.iter().for_each(|stem| put(&mut bytes, numbers[stem.as_str()]));
        }
        put(&mut bytes, self.stems.len());
        for (stem, found) in &self.stems {
            put_text(&mut bytes, stem.as_bytes());
            let named = found.iter().filter(|(_, _, flags)| *flags != 0).count();
            put(&mut bytes, if named > 0 { named } else { found.len() });
            let (mut places, mut before) = (Vec::with_capacity(found.len() * 3), 0);
            for (tool, weight, flags) in found {
                put(&mut places, tool - before);
                places.extend([*weight, *flags]);
                before = *tool;
            }
            put_text(&mut bytes, &places);
        }
        let digest = sha256(&bytes);
        bytes.extend_from_slice(&digest.0);
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f).to_le_bytes()[0];
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// One tool.
#[derive(Debug)]
pub(crate) struct Entry<'i> {
    pub(crate) name: &'i str,
    pub(crate) method: Method,
    pub(crate) access: Access,
    pub(crate) deprecated: bool,
    pub(crate) item: bool,
    /// Segments of the path.
    pub(crate) depth: usize,
    /// Required parameters.
    pub(crate) required: usize,
    /// Stems of its name and path, by number.
    pub(crate) head: Vec<usize>,
}

/// One stem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stem<'i> {
    pub(crate) text: &'i str,
    pub(crate) number: usize,
    /// How many tools have it in name, path or title, or anywhere where none has it there.
    pub(crate) count: usize,
    places: &'i [u8],
}

impl Stem<'_> {
    /// Says which tools have it, how much it counts there, from 0 to 255, and where it stands ([`fields`]).
    pub(crate) fn tools(&self, mut each: impl FnMut(usize, u8, u8)) -> Option<()> {
        let (mut reader, mut tool) = (Reader { bytes: self.places }, 0);
        while !reader.bytes.is_empty() {
            tool += reader.number()?;
            let ([weight, flags], rest) = reader.bytes.split_first_chunk()?;
            reader.bytes = rest;
            each(tool, *weight, *flags);
        }
        Some(())
    }
}

/// An index that is read.
#[derive(Debug)]
pub(crate) struct Index<'i> {
    pub(crate) tools: Vec<Entry<'i>>,
    pub(crate) stems: Vec<Stem<'i>>,
}

impl<'i> Index<'i> {
    /// Reads an index; `None` for bytes that are not one.
    pub(crate) fn read(bytes: &'i [u8]) -> Option<Self> {
        let (content, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
        let rest = content.strip_prefix(MAGIC).filter(|_| sha256(content).0 == digest)?;
        let mut reader = Reader { bytes: rest };
        let count = reader.number()?;
        // A tool takes six bytes at least, and a stem four.
        let mut tools = Vec::with_capacity(count.min(rest.len() / 6));
        for _ in 0..count {
            tools.push(reader.tool()?);
        }
        let count = reader.number()?;
        let mut stems = Vec::with_capacity(count.min(rest.len() / 4));
        for number in 0..count {
            let (text, count) = (std::str::from_utf8(reader.bytes()?).ok()?, reader.number()?);
            stems.push(Stem { text, number, count, places: reader.bytes()? });
        }
        reader.bytes.is_empty().then_some(Self { tools, stems })
    }

    pub(crate) fn stem(&self, text: &str) -> Option<Stem<'i>> {
        self.stems.binary_search_by(|stem| stem.text.cmp(text)).ok().map(|at| self.stems[at])
    }
}

struct Reader<'i> {
    bytes: &'i [u8],
}

impl<'i> Reader<'i> {
    fn tool(&mut self) -> Option<Entry<'i>> {
        let name = std::str::from_utf8(self.bytes()?).ok()?;
        let (method, marks) = (*METHODS.get(self.number()?)?, self.number()?);
        let (depth, required, count) = (self.number()?, self.number()?, self.number()?);
        let head = (0..count.min(self.bytes.len())).map(|_| self.number()).collect::<Option<_>>()?;
        let access = [Access::Read, Access::Write, Access::Destroy];
        let access = *access.get(marks >> ACCESS)?;
        let (deprecated, item) = (marks & DEPRECATED != 0, marks & ITEM != 0);
        Some(Entry { name, method, access, deprecated, item, depth, required, head })
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'i [u8]> {
        let length = self.number()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(text)
    }
}
