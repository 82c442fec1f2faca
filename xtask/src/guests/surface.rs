//! What a module or component imports and exports, as text to compare.

use std::collections::BTreeSet;

use anyhow::Result;
use wasmparser::{Parser, Payload};

/// Returns the imports and exports of a core module or a component; those of nested ones are left out.
pub(super) fn read(bytes: &[u8]) -> Result<BTreeSet<String>> {
    let mut surface = BTreeSet::new();
    let mut depth = 0u32;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => note(&mut surface, payload)?,
            _ => {}
        }
    }
    Ok(surface)
}

fn note(surface: &mut BTreeSet<String>, payload: Payload<'_>) -> Result<()> {
    match payload {
        Payload::ImportSection(section) => {
            for import in section.into_imports() {
                let import = import?;
                surface.insert(format!("import {} {}", import.module, import.name));
            }
        }
        Payload::ExportSection(section) => {
            for export in section {
                let export = export?;
                surface.insert(format!("export {} {:?}", export.name, export.kind));
            }
        }
        Payload::ComponentImportSection(section) => {
            for import in section {
                surface.insert(format!("import {}", import?.name.name));
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section {
                let export = export?;
                surface.insert(format!("export {} {:?}", export.name.name, export.kind));
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committed_guest_shows_its_surface() {
        let root = crate::repository();
        let shell = std::fs::read(root.join("adapters/_shell/shell.wasm")).unwrap();
        let surface = read(&shell).unwrap();
        assert!(surface.contains("export call Func"), "{surface:?}");
        assert!(surface.contains("import rote:host/http@0.2.0"), "{surface:?}");
        let plan = std::fs::read(root.join("flows/_plan/plan.wasm")).unwrap();
        assert!(read(&plan).unwrap().contains("export run Func"));
    }
}
