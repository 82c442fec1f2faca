//! A credential that a person says an API wants, whatever its description says: many say nothing, GitHub's among them.

use rote_spec::Api;
use rote_types::{AuthKind, AuthSlot};

/// The slot's name in the manifest; schemes of descriptions keep theirs.
const SLOT: &str = "given";

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenCredential {
    /// How it travels.
    pub kind: AuthKind,
    /// The vault entry (and environment variable) that holds it.
    pub token_env: String,
}

impl GivenCredential {
    /// Makes every operation send it. One that the description says is open is also sent without, while there is no
    /// value for it.
    pub(crate) fn apply(&self, api: &mut Api) {
        for tool in &mut api.tools {
            let open = tool.tool.security.is_empty() || tool.tool.security.contains(&Vec::new());
            let mut alternatives = vec![vec![SLOT.to_owned()]];
            alternatives.extend(open.then(Vec::new));
            tool.operation.credentials.clone_from(&alternatives);
            tool.tool.security = alternatives;
        }
        let slot = AuthSlot {
            kind: self.kind.clone(),
            token_env: self.token_env.clone(),
            evidence: "given when the adapter was made".to_owned(),
        };
        let auth = &mut api.auth;
        auth.token_env = Some(self.token_env.clone());
        auth.default_scheme = Some(SLOT.to_owned());
        auth.reason = "a person said so when the adapter was made".to_owned();
        auth.schemes = [(SLOT.to_owned(), slot)].into();
    }
}

#[cfg(test)]
mod tests {
    use rote_spec::{NoReferences, Source, SpecLimits, read};

    use super::*;

    const DOCUMENT: &str = r#"{"openapi": "3.1.0", "info": {"title": "t", "version": "1"},
      "components": {"securitySchemes": {"old": {"type": "http", "scheme": "basic"}}},
      "paths": {"/open": {"get": {"operationId": "open"}}, "/shut": {"get": {"operationId": "shut", "security": [{"old": []}]}}}}"#;

    #[test]
    fn every_operation_sends_it_and_open_ones_work_without() {
        let source = Source { name: "/t.json", bytes: DOCUMENT.as_bytes() };
        let mut api = read(source, &mut NoReferences, &SpecLimits::default()).unwrap();
        GivenCredential { kind: AuthKind::Bearer, token_env: "T".to_owned() }.apply(&mut api);
        let given = || vec![SLOT.to_owned()];
        assert_eq!(api.tools[0].tool.security, [given(), Vec::new()]);
        assert_eq!(api.tools[1].tool.security, [given()]);
        assert_eq!(api.tools[1].operation.credentials, [given()]);
        assert_eq!(api.auth.schemes.keys().collect::<Vec<_>>(), [SLOT]);
    }
}
