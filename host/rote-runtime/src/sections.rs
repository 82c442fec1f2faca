//! Custom sections of a component file: what a flow carries beside its code.
//!
//! Only the top level of the file is looked at; sections of nested modules and components are theirs. No
//! function here validates the component: that is the loader's work.

use std::ops::Range;

use crate::LoadError;

/// Custom section of a flow's frontmatter, canonical JSON.
pub const FRONTMATTER_SECTION: &str = "rote:frontmatter";
/// Custom section of a template component's payload: the plan or the script.
pub const PAYLOAD_SECTION: &str = "rote:payload";

/// Prefix of the names of all custom sections that are not part of the code.
const ROTE_PREFIX: &str = "rote:";
/// Magic number, version 13 and layer 1 of a component (component-model Binary.md).
const COMPONENT_HEADER: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];
/// Magic number and version of a core module (WebAssembly core specification §5.5.16).
const MODULE_HEADER: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/// Returns the contents of the custom section `name`, or `None` when the component has none of that name.
///
/// # Errors
/// [`LoadError`] when the bytes are not a component, are cut off, or carry the section twice (then nobody could
/// say which one was meant). The maker of the file is to blame.
pub fn custom_section<'a>(component: &'a [u8], name: &str) -> Result<Option<&'a [u8]>, LoadError> {
    let mut found = None;
    for section in sections(component)? {
        if section.custom_name == Some(name) && found.replace(&component[section.contents]).is_some() {
            return Err(LoadError::Malformed { message: format!("custom section `{name}` occurs twice"), offset: 0 });
        }
    }
    Ok(found)
}

/// Returns the component without its `rote:*` custom sections: the code that is compiled, and what the
/// compile cache is keyed by.
///
/// # Errors
/// [`LoadError`] when the bytes are not a component or are cut off.
pub fn strip_rote_sections(component: &[u8]) -> Result<Vec<u8>, LoadError> {
    let mut stripped = Vec::with_capacity(component.len());
    stripped.extend_from_slice(&COMPONENT_HEADER);
    for section in sections(component)? {
        if !section.is_rote() {
            stripped.extend_from_slice(&component[section.whole]);
        }
    }
    Ok(stripped)
}

/// Whether [`strip_rote_sections`] of the component would give exactly `code`: the component is `code`, then `rote:*`
/// custom sections and nothing else. Comparing is ten times as fast as cutting and hashing.
///
/// # Errors
/// As [`strip_rote_sections`].
pub fn is_code_with_rote_sections(component: &[u8], code: &[u8]) -> Result<bool, LoadError> {
    let in_its_place = |section: &Section<'_>| section.is_rote() == (section.whole.start >= code.len());
    Ok(component.starts_with(code) && sections(component)?.iter().all(in_its_place))
}

/// Returns the names of the `rote:*` custom sections, in the order in which they stand.
///
/// # Errors
/// [`LoadError`] when the bytes are not a component or are cut off.
pub fn rote_section_names(component: &[u8]) -> Result<Vec<&str>, LoadError> {
    let rote = sections(component)?.into_iter().filter(Section::is_rote);
    Ok(rote.filter_map(|section| section.custom_name).collect())
}

/// Whether the component carries any `rote:*` custom section.
pub(crate) fn has_rote_sections(component: &[u8]) -> Result<bool, LoadError> {
    Ok(sections(component)?.iter().any(Section::is_rote))
}

/// Appends a custom section to a component.
///
/// # Errors
/// [`LoadError::TooLarge`] when name and contents together do not fit a section (4 GiB).
pub fn append_section(component: &mut Vec<u8>, name: &str, contents: &[u8]) -> Result<(), LoadError> {
    let too_large = |_| LoadError::TooLarge { bytes: contents.len(), max: u32::MAX as usize };
    let mut prefix = Vec::new();
    write_leb(&mut prefix, u32::try_from(name.len()).map_err(too_large)?);
    let length = u32::try_from(prefix.len() + name.len() + contents.len()).map_err(too_large)?;
    component.push(0);
    write_leb(component, length);
    component.extend_from_slice(&prefix);
    component.extend_from_slice(name.as_bytes());
    component.extend_from_slice(contents);
    Ok(())
}

/// One top-level section, by its ranges in the file.
struct Section<'a> {
    whole: Range<usize>,
    custom_name: Option<&'a str>,
    contents: Range<usize>,
}

impl Section<'_> {
    fn is_rote(&self) -> bool {
        self.custom_name.is_some_and(|name| name.starts_with(ROTE_PREFIX))
    }
}

/// Lists the top-level sections of a component.
fn sections(component: &[u8]) -> Result<Vec<Section<'_>>, LoadError> {
    check_header(component)?;
    let mut sections = Vec::new();
    let mut position = COMPONENT_HEADER.len();
    while position < component.len() {
        let section = read_section(component, position)?;
        position = section.whole.end;
        sections.push(section);
    }
    Ok(sections)
}

/// Refuses what is not a component by its first eight bytes.
pub(crate) fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    match bytes.get(..8) {
        Some(header) if header == COMPONENT_HEADER => Ok(()),
        Some(header) if header == MODULE_HEADER => Err(LoadError::CoreModule),
        _ => Err(LoadError::NotWasm { bytes: bytes.len() }),
    }
}

fn read_section(component: &[u8], start: usize) -> Result<Section<'_>, LoadError> {
    let cut_off = || LoadError::Malformed { message: "a section is cut off".to_owned(), offset: start };
    let (size, begin) = read_leb(component, start + 1).ok_or_else(cut_off)?;
    let end = begin.checked_add(size).filter(|end| *end <= component.len()).ok_or_else(cut_off)?;
    if component[start] != 0 {
        return Ok(Section { whole: start..end, custom_name: None, contents: begin..end });
    }
    let (name_length, name_begin) = read_leb(&component[..end], begin).ok_or_else(cut_off)?;
    let name_end = name_begin.checked_add(name_length).filter(|name_end| *name_end <= end).ok_or_else(cut_off)?;
    let name = std::str::from_utf8(&component[name_begin..name_end]).map_err(|_| cut_off())?;
    Ok(Section { whole: start..end, custom_name: Some(name), contents: name_end..end })
}

/// Reads an unsigned LEB128 of at most 32 bits; returns it with the position after it.
fn read_leb(bytes: &[u8], mut position: usize) -> Option<(usize, usize)> {
    let mut value = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(position)?;
        position += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(u32::try_from(value).ok()?).ok().map(|value| (value, position));
        }
    }
    None
}

fn write_leb(bytes: &mut Vec<u8>, mut value: u32) {
    loop {
        let low = (value & 0x7f).to_le_bytes()[0];
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn empty() -> Vec<u8> {
        COMPONENT_HEADER.to_vec()
    }

    #[test]
    fn a_section_that_was_appended_is_found_and_stripped() {
        let mut component = empty();
        append_section(&mut component, "producers", b"other").unwrap();
        let plain = component.clone();
        append_section(&mut component, PAYLOAD_SECTION, &[7; 300]).unwrap();
        append_section(&mut component, FRONTMATTER_SECTION, b"{}").unwrap();
        assert_eq!(custom_section(&component, PAYLOAD_SECTION).unwrap(), Some(&[7; 300][..]));
        assert_eq!(custom_section(&component, FRONTMATTER_SECTION).unwrap(), Some(&b"{}"[..]));
        assert_eq!(custom_section(&plain, PAYLOAD_SECTION).unwrap(), None);
        assert_eq!(strip_rote_sections(&component).unwrap(), plain);
        assert_eq!(rote_section_names(&component).unwrap(), [PAYLOAD_SECTION, FRONTMATTER_SECTION]);
        assert!(has_rote_sections(&component).unwrap() && !has_rote_sections(&plain).unwrap());
    }

    #[test]
    fn a_section_that_occurs_twice_is_refused() {
        let mut component = empty();
        append_section(&mut component, PAYLOAD_SECTION, b"one").unwrap();
        append_section(&mut component, PAYLOAD_SECTION, b"two").unwrap();
        assert!(matches!(custom_section(&component, PAYLOAD_SECTION), Err(LoadError::Malformed { .. })));
    }

    #[test]
    fn every_truncation_is_an_error_or_a_whole_prefix() {
        let mut component = empty();
        append_section(&mut component, PAYLOAD_SECTION, b"contents").unwrap();
        for length in 0..component.len() {
            let cut = &component[..length];
            assert_eq!(custom_section(cut, PAYLOAD_SECTION).is_ok(), length == 8, "{length}");
        }
    }

    #[test]
    fn a_core_module_and_a_text_are_told_apart() {
        assert!(matches!(strip_rote_sections(&MODULE_HEADER), Err(LoadError::CoreModule)));
        assert!(matches!(strip_rote_sections(b"<!doctype html>"), Err(LoadError::NotWasm { bytes: 15 })));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut component = empty();
            component.extend_from_slice(&bytes);
            let _ = custom_section(&component, PAYLOAD_SECTION);
            if let Ok(stripped) = strip_rote_sections(&component) {
                prop_assert!(!has_rote_sections(&stripped).unwrap());
                prop_assert_eq!(strip_rote_sections(&stripped).unwrap(), stripped);
            }
        }

        #[test]
        fn a_leb_round_trips(value in any::<u32>()) {
            let mut bytes = Vec::new();
            write_leb(&mut bytes, value);
            prop_assert_eq!(read_leb(&bytes, 0), Some((value as usize, bytes.len())));
        }
    }
}
