//! The templates that run plans and scripts, and how the code of a file is known to be one of them.
//!
//! Invariant: what a person reads of a plan or a script is its payload, so a file counts as one only when the code
//! that runs the payload is a template to the byte: the committed one, or one in `templates.json`.

use std::sync::LazyLock;

use rote_runtime::{is_code_with_rote_sections, strip_rote_sections};
use rote_types::{Sha256Digest, sha256};
use serde::Deserialize;

use crate::error::PackageError;
use crate::{FlowError, Form};

/// The plan template (`cargo xtask guests` builds it from `flows/_plan`).
static PLAN: &[u8] = include_bytes!("../../../flows/_plan/plan.wasm");
/// The script template (from `flows/_js`).
static SCRIPT: &[u8] = include_bytes!("../../../flows/_js/js.wasm");

/// Every template that this rote believes. The last one of a form is the committed one; `cargo xtask guests` adds a
/// rebuilt one.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../templates.json")).expect("a test reads the file that is compiled in")
});

/// One template that flows were made with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    form: Form,
    /// Digest of the component without `rote:*` sections.
    sha256: Sha256Digest,
    /// The version of rote that came with it.
    rote: String,
}

/// Whose code a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The committed template's, with its digest.
    Template(&'static [u8], Sha256Digest),
    /// That of an older template, by the version of rote that came with it.
    Older(&'static str),
    Own,
}

impl Code {
    /// Says whose code a file is, which claims to be of a form.
    ///
    /// # Errors
    /// [`PackageError::OtherTemplate`] for a plan or a script whose code is not a template that is known.
    pub(crate) fn of(bytes: &[u8], form: Form) -> Result<Self, FlowError> {
        let Some((template, digest)) = form.template() else { return Ok(Self::Own) };
        if is_code_with_rote_sections(bytes, template)? {
            return Ok(Self::Template(template, digest));
        }
        let code = sha256(&strip_rote_sections(bytes)?);
        let known = KNOWN.iter().find(|known| known.form == form && known.sha256 == code);
        known
            .map(|known| Self::Older(&known.rote))
            .ok_or(FlowError::Package(PackageError::OtherTemplate { form, code }))
    }
}

impl Form {
    /// The component that runs payloads of this form, with its digest; none for a component of its own.
    pub(crate) fn template(self) -> Option<(&'static [u8], Sha256Digest)> {
        let template = match self {
            Self::Plan => PLAN,
            Self::Script => SCRIPT,
            Self::Component => return None,
        };
        let known = KNOWN.iter().rfind(|known| known.form == self)?;
        Some((template, known.sha256))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_templates_are_known() {
        for form in [Form::Plan, Form::Script] {
            let (template, digest) = form.template().unwrap();
            let (found, name) = (sha256(&strip_rote_sections(template).unwrap()), form.as_str());
            assert_eq!(digest, found, "the last {name} of templates.json is not the committed one: cargo xtask guests");
            assert_eq!(Code::of(template, form).unwrap(), Code::Template(template, digest));
            assert_eq!(Code::of(template, Form::Component).unwrap(), Code::Own);
        }
        assert!(KNOWN.iter().all(|known| known.form != Form::Component));
    }

    #[test]
    fn the_template_of_one_form_is_none_of_the_other() {
        let (plan, digest) = Form::Plan.template().unwrap();
        let error = Code::of(plan, Form::Script).unwrap_err();
        assert!(
            matches!(error, FlowError::Package(PackageError::OtherTemplate { form: Form::Script, code }) if code == digest),
            "{error}"
        );
    }
}
