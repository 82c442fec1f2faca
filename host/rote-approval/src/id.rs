//! The name of a request, by which people and programs speak of it. Knowing it allows nothing.

use std::fmt;
use std::str::FromStr;

/// What it begins with.
const PREFIX: &str = "ap_";

/// `ap_` and 16 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId(pub(crate) [u8; 8]);

/// A text that is not the name of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not `ap_` and 16 hex digits")]
pub struct NotAnApprovalId;

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex::encode(self.0))
    }
}

impl FromStr for ApprovalId {
    type Err = NotAnApprovalId;

    fn from_str(text: &str) -> Result<Self, NotAnApprovalId> {
        let digits = text.strip_prefix(PREFIX).ok_or(NotAnApprovalId)?;
        let is_written_so = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bytes = hex::decode(digits).ok().filter(|_| is_written_so);
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NotAnApprovalId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_only() {
        let id = ApprovalId([0, 1, 2, 3, 4, 5, 6, 255]);
        assert_eq!(id.to_string(), "ap_00010203040506ff");
        assert_eq!("ap_00010203040506ff".parse(), Ok(id));
        for other in
            ["", "ap_", "ap_00010203040506FF", "ap_00010203040506f", "00010203040506ff", "ap_00010203040506ff0"]
        {
            assert_eq!(other.parse::<ApprovalId>(), Err(NotAnApprovalId), "{other}");
        }
    }
}
