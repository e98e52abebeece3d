//! Finds the password in an address: `scheme://user:password@host`.
//!
//! Never touches the rest of the address.

use std::ops::Range;

use super::Found;
use super::kind::Kind;
use super::value::{self, Setting};

/// The maximum length of a login, in bytes.
const MAX_LOGIN: usize = 512;

/// Searches the text after `://`. The search continues after the anchor, since a user name may be a token.
pub(super) fn find(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let at = anchor.end;
    let rest = &text[at..text.len().min(at + MAX_LOGIN)];
    let web = text[..anchor.start].ends_with(b"http") || text[..anchor.start].ends_with(b"https");
    let stops = |b: u8| {
        b.is_ascii_whitespace()
            || matches!(
                b,
                b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'(' | b')' | b'|'
            )
            || web && matches!(b, b'/' | b'?' | b'#')
    };
    let login = &rest[..rest.iter().position(|&b| stops(b)).unwrap_or(rest.len())];
    let Some(sign) = host_sign(login) else {
        return at;
    };
    let login = &login[..sign];
    let (user, range) = match login.iter().position(|&b| b == b':') {
        Some(colon) => (&login[..colon], at + colon + 1..at + sign),
        None => (&login[..0], at..at + sign),
    };
    let value = &text[range.clone()];
    let secret = if range.start == at {
        // A user name without a password is a secret if it looks random: it is then a token or a key.
        value::is_machine_made(value, Setting::Literal)
    } else {
        is_password(user, value)
    };
    if secret {
        found.push(Found {
            range,
            kind: Kind::UrlPassword,
        });
    }
    at
}

/// The position of the `@` before the host. If there are several, the last one before the path counts; a password may contain a
/// slash only if no host and port precede the slash.
fn host_sign(login: &[u8]) -> Option<usize> {
    let authority = login
        .iter()
        .position(|b| matches!(b, b'/' | b'?' | b'#'))
        .unwrap_or(login.len());
    if let Some(sign) = login[..authority].iter().rposition(|&b| b == b'@') {
        return Some(sign);
    }
    let colon = login[..authority].iter().position(|&b| b == b':')?;
    let port = &login[colon + 1..authority];
    if port.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let sign = login.iter().position(|&b| b == b'@')?;
    // A host must follow the `@`.
    login
        .get(sign + 1)
        .is_some_and(u8::is_ascii_alphanumeric)
        .then_some(sign)
}

/// Whether the password in an address is a real one: people use short ones, so only obvious examples are excluded.
fn is_password(user: &[u8], value: &[u8]) -> bool {
    value.len() >= 4
        && value != user
        && !value::is_placeholder(value)
        && !value::is_plain(value)
        && !value.iter().all(|&b| b == value[0])
        && !value.contains(&b'{')
        && !value.contains(&b',')
}
