//! Which workspace uses which adapter: `runtime/sessions/workspace_<name>.json`.
//!
//! It says where the credential came from and never what it is. The file is for people and tools; nothing is
//! decided by it.

use std::path::Path;

use jiff::Timestamp;
use rote_home::{FileMode, HomeError, read_capped, write_atomic};
use rote_types::{AdapterId, Fingerprint, Manifest, WorkspaceName};
use serde::{Deserialize, Serialize};

use crate::package;

/// Longest session file that is read.
const MAX_BYTES: u64 = 64 << 10;

/// The file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) workspace: WorkspaceName,
    pub(crate) adapter: AdapterId,
    pub(crate) endpoint: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) auth_source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credential_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_expires_at: Option<Timestamp>,
    pub(crate) created_at: Timestamp,
    pub(crate) last_used_at: Timestamp,
}

/// Where the credential of a session comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) source: String,
    pub(crate) expires_at: Option<Timestamp>,
}

/// Writes the session of `workspace` and returns it; the time of its beginning survives.
pub(crate) fn touch(
    dir: &Path,
    manifest: &Manifest,
    workspace: &WorkspaceName,
    credential: Credential,
    now: Timestamp,
) -> Result<Session, HomeError> {
    let path = dir.join(package::SESSIONS).join(format!("workspace_{workspace}.json"));
    let before: Option<Session> =
        read_capped(&path, MAX_BYTES).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let created_at = match before {
        Some(before) if before.fingerprint == manifest.fingerprint => before.created_at,
        _ => now,
    };
    let session = Session {
        workspace: workspace.clone(),
        adapter: manifest.id.clone(),
        endpoint: format!("adapter/{}", manifest.id),
        fingerprint: manifest.fingerprint.clone(),
        auth_source: credential.source,
        credential_name: manifest.auth.token_env.clone(),
        token_expires_at: credential.expires_at,
        created_at,
        last_used_at: now,
    };
    write_atomic(&path, &package::pretty(&session), FileMode::Private)?;
    Ok(session)
}
