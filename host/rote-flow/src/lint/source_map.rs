//! Where a line of a bundle came from: as much of source map version 3 (ECMA-426) as that takes.

use serde::Deserialize;

/// One mapping: column in the bundle, source, line in the source.
type Segment = (usize, usize, usize);

/// A source map that was read.
pub(super) struct SourceMap {
    sources: Vec<String>,
    /// By line of the bundle, sorted by column.
    lines: Vec<Vec<Segment>>,
}

impl SourceMap {
    /// Reads a map; nothing when it is none. A wrong map only costs positions.
    pub(super) fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Raw {
            #[serde(default)]
            sources: Vec<Option<String>>,
            mappings: String,
        }
        let raw: Raw = serde_json::from_str(text).ok()?;
        let sources = raw.sources.into_iter().map(|name| name.unwrap_or_else(|| "source".to_owned())).collect();
        let (mut source, mut line) = (0_i64, 0_i64);
        let mut lines = Vec::new();
        for text in raw.mappings.split(';') {
            let mut column = 0_i64;
            let mut segments = Vec::new();
            for segment in text.split(',').filter(|segment| !segment.is_empty()) {
                let fields = fields(segment)?;
                column += fields.first()?;
                if let [_, source_change, line_change, ..] = fields[..] {
                    source += source_change;
                    line += line_change;
                    let number = |value: i64| usize::try_from(value).ok();
                    segments.push((number(column)?, number(source)?, number(line)?));
                }
            }
            segments.sort_unstable();
            lines.push(segments);
        }
        Some(Self { sources, lines })
    }

    /// The source and its line, both from 0, of a place in the bundle.
    pub(super) fn source(&self, line: usize, column: usize) -> Option<(String, usize)> {
        let segments = self.lines.get(line)?;
        let after = segments.partition_point(|(start, _, _)| *start <= column);
        let (_, source, line) = segments.get(after.checked_sub(1)?)?;
        Some((self.sources.get(*source)?.clone(), *line))
    }
}

/// The numbers of a segment, base64 VLQ.
fn fields(segment: &str) -> Option<Vec<i64>> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut fields = Vec::new();
    let (mut value, mut shift) = (0_i64, 0_u32);
    for c in segment.chars() {
        let digit = i64::try_from(DIGITS.find(c)?).ok()?;
        value |= (digit & 31).checked_shl(shift)?;
        shift += 5;
        if digit & 32 != 0 {
            // More than six digits are not a line of any file.
            if shift > 30 {
                return None;
            }
            continue;
        }
        fields.push(if value & 1 == 1 { -(value >> 1) } else { value >> 1 });
        (value, shift) = (0, 0);
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_leads_to_its_source() {
        // Line 0: columns 0 and 8 are lines 0 and 1 of `main.ts`; line 1: line 16 of `lib.ts`.
        let map = r#"{"version":3,"sources":["main.ts","lib.ts"],"mappings":"AAAA,QACA;ACeA"}"#;
        let map = SourceMap::read(map).unwrap();
        assert_eq!(map.source(0, 3), Some(("main.ts".to_owned(), 0)));
        assert_eq!(map.source(0, 9), Some(("main.ts".to_owned(), 1)));
        assert_eq!(map.source(1, 0), Some(("lib.ts".to_owned(), 16)));
        assert_eq!(map.source(2, 0), None);
    }

    #[test]
    fn broken_maps_are_none() {
        for text in ["", "{}", r#"{"mappings":"*"}"#, r#"{"mappings":"gggggggggggg"}"#] {
            assert!(SourceMap::read(text).is_none(), "{text}");
        }
    }
}
