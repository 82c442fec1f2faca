//! What one policy allows that another did not, in words for the journal and for a person.

use super::{Entry, Policy};

impl Policy {
    /// Returns everything that this policy allows and `before` did not: new entries of the safe list and new grants,
    /// and entries that are no longer denied or confirmed.
    #[must_use]
    pub fn allows_beyond(&self, before: &Self) -> Vec<String> {
        let new = |now: &[Entry], then: &[Entry]| -> Vec<String> {
            now.iter().filter(|entry| !then.contains(entry)).map(|entry| entry.0.clone()).collect()
        };
        let safe = new(&self.safe.entries, &before.safe.entries).into_iter().map(|name| format!("safe_list `{name}`"));
        let confirm = new(&before.confirm.entries, &self.confirm.entries);
        let confirm = confirm.into_iter().map(|name| format!("`{name}` no longer in confirm_list"));
        let deny = new(&before.deny.entries, &self.deny.entries);
        let deny = deny.into_iter().map(|name| format!("`{name}` no longer in deny_list"));
        let known = |cidr, port| before.allow.iter().any(|one| one.cidr == cidr && one.port == port);
        let reach = self.allow.iter().filter(|one| !known(one.cidr, one.port)).map(|one| match one.port {
            Some(port) => format!("egress to {} port {port}", one.cidr),
            None => format!("egress to {}", one.cidr),
        });
        safe.chain(confirm).chain(deny).chain(reach).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::parse(text.as_bytes(), "p.json").unwrap()
    }

    #[test]
    fn only_what_is_wider_is_named() {
        let before = policy(
            r#"{"version": 1, "safe_list": ["a"], "confirm_list": ["b"], "deny_list": ["c", "d"],
                "egress": {"allow": [{"cidr": "10.0.0.0/8", "port": 80, "reason": "x"}]}}"#,
        );
        let after = policy(
            r#"{"version": 1, "safe_list": ["a", "toolset:t"], "confirm_list": [], "deny_list": ["d", "e"],
                "egress": {"allow": [{"cidr": "10.0.0.0/8", "port": 80, "reason": "y"},
                                     {"cidr": "10.0.0.0/8", "reason": "z"}]}}"#,
        );
        assert_eq!(
            after.allows_beyond(&before),
            [
                "safe_list `toolset:t`",
                "`b` no longer in confirm_list",
                "`c` no longer in deny_list",
                "egress to 10.0.0.0/8"
            ]
        );
        assert!(before.allows_beyond(&before).is_empty());
        assert_eq!(before.allows_beyond(&Policy::default()), ["safe_list `a`", "egress to 10.0.0.0/8 port 80"]);
    }
}
