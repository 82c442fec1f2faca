//! Import specifiers to files of the root. Pure text: which candidate exists is the caller's question.
//!
//! A path is relative to the root of the sources, has `/` between its parts and no part `.` or `..`.

/// The module name that stands for the SDK.
pub const SDK_MODULE: &str = "@rote/sdk";
/// The global that the SDK is found under when the script runs.
pub const SDK_GLOBAL: &str = "__rote_sdk";

const SUPPORTED: &str = "a flow imports relative files (`./name.ts`, `./data.json`) and `@rote/sdk`";

/// What a specifier means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The SDK.
    Sdk,
    /// One of these files, the first that exists.
    Files(Vec<String>),
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    TypeScript,
    JavaScript,
    Json,
}

/// Returns the language of a path by its extension.
pub(crate) fn language(path: &str) -> Option<Language> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension {
        "ts" | "mts" => Some(Language::TypeScript),
        "js" | "mjs" => Some(Language::JavaScript),
        "json" => Some(Language::Json),
        _ => None,
    }
}

/// Returns why a path cannot be the entry.
pub(crate) fn check_entry(entry: &str) -> Result<(), String> {
    if normalise("", entry).as_deref() != Ok(entry) {
        return Err("it must be a relative path without `.` and `..`".into());
    }
    match language(entry) {
        Some(Language::TypeScript | Language::JavaScript) if !is_declaration(entry) => Ok(()),
        _ => Err("it must be a `.ts` or `.js` file".into()),
    }
}

/// Resolves what `importer` imports as `specifier`.
///
/// # Errors
/// Why the specifier is not supported, as the reason of [`ScriptError::Import`](crate::ScriptError::Import).
pub(crate) fn resolve(importer: &str, specifier: &str) -> Result<Target, String> {
    if specifier == SDK_MODULE {
        return Ok(Target::Sdk);
    }
    let relative = ["./", "../"].iter().any(|prefix| specifier.starts_with(prefix)) || [".", ".."].contains(&specifier);
    if !relative {
        return Err(unsupported(specifier));
    }
    let folder = importer.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = normalise(folder, specifier)?;
    if is_declaration(&path) {
        return Err("a declaration file has no code; use `import type`".into());
    }
    if path.ends_with(".tsx") || path.ends_with(".jsx") {
        return Err("JSX is not supported; flows are `.ts` and `.js` files".into());
    }
    Ok(Target::Files(candidates(&path, specifier)))
}

fn unsupported(specifier: &str) -> String {
    let is_url = specifier.contains("://") || specifier.starts_with("data:");
    let reason = match specifier {
        _ if specifier.starts_with("node:") || is_builtin(specifier) => "flows do not run on Node",
        _ if specifier.starts_with("npm:") || specifier.starts_with("jsr:") => "packages are not installed for a flow",
        _ if specifier.starts_with('/') || specifier.starts_with("file:") => "absolute paths are not portable",
        _ if is_url => "flows load no code from the network",
        _ => "packages are not installed for a flow",
    };
    format!("{reason}; {SUPPORTED}")
}

fn is_builtin(specifier: &str) -> bool {
    let name = specifier.split('/').next().unwrap_or_default();
    ["fs", "path", "os", "http", "https", "crypto", "child_process", "util", "process", "url", "net"].contains(&name)
}

fn is_declaration(path: &str) -> bool {
    path.ends_with(".d.ts") || path.ends_with(".d.mts")
}

/// Joins and removes `.` and `..`.
fn normalise(folder: &str, path: &str) -> Result<String, String> {
    if path.contains(|c: char| c == '\\' || c.is_control()) {
        return Err("a path has `/` between its parts and no control characters".into());
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or_else(|| format!("it leaves the flow's folder; {SUPPORTED}"))?;
            }
            _ => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// The files that a path may mean: itself, the TypeScript file behind a `.js`, with an extension, as a folder.
fn candidates(path: &str, specifier: &str) -> Vec<String> {
    let is_folder = specifier.ends_with('/') || specifier.ends_with('.') || path.is_empty();
    let mut files = Vec::new();
    if !is_folder {
        if language(path).is_some() {
            files.push(path.to_owned());
        }
        if let Some(stem) = path.strip_suffix(".js") {
            files.push(format!("{stem}.ts"));
        } else if let Some(stem) = path.strip_suffix(".mjs") {
            files.push(format!("{stem}.mts"));
        }
        if files.is_empty() {
            files.extend(["ts", "mts", "js", "mjs"].map(|extension| format!("{path}.{extension}")));
        }
    }
    if language(path).is_none() {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        files.extend(["ts", "js"].map(|extension| format!("{prefix}index.{extension}")));
    }
    files
}
