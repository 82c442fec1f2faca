//! When a token ends, if it says so itself: the `exp` claim of a JWT (RFC 7519 §4.1.4).
//!
//! Nothing is verified and nothing else is read; the answer is shown to a person, never decided upon.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;

/// Longest claims part that is looked at.
const MAX_CLAIMS_BYTES: usize = 32 << 10;

/// What of the claims matters here.
#[derive(Deserialize)]
struct Claims {
    exp: Option<f64>,
}

/// A token that has the form of a JWT.
pub(crate) struct Jwt {
    pub(crate) expires_at: Option<Timestamp>,
}

/// Reads a token as a JWT, or returns `None` when it is none.
pub(crate) fn read(token: &str) -> Option<Jwt> {
    let mut parts = token.split('.');
    let (header, claims, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || claims.len() > MAX_CLAIMS_BYTES {
        return None;
    }
    let header = URL_SAFE_NO_PAD.decode(header).ok()?;
    serde_json::from_slice::<serde::de::IgnoredAny>(&header).ok()?;
    let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Some(Jwt { expires_at: claims.exp.and_then(timestamp) })
}

/// Seconds since 1970 may have a fraction; what is out of range is not a time.
fn timestamp(seconds: f64) -> Option<Timestamp> {
    let duration = jiff::SignedDuration::try_from_secs_f64(seconds.floor()).ok()?;
    Timestamp::from_duration(duration).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.c2ln", part(r#"{"alg":"HS256"}"#), part(claims))
    }

    #[test]
    fn the_end_of_a_jwt_is_read() {
        let jwt = read(&token(r#"{"sub":"x","exp":1800000000}"#)).unwrap();
        assert_eq!(jwt.expires_at, Timestamp::from_second(1_800_000_000).ok());
        assert_eq!(read(&token(r#"{"exp":1800000000.9}"#)).unwrap().expires_at, jwt.expires_at);
        assert_eq!(read(&token("{}")).unwrap().expires_at, None);
        assert_eq!(read(&token(r#"{"exp":1e300}"#)).unwrap().expires_at, None);
    }

    #[test]
    fn other_tokens_are_no_jwt() {
        for other in ["ghp_abc", "a.b.c", "a.b", "....", "", &format!("{}.x", token("{}"))] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
