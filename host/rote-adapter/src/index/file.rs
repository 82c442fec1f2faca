//! The index of one adapter's tools as bytes: each word once with its stem, then the tools as numbers of words.
//!
//! Layout, all numbers LEB128: [`MAGIC`], count of words, of each word its text and its stem; count of tools, of each its
//! name, method, marks, segments, required arguments and [`LISTS`] lists of words; the SHA-256 of all that. A text is its
//! length and its bytes.
//! Invariants: the same tools in the same order give the same bytes; the digest and every read are checked, so that
//! damaged and foreign bytes are [`None`] and never a panic; nothing but the tools of the answer is copied out.

use std::collections::{BTreeSet, HashMap};

use rote_types::{Access, Method, Tool, sha256};
use serde_json::Value;
use tantivy::tokenizer::TextAnalyzer;

use super::{stem, stemmer, summary, words};

/// The first bytes, with the version of the layout.
const MAGIC: &[u8; 8] = b"rote-ix\x02";

/// Bytes of the digest at the end.
const DIGEST: usize = 32;

/// Most words of a summary that are ranked by; the rest of it is only found.
const SUMMARY_WORDS: usize = 24;

/// Lists of words that a tool has: name, path, resource, toolset, summary, and the rest of the summary.
pub(super) const LISTS: usize = 6;

const DEPRECATED: u8 = 1;
const DESTRUCTIVE: u8 = 2;

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

/// How many arguments a schema requires.
pub(crate) fn required(schema: &Value) -> usize {
    schema["required"].as_array().map_or(0, Vec::len)
}

/// An index in the making.
pub(crate) struct Builder {
    stemmer: TextAnalyzer,
    numbers: HashMap<String, u32>,
    words: Vec<u8>,
    count: u32,
    tools: Vec<u8>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { stemmer: stemmer(), numbers: HashMap::new(), words: Vec::new(), count: 0, tools: Vec::new() }
    }

    /// Adds a tool that requires so many arguments.
    pub(crate) fn push<S>(&mut self, tool: &Tool<S>, required: usize) {
        let fixed: Vec<&str> = tool.path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{')).collect();
        let mut said = words(summary(&tool.description));
        let rest: BTreeSet<String> = said.split_off(said.len().min(SUMMARY_WORDS)).into_iter().collect();
        let lists: [Vec<String>; LISTS] = [
            words(&tool.name),
            words(&fixed.join("/")),
            fixed.last().map(|last| words(last)).unwrap_or_default(),
            words(&tool.toolset),
            said,
            rest.into_iter().collect(),
        ];
        // What another method destroys its words say, and who wants it says them too.
        let destroys =
            tool.access == Access::Destroy && !matches!(tool.method, Method::Post | Method::Patch | Method::Put);
        let marks = if tool.deprecated { DEPRECATED } else { 0 } | if destroys { DESTRUCTIVE } else { 0 };
        let method = METHODS.iter().position(|method| *method == tool.method).unwrap_or(METHODS.len());
        put_text(&mut self.tools, &tool.name);
        for number in [method, usize::from(marks), tool.path.split('/').count(), required] {
            put(&mut self.tools, number);
        }
        for list in &lists {
            put(&mut self.tools, list.len());
            for word in list {
                let number = self.number(word);
                put(&mut self.tools, number as usize);
            }
        }
        self.count += 1;
    }

    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        put_text(&mut self.words, word);
        put_text(&mut self.words, &stem(&mut self.stemmer, word));
        self.numbers.insert(word.to_owned(), number);
        number
    }

    /// Returns the bytes of the index.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.words.len() + self.tools.len() + 24 + DIGEST);
        bytes.extend_from_slice(MAGIC);
        put(&mut bytes, self.numbers.len());
        bytes.extend_from_slice(&self.words);
        put(&mut bytes, self.count as usize);
        bytes.extend_from_slice(&self.tools);
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

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// A word of the index.
pub(super) struct Known<'i> {
    pub(super) text: &'i str,
    pub(super) stem: &'i str,
}

/// One tool, as numbers of words.
pub(super) struct Entry<'i, 'l> {
    pub(super) name: &'i str,
    pub(super) method: Method,
    pub(super) deprecated: bool,
    pub(super) destructive: bool,
    /// Segments of the path.
    pub(super) depth: u16,
    /// Required parameters.
    pub(super) required: u16,
    lists: &'l [Vec<u32>; LISTS],
}

impl Entry<'_, '_> {
    /// Words of the name.
    pub(super) fn words(&self) -> &[u32] {
        &self.lists[0]
    }

    /// Words of the path's fixed segments.
    pub(super) fn path(&self) -> &[u32] {
        &self.lists[1]
    }

    /// Words of the last fixed segment: the resource.
    pub(super) fn resource(&self) -> &[u32] {
        &self.lists[2]
    }

    pub(super) fn toolset(&self) -> &[u32] {
        &self.lists[3]
    }

    pub(super) fn summary(&self) -> &[u32] {
        &self.lists[4]
    }

    /// What the summary says besides.
    pub(super) fn rest(&self) -> &[u32] {
        &self.lists[5]
    }
}

/// What is between the first bytes and the digest of an index; `None` for bytes that are not one.
pub(super) fn content(bytes: &[u8]) -> Option<&[u8]> {
    let (content, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
    content.strip_prefix(MAGIC).filter(|_| sha256(content).0 == digest)
}

/// An index that is read.
pub(super) struct Reader<'i> {
    bytes: &'i [u8],
}

impl<'i> Reader<'i> {
    /// Begins with what [`content`] gave.
    pub(super) fn new(bytes: &'i [u8]) -> Self {
        Self { bytes }
    }

    /// Reads all words; the tools follow.
    pub(super) fn words(&mut self, mut each: impl FnMut(&Known<'i>) -> u32) -> Option<Vec<u32>> {
        let count = self.number()?;
        // A word takes two bytes at least.
        let mut all = Vec::with_capacity(count.min(self.bytes.len() / 2));
        for _ in 0..count {
            all.push(each(&Known { text: self.text()?, stem: self.text()? }));
        }
        Some(all)
    }

    /// Reads all tools, each word as `meaning` has it.
    pub(super) fn tools(mut self, meaning: &[u32], mut each: impl FnMut(&Entry<'i, '_>)) -> Option<()> {
        let mut lists: [Vec<u32>; LISTS] = Default::default();
        for _ in 0..self.number()? {
            let name = self.text()?;
            let (method, marks) = (*METHODS.get(self.number()?)?, self.number()?);
            let (depth, required) = (self.number()?, self.number()?);
            for list in &mut lists {
                list.clear();
                for _ in 0..self.number()? {
                    list.push(*meaning.get(self.number()?)?);
                }
            }
            let count = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
            each(&Entry {
                name,
                method,
                deprecated: marks & usize::from(DEPRECATED) != 0,
                destructive: marks & usize::from(DESTRUCTIVE) != 0,
                depth: count(depth),
                required: count(required),
                lists: &lists,
            });
        }
        self.bytes.is_empty().then_some(())
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

    fn text(&mut self) -> Option<&'i str> {
        let length = self.number()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok()
    }
}
