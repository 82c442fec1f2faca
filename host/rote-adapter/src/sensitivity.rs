//! How sensitive an adapter's data is, by what its tools take and return.
//!
//! Pure: words of field names and of OAuth scopes against a table. The tier of the adapter is the highest of its
//! tools. A guess from names is evidence, not proof, so each finding is kept with what it was found in.

use std::collections::{BTreeMap, HashMap};

use rote_find::split_words;
use rote_types::SensitivityTier;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most findings that are kept per tool.
const MAX_EVIDENCE: usize = 16;

/// Deepest schema that is looked into.
const MAX_DEPTH: usize = 24;

/// One category of sensitive data.
pub(crate) struct Category {
    name: &'static str,
    tier: SensitivityTier,
    /// Word sequences: `card number` matches `cardNumber`, `card_number` and `billing-card-number`.
    words: &'static [&'static str],
}

/// What counts as sensitive. Categories follow GDPR art. 4 and 9 and PCI DSS; words are what real APIs use.
const TABLE: [Category; 8] = [
    Category {
        name: "secret",
        tier: SensitivityTier::High,
        words: &[
            "password",
            "passwd",
            "passphrase",
            "secret",
            "private key",
            "api key",
            "access token",
            "refresh token",
            "client secret",
            "credential",
            "credentials",
            "otp",
            "mfa code",
            "recovery code",
            "pin code",
        ],
    },
    Category {
        name: "payment",
        tier: SensitivityTier::High,
        words: &[
            "card number",
            "cvc",
            "cvv",
            "iban",
            "account number",
            "routing number",
            "sort code",
            "bank account",
            "credit card",
            "debit card",
            "payment method",
            "card",
            "swift code",
        ],
    },
    Category {
        name: "identity document",
        tier: SensitivityTier::High,
        words: &[
            "ssn",
            "social security",
            "passport",
            "passport number",
            "national id",
            "tax id",
            "driver license",
            "drivers license",
            "id number",
            "itin",
            "vat number",
        ],
    },
    Category {
        name: "health",
        tier: SensitivityTier::High,
        words: &[
            "health",
            "diagnosis",
            "medication",
            "prescription",
            "patient",
            "medical",
            "blood type",
            "allergies",
            "insurance number",
            "disability",
        ],
    },
    Category {
        name: "special category",
        tier: SensitivityTier::High,
        words: &[
            "religion",
            "ethnicity",
            "race",
            "sexual orientation",
            "biometric",
            "fingerprint data",
            "criminal record",
        ],
    },
    Category {
        name: "contact",
        tier: SensitivityTier::Medium,
        words: &[
            "email",
            "emails",
            "email address",
            "phone",
            "phone number",
            "mobile",
            "address",
            "street",
            "postal code",
            "postcode",
            "zip code",
            "home address",
            "mailing address",
            "fax",
        ],
    },
    Category {
        name: "person",
        tier: SensitivityTier::Medium,
        words: &[
            "first name",
            "last name",
            "given name",
            "family name",
            "full name",
            "surname",
            "birthday",
            "birth date",
            "date of birth",
            "dob",
            "gender",
            "age",
            "avatar",
            "salary",
            "income",
            "nationality",
            "attendee",
            "attendees",
        ],
    },
    Category {
        name: "trace",
        tier: SensitivityTier::Medium,
        words: &[
            "ip address",
            "geo",
            "latitude",
            "longitude",
            "location",
            "device id",
            "user agent",
            "message",
            "inbox",
        ],
    },
];

/// Why a tool has its tier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    /// What was found, such as `payment`.
    pub category: String,
    /// Where: `input`, `output` or `scope`.
    pub source: String,
    /// The field or scope as the description writes it.
    pub name: String,
}

/// One tool's classification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSensitivity {
    pub tier: SensitivityTier,
    /// Why, most serious first; empty for a low tier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// `sensitivity.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Version of the file's shape: 1.
    pub version: u32,
    /// The highest tier.
    pub tier: SensitivityTier,
    /// By tool name.
    pub tools: BTreeMap<String, ToolSensitivity>,
}

impl Sensitivity {
    /// What the tools of an adapter are makes what the adapter is.
    pub(crate) fn of(tools: BTreeMap<String, ToolSensitivity>) -> Self {
        let tier = tools.values().map(|tool| tool.tier).max().unwrap_or(SensitivityTier::Low);
        Self { version: 1, tier, tools }
    }
}

/// The categories of names that were looked at: an API has few names, and each many times.
pub(crate) type Known = HashMap<String, Vec<&'static Category>>;

/// Classifies one tool by its input schema, the fields that it returns and the OAuth scopes that it asks for.
pub(crate) fn classify(schema: &Value, returns: &[String], scopes: &[String], known: &mut Known) -> ToolSensitivity {
    let mut found = BTreeMap::new();
    let mut note = |source: &'static str, name: &str| {
        if !known.contains_key(name) {
            known.insert(name.to_owned(), categories(name).collect());
        }
        for category in known.get(name).into_iter().flatten() {
            let key = (std::cmp::Reverse(category.tier), category.name, source);
            found.entry(key).or_insert_with(|| name.to_owned());
        }
    };
    input_fields(schema, 0, &mut |name| note("input", name));
    returns.iter().for_each(|name| note("output", name));
    scopes.iter().for_each(|name| note("scope", name));
    let tier = found.keys().next().map_or(SensitivityTier::Low, |(tier, ..)| tier.0);
    let evidence = found.into_iter().take(MAX_EVIDENCE).map(|((_, category, source), name)| Evidence {
        category: category.to_owned(),
        source: source.to_owned(),
        name,
    });
    ToolSensitivity { tier, evidence: evidence.collect() }
}

/// Calls `visit` with every property name of a schema.
fn input_fields(schema: &Value, depth: usize, visit: &mut dyn FnMut(&str)) {
    if depth > MAX_DEPTH {
        return;
    }
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            visit(name);
                            input_fields(property, depth + 1, visit);
                        }
                    }
                    ("enum" | "const" | "default" | "example" | "examples" | "required", _) => {}
                    (_, value) => input_fields(value, depth + 1, visit),
                }
            }
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| input_fields(schema, depth + 1, visit)),
        _ => {}
    }
}

/// The categories whose words stand in a name.
fn categories(name: &str) -> impl Iterator<Item = &'static Category> {
    // Spaces around, so that a word sequence matches whole words only.
    let words = format!(" {} ", split_words(name).join(" "));
    TABLE.iter().filter(move |category| category.words.iter().any(|wanted| has_words(&words, wanted)))
}

/// Whether `wanted` stands in `words` (` a b c `) at the boundaries of words.
fn has_words(words: &str, wanted: &str) -> bool {
    words
        .match_indices(wanted)
        .any(|(start, _)| words[..start].ends_with(' ') && words[start + wanted.len()..].starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_count_and_parts_do_not() {
        let tier = |name: &str| categories(name).map(|category| category.tier).max().unwrap_or(SensitivityTier::Low);
        let cases = [
            ("customerEmail", SensitivityTier::Medium),
            ("card_number", SensitivityTier::High),
            ("ssn", SensitivityTier::High),
            ("client_secret", SensitivityTier::High),
            ("user:email", SensitivityTier::Medium),
            ("patient.read", SensitivityTier::High),
            ("page", SensitivityTier::Low),
            ("discard", SensitivityTier::Low),
            ("language", SensitivityTier::Low),
            ("healthcheckish", SensitivityTier::Low),
            ("title", SensitivityTier::Low),
        ];
        for (name, expected) in cases {
            assert_eq!(tier(name), expected, "{name}");
        }
    }

    #[test]
    fn fields_are_found_at_every_depth_and_values_are_not_fields() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "order": {"anyOf": [{"properties": {"iban": {"type": "string"}}}]},
                "kind": {"enum": ["password"], "default": {"properties": {"ssn": {}}}}
            }
        });
        let mut names = Vec::new();
        input_fields(&schema, 0, &mut |name| names.push(name.to_owned()));
        names.sort();
        assert_eq!(names, ["iban", "kind", "order"]);
    }
}
