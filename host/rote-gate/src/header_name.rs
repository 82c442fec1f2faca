//! What the name of a header says that it is: another method, or a credential. By the words in it and not by a list of
//! names, because servers have made up names for both that no list has.
//!
//! Invariants: names are folded as servers fold them ([`rote_govern::folded`]); what is not certain is a credential.

use rote_govern::folded;

/// Words that say by themselves that a value authenticates, also at the end of others (`XAuthToken`).
const CREDENTIALS: [&str; 14] = [
    "apikey",
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "token",
];
/// Words that make a key one that authenticates, and not one of a cache, a partition or an idempotent write.
const OF_KEYS: [&str; 14] = [
    "access",
    "account",
    "admin",
    "api",
    "app",
    "application",
    "auth",
    "client",
    "master",
    "private",
    "secret",
    "service",
    "subscription",
    "user",
];
/// Words beside which a token is a place in a list, or Atlassian's answer to browsers (`X-Atlassian-Token: no-check`).
const OF_PLACES: [&str; 8] = ["atlassian", "continuation", "cursor", "delta", "next", "page", "pagination", "sync"];

/// Whether a server may take the value for the method.
pub(crate) fn names_a_method(name: &str) -> bool {
    let folded = folded(name);
    folded.replace('-', "").contains("method") || folded.split('-').any(|word| word == "verb" || word == "httpverb")
}

/// Words by which an API of remote procedures says in a header which one is called, or a server that it is another than the URL's.
const DISPATCH: [&str; 9] =
    ["action", "command", "function", "operation", "override", "procedure", "rewrite", "soapaction", "target"];

/// Whether a server may take the value for what is called (`X-Amz-Target`, `SOAPAction`, `X-Path-Override`).
pub(crate) fn names_an_operation(name: &str) -> bool {
    folded(name)
        .split('-')
        .any(|word| DISPATCH.iter().any(|known| word == *known || word.strip_prefix('x') == Some(known)))
}

/// Whether the value may be a credential.
pub(crate) fn names_a_credential(name: &str) -> bool {
    let folded = folded(name);
    let words: Vec<&str> = folded.split('-').filter(|word| !word.is_empty()).collect();
    let is_place = words.iter().any(|word| OF_PLACES.contains(word));
    let says = |word: &&str| match *word {
        "token" => !is_place,
        // Longer words that end so are others: `oauth`, but not `plasauth`.
        word => CREDENTIALS.contains(&word) || (word.len() > 4 && ends_in_a_credential(word) && !is_place),
    };
    let joined = words.concat();
    let is_key = joined.strip_suffix("key").is_some_and(|front| OF_KEYS.iter().any(|of| front.ends_with(of)));
    is_key || words.iter().any(says) || (words.contains(&"session") && !words.contains(&"idempotency"))
}

fn ends_in_a_credential(word: &str) -> bool {
    CREDENTIALS.iter().any(|known| word.ends_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_told_by_its_words() {
        for name in [
            "X-Authorization",
            "PRIVATE-TOKEN",
            "X-Access-Token",
            "X_Access_Token",
            "X-Api-Key",
            "apikey",
            "XApiKey",
            "X-Auth",
            "X-OAuth",
            "X-Vault-Token",
            "X-Goog-Api-Key",
            "Ocp-Apim-Subscription-Key",
            "X-Amz-Security-Token",
            "X-Client-Secret",
            "X-Session-Id",
            "X-JWT-Assertion",
            "User-Key",
            "X-Cookie",
            "X-Forwarded-Access-Token",
        ] {
            assert!(names_a_credential(name), "{name}");
        }
        for name in [
            "Accept",
            "Idempotency-Key",
            "X-Cache-Key",
            "X-Partition-Key",
            "X-GitHub-Api-Version",
            "Stripe-Account",
            "Notion-Version",
            "X-Atlassian-Token",
            "X-Ms-Continuation-Token",
            "X-Author",
            "If-Match",
            "X-Trace",
            "Prefer",
            "Range",
        ] {
            assert!(!names_a_credential(name), "{name}");
        }
    }

    #[test]
    fn a_method_is_told_by_its_words() {
        for name in ["X-Tunnel-Method", "x-method", "x-verb", "X_HTTP_Verb", "XHTTPMethod", "X-Do.Method[a]"] {
            assert!(names_a_method(name), "{name}");
        }
        for name in ["Accept", "X-Verbose", "X-Adverb", "Idempotency-Key"] {
            assert!(!names_a_method(name), "{name}");
        }
    }

    #[test]
    fn what_is_called_is_told_by_its_words() {
        for name in
            ["X-Amz-Target", "x_amz.target", "SOAPAction", "X-Path-Override", "X-Operation", "X-Action", "XTarget"]
        {
            assert!(names_an_operation(name), "{name}");
        }
        for name in ["Accept", "X-Transaction", "X-Targeting", "Prefer", "If-Match", "X-Trace"] {
            assert!(!names_an_operation(name), "{name}");
        }
    }
}
