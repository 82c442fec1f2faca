//! Splices bytes into the memory of a core module.
//!
//! The memory's minimum is raised by the pages that the bytes need; one active data segment places them at the
//! old end of memory and a second one writes their address and length where the module's exported global
//! [`PAIR_GLOBAL`] points. INVARIANT: the module's allocator must only grow memory, never hand out the pages
//! between its data and the initial end; that holds for `wasm32-unknown-unknown`, not for wasi-libc.

use std::convert::Infallible;

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{ConstExpr, DataSection, ExportSection, MemoryType, Module};
use wasmparser::{ExternalKind, Operator, Parser, Payload};

use super::GenerateError;

/// The exported global that holds the address of the `[address, length]` pair.
const PAIR_GLOBAL: &str = "ROTE_TABLE";

const PAGE_BYTES: u64 = 65_536;

/// Returns `module` with `bytes` in its memory.
pub(super) fn splice(module: &[u8], bytes: &[u8]) -> Result<Vec<u8>, GenerateError> {
    let mut splicer = Splicer::plan(module, bytes)?;
    let mut output = Module::new();
    splicer.parse_core_module(&mut output, Parser::new(0), module).map_err(|error| refused(error.to_string()))?;
    Ok(output.finish())
}

fn refused(reason: impl Into<String>) -> GenerateError {
    GenerateError::Splice { reason: reason.into() }
}

struct Splicer<'a> {
    bytes: &'a [u8],
    /// Where the bytes go: the old end of memory.
    address: u32,
    /// Their length.
    length: u32,
    /// Where address and length are written.
    pair: u32,
    /// The memory's new minimum.
    pages: u64,
}

impl<'a> Splicer<'a> {
    fn plan(module: &[u8], bytes: &'a [u8]) -> Result<Self, GenerateError> {
        let shape = Shape::read(module).map_err(|error| refused(error.to_string()))?;
        let pair = shape.pair().ok_or_else(|| refused(format!("it exports no global `{PAIR_GLOBAL}`")))?;
        let old_pages = shape.memory_pages.ok_or_else(|| refused("it has no memory of its own"))?;
        if !shape.has_data_section {
            return Err(refused("it has no data section"));
        }
        let too_large = || refused("the table does not fit into 32-bit memory");
        let length = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        let address =
            old_pages.checked_mul(PAGE_BYTES).and_then(|end| u32::try_from(end).ok()).ok_or_else(too_large)?;
        let pages = old_pages + u64::from(length).div_ceil(PAGE_BYTES);
        if pages >= u64::from(u32::MAX) / PAGE_BYTES {
            return Err(too_large());
        }
        Ok(Self { bytes, address, length, pair, pages })
    }
}

impl Reencode for Splicer<'_> {
    type Error = Infallible;

    fn memory_type(&mut self, memory: wasmparser::MemoryType) -> Result<MemoryType, reencode::Error> {
        let mut memory = reencode::utils::memory_type(self, memory);
        memory.minimum = self.pages;
        memory.maximum = memory.maximum.map(|maximum| maximum.max(self.pages));
        Ok(memory)
    }

    fn data_count(&mut self, count: u32) -> Result<u32, reencode::Error> {
        Ok(count.saturating_add(2))
    }

    fn parse_data_section(
        &mut self,
        data: &mut DataSection,
        section: wasmparser::DataSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        reencode::utils::parse_data_section(self, data, section)?;
        data.active(0, &ConstExpr::i32_const(self.address.cast_signed()), self.bytes.iter().copied());
        let mut pair = [0; 8];
        pair[..4].copy_from_slice(&self.address.to_le_bytes());
        pair[4..].copy_from_slice(&self.length.to_le_bytes());
        data.active(0, &ConstExpr::i32_const(self.pair.cast_signed()), pair);
        Ok(())
    }

    fn parse_export(
        &mut self,
        exports: &mut ExportSection,
        export: wasmparser::Export<'_>,
    ) -> Result<(), reencode::Error> {
        // Nobody needs the global once the pair is written.
        if export.name == PAIR_GLOBAL {
            return Ok(());
        }
        reencode::utils::parse_export(self, exports, export)
    }
}

/// What the splicer has to know of the module before it copies it.
#[derive(Default)]
struct Shape {
    memory_pages: Option<u64>,
    has_data_section: bool,
    imported_globals: u32,
    /// Per defined global, its value if it is a constant.
    globals: Vec<Option<i32>>,
    pair_global: Option<u32>,
}

impl Shape {
    fn read(module: &[u8]) -> wasmparser::Result<Self> {
        let mut shape = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            shape.note(payload?)?;
        }
        Ok(shape)
    }

    fn note(&mut self, payload: Payload<'_>) -> wasmparser::Result<()> {
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    if matches!(import?.ty, wasmparser::TypeRef::Global(_)) {
                        self.imported_globals += 1;
                    }
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    self.memory_pages.get_or_insert(memory?.initial);
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    self.globals.push(constant(&global?.init_expr)?);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if export.name == PAIR_GLOBAL && export.kind == ExternalKind::Global {
                        self.pair_global = Some(export.index);
                    }
                }
            }
            Payload::DataSection(_) => self.has_data_section = true,
            _ => {}
        }
        Ok(())
    }

    fn pair(&self) -> Option<u32> {
        let defined = self.pair_global?.checked_sub(self.imported_globals)?;
        let address = (*self.globals.get(usize::try_from(defined).ok()?)?)?;
        Some(address.cast_unsigned())
    }
}

fn constant(expression: &wasmparser::ConstExpr<'_>) -> wasmparser::Result<Option<i32>> {
    match expression.get_operators_reader().read()? {
        Operator::I32Const { value } => Ok(Some(value)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_the_pair_or_a_memory_is_refused() {
        let empty = Module::new().finish();
        let error = splice(&empty, b"x").unwrap_err().to_string();
        assert!(error.ends_with("it exports no global `ROTE_TABLE`"), "{error}");
        assert!(splice(b"not wasm", b"x").is_err());
    }
}
