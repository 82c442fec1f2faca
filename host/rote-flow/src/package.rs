//! One flow as one file: the template component, then three custom sections.
//!
//! | section | contents |
//! |---|---|
//! | `rote:frontmatter` | canonical JSON |
//! | `rote:payload` | the plan, canonical JSON |
//! | `rote:digest` | `sha256:<hex>` of every byte before this section; always last |
//!
//! The digest makes the file check itself: a flipped, missing or added byte anywhere is noticed before anything
//! in it is believed. It protects against damage and careless edits. It does not protect against someone who
//! edits the file on purpose and writes a new digest; that is what signatures and blessings are for, which cover
//! the digest. The same input always makes the same bytes.

use rote_plan::Plan;
use rote_runtime::{FRONTMATTER_SECTION, PAYLOAD_SECTION, append_section, custom_section, strip_rote_sections};
use rote_types::{Sha256Digest, canonical_json, sha256};

use crate::{FlowError, Form, Frontmatter};

/// Custom section of the digest.
pub const DIGEST_SECTION: &str = "rote:digest";
/// Most bytes of a flow file.
pub const MAX_FLOW_BYTES: usize = 64 << 20;

/// The plan template (`cargo xtask guests` builds it from `flows/_plan`).
static PLAN_TEMPLATE: &[u8] = include_bytes!("../../../flows/_plan/plan.wasm");

/// A flow file that was read and verified, or is about to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Package {
    /// What it says of itself.
    pub frontmatter: Frontmatter,
    /// The plan, for flows of that form.
    pub plan: Plan,
    bytes: Vec<u8>,
    digest: Sha256Digest,
}

impl Package {
    /// Makes the file of a plan flow.
    ///
    /// # Errors
    /// The plan or the frontmatter is invalid or too large.
    pub fn of_plan(frontmatter: Frontmatter, plan: Plan) -> Result<Self, FlowError> {
        let malformed = |what, message: String| FlowError::Malformed { what, message };
        plan.validate().map_err(|error| malformed("plan", error.to_string()))?;
        let header = canonical_json(&frontmatter).map_err(|error| malformed("frontmatter", error.to_string()))?;
        Frontmatter::parse(&header)?;
        let payload = canonical_json(&plan).map_err(|error| malformed("plan", error.to_string()))?;
        Plan::parse(&payload).map_err(|error| malformed("plan", error.to_string()))?;
        let mut bytes = strip_rote_sections(PLAN_TEMPLATE)?;
        append_section(&mut bytes, FRONTMATTER_SECTION, &header)?;
        append_section(&mut bytes, PAYLOAD_SECTION, &payload)?;
        let tail = digest_section(&bytes)?;
        bytes.extend_from_slice(&tail);
        let digest = sha256(&bytes);
        Ok(Self { frontmatter, plan, bytes, digest })
    }

    /// Reads a file and verifies it.
    ///
    /// # Errors
    /// [`FlowError::NotAFlow`] when it is something else, [`FlowError::Tampered`] when its digest does not match,
    /// [`FlowError::Malformed`] when a section is.
    pub fn read(bytes: Vec<u8>) -> Result<Self, FlowError> {
        if bytes.len() > MAX_FLOW_BYTES {
            return Err(FlowError::TooLarge { bytes: bytes.len(), max: MAX_FLOW_BYTES });
        }
        verify(&bytes)?;
        let section = |name: &'static str| {
            custom_section(&bytes, name)?
                .ok_or_else(|| FlowError::NotAFlow { message: format!("it has no section `{name}`") })
        };
        let frontmatter = Frontmatter::parse(section(FRONTMATTER_SECTION)?)?;
        let payload = section(PAYLOAD_SECTION)?;
        let plan = match frontmatter.form {
            Form::Plan => Plan::parse(payload)
                .map_err(|error| FlowError::Malformed { what: "plan", message: error.to_string() })?,
        };
        let digest = sha256(&bytes);
        Ok(Self { frontmatter, plan, bytes, digest })
    }

    /// Returns the file's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the digest of the whole file, its digest section included.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// Returns the payload as the guest reads it.
    ///
    /// # Errors
    /// Never for a package that was read or made; the sections are looked up again.
    pub fn payload(&self) -> Result<&[u8], FlowError> {
        let missing = || FlowError::NotAFlow { message: format!("it has no section `{PAYLOAD_SECTION}`") };
        custom_section(&self.bytes, PAYLOAD_SECTION)?.ok_or_else(missing)
    }
}

/// The digest section over everything before it.
fn digest_section(before: &[u8]) -> Result<Vec<u8>, FlowError> {
    let mut tail = Vec::new();
    append_section(&mut tail, DIGEST_SECTION, sha256(before).to_string().as_bytes())?;
    Ok(tail)
}

/// Checks the digest at the end byte for byte, its framing included, so that no second spelling of it is accepted.
fn verify(bytes: &[u8]) -> Result<(), FlowError> {
    let tail_bytes = digest_section(&[])?.len();
    let split = bytes.len().checked_sub(tail_bytes);
    let matches = |split: usize| digest_section(&bytes[..split]).map(|tail| tail == bytes[split..]);
    match split.map(matches).transpose()? {
        Some(true) => Ok(()),
        // What was never a flow is named as that, and not as a damaged one.
        _ if custom_section(bytes, FRONTMATTER_SECTION)?.is_none() => {
            Err(FlowError::NotAFlow { message: format!("it has no section `{FRONTMATTER_SECTION}`") })
        }
        _ => Err(FlowError::Tampered),
    }
}
