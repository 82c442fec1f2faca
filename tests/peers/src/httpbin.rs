//! httpbin: what arrives is what was meant, what comes back is decoded, and no credential is seen.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::rote::Rote;

/// The token whose every appearance in a record is a failure.
const CANARY: &str = "canary-7f3a9d51c2";

type Check = fn(&Rote) -> Result<()>;

/// Runs every check.
pub(crate) fn check(rote: &Rote, url: &str) -> Result<()> {
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/httpbin.openapi.yaml");
    rote.ok(&["adapter", "new", "bin", "--spec", spec, "--base-url", url, "--yes"])?;
    let manifest: Value = serde_json::from_slice(&std::fs::read(rote.home().join("adapters/bin/manifest.json"))?)?;
    for (scheme, value) in [("bearer", CANARY), ("basic", "user:secret-pass")] {
        let name = manifest["auth"]["schemes"][scheme]["token_env"].as_str().context("a slot names its token")?;
        rote.ok(&["token", "set", name, value, "--yes"])?;
    }
    let checks: [(&str, Check); 7] = [
        ("request parts", request_parts),
        ("bodies", bodies),
        ("encodings", encodings),
        ("credentials", credentials),
        ("status codes", status_codes),
        ("redirects", redirects),
        ("write guard", write_guard),
    ];
    for (name, check) in checks {
        check(rote).with_context(|| format!("httpbin: {name}"))?;
        println!("httpbin: {name} ok");
    }
    Ok(())
}

/// Calls a tool and returns the recorded body.
fn body(rote: &Rote, tool: &str, arguments: &Value) -> Result<Value> {
    rote.ok(&["call", "bin", tool, &arguments.to_string()])?;
    Ok(rote.newest_response()?["response"]["body"].clone())
}

fn request_parts(rote: &Rote) -> Result<()> {
    let escape = rote.run(&["call", "bin", "anything", &json!({"segment": "a/../b"}).to_string()])?;
    ensure!(escape.code == 2, "a path argument with `..` ended with {}", escape.code);
    let sent = json!({
        "segment": "a b/;c", "tags": ["x", "y&z"], "filter": {"a": {"b": "1"}},
        "X-Trace": "t1", "flavour": "mint", "title": "naïve ✓", "count": 3
    });
    let echo = body(rote, "anything", &sent)?;
    ensure!(echo["args"]["tags"] == json!(["x", "y&z"]), "query array: {}", echo["args"]);
    ensure!(echo["args"]["filter[a][b]"] == "1", "deep object: {}", echo["args"]);
    ensure!(echo["headers"]["X-Trace"] == "t1", "header: {}", echo["headers"]);
    ensure!(echo["headers"]["Cookie"] == "flavour=mint", "cookie: {}", echo["headers"]);
    ensure!(echo["json"] == json!({"title": "naïve ✓", "count": 3}), "body: {}", echo["json"]);
    let url = echo["url"].as_str().unwrap_or_default();
    ensure!(url.contains("/anything/a%20b/;c"), "the path argument: {url}");
    Ok(())
}

fn bodies(rote: &Rote) -> Result<()> {
    let echo = body(rote, "form", &json!({"name": "a b&c", "items": [{"price": "p1"}, {"price": "p2"}]}))?;
    ensure!(
        echo["form"] == json!({"name": "a b&c", "items[0][price]": "p1", "items[1][price]": "p2"}),
        "form: {}",
        echo["form"]
    );
    let file = json!({"base64": "aGVsbG8=", "filename": "h.txt", "content_type": "text/plain"});
    let echo = body(rote, "upload", &json!({"note": "n", "file": file}))?;
    ensure!(echo["form"]["note"] == "n" && echo["files"]["file"] == "hello", "multipart: {echo}");
    Ok(())
}

fn encodings(rote: &Rote) -> Result<()> {
    for (tool, mark) in [("gzip", "gzipped"), ("deflate", "deflated"), ("brotli", "brotli")] {
        ensure!(body(rote, tool, &json!({}))?[mark] == true, "{tool}");
    }
    let text = body(rote, "utf8", &json!({}))?;
    ensure!(text.as_str().is_some_and(|text| text.contains("∮ E⋅da = Q")), "UTF-8 text");
    ensure!(body(rote, "xml", &json!({}))?.as_str().is_some_and(|text| text.contains("<slideshow")), "XML");
    rote.ok(&["call", "bin", "png"])?;
    let artifacts = rote.home().join("rote/workspaces/peers/.rote/artifacts");
    let png = std::fs::read_dir(artifacts)?.filter_map(|entry| std::fs::read(entry.ok()?.path()).ok()).next();
    ensure!(png.is_some_and(|bytes| bytes.starts_with(b"\x89PNG")), "the image is an artifact");
    Ok(())
}

fn credentials(rote: &Rote) -> Result<()> {
    let echo = body(rote, "bearer", &json!({}))?;
    ensure!(echo["authenticated"] == true, "bearer: {echo}");
    ensure!(!echo.to_string().contains(CANARY), "the echoed token was redacted");
    ensure!(body(rote, "basic", &json!({}))?["authenticated"] == true, "basic");
    body(rote, "headers", &json!({}))?;
    for file in files_below(rote.home())? {
        let bytes = std::fs::read(&file)?;
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        ensure!(!found, "the token stands in {}", file.display());
    }
    Ok(())
}

fn files_below(folder: &std::path::Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_below(&path)?) } else { files.push(path) }
    }
    Ok(files)
}

fn status_codes(rote: &Rote) -> Result<()> {
    for (status, exit) in [(200, 0), (404, 8), (418, 8), (500, 8), (503, 8)] {
        let outcome = rote.run(&["call", "bin", "status", &json!({"codes": status}).to_string()])?;
        ensure!(outcome.code == exit, "status {status} gave exit {}", outcome.code);
        ensure!(rote.newest_response()?["response"]["status"] == status, "status {status} was recorded");
    }
    Ok(())
}

fn redirects(rote: &Rote) -> Result<()> {
    for target in ["http://169.254.169.254/latest/meta-data", "http://example.com/", "/status/200"] {
        let outcome = rote.run(&["call", "bin", "redirect", &json!({"url": target}).to_string()])?;
        let recorded = rote.newest_response()?;
        ensure!(recorded["response"]["status"] == 302, "the redirect itself is the answer: {}", outcome.envelope);
    }
    Ok(())
}

fn write_guard(rote: &Rote) -> Result<()> {
    let outcome = rote.run(&["call", "bin", "remove"])?;
    ensure!(outcome.code == 5, "a DELETE waits for confirmation, exit {}", outcome.code);
    let token = outcome.envelope["error"]["details"]["confirm_token"].as_str().context("a token was minted")?;
    rote.ok(&["call", "bin", "remove", "--confirm", token])?;
    let again = rote.run(&["call", "bin", "remove", "--confirm", token])?;
    ensure!(again.code != 0, "a token is good for one call");
    Ok(())
}
