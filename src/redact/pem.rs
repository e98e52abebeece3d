//! Finds the body of a private key in its armour, whole or cut off, with real or escaped line ends.
//!
//! Never changes the first and the last line of the armour, nor certificates and public keys.

use std::ops::Range;

use super::Found;
use super::bytes::Set;
use super::kind::Kind;

/// The maximum length of a body in bytes: a key of 16384 bits, with every line numbered.
const MAX_BODY: usize = 32 * 1024;

/// The length of the shortest unbroken run of base64 in a key, in bytes.
const MIN_RUN: usize = 32;

/// Looks at the first line of an armour. The search continues after the body.
pub(super) fn find(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let label_at = anchor.end;
    let Some(label) = label(text, label_at) else {
        return anchor.end;
    };
    let body_at = label_at + label.len() + 5;
    if !label
        .windows(11)
        .any(|w| w.eq_ignore_ascii_case(b"PRIVATE KEY"))
    {
        return body_at;
    }
    let rest = &text[body_at..text.len().min(body_at + MAX_BODY)];
    let next = rest.windows(5).position(|w| w == b"-----");
    let end = match next {
        Some(dashes) if rest[dashes..].starts_with(b"-----END ") => {
            let line = line_start(&rest[..dashes]);
            // Line numbers and diff marks before the last line are kept with it.
            let lead = &rest[line..dashes];
            if line > 0 && lead.len() < 24 {
                line
            } else {
                dashes
            }
        }
        _ => cut_off(rest),
    };
    let body = trim(&rest[..end]);
    if !has_key(&rest[body.clone()]) {
        return body_at;
    }
    let range = body_at + body.start..body_at + body.end;
    let resume = range.end;
    found.push(Found {
        range,
        kind: Kind::PrivateKey,
    });
    resume
}

/// The lines after `Private-Lines: N` in a PuTTY key file. The search continues after them.
pub(super) fn putty(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let digits = text[anchor.end..].iter().take_while(|b| b.is_ascii_digit());
    let at = anchor.end + digits.count();
    let rest = &text[at..text.len().min(at + MAX_BODY)];
    let mac = b"Private-MAC";
    let end = match rest.windows(mac.len()).position(|part| part == mac) {
        Some(end) => end,
        None => cut_off(rest),
    };
    let body = trim(&rest[..end]);
    if at == anchor.end || !has_key(&rest[body.clone()]) {
        return anchor.end;
    }
    let range = at + body.start..at + body.end;
    let resume = range.end;
    found.push(Found {
        range,
        kind: Kind::PrivateKey,
    });
    resume
}

/// The label at `at`, up to its five dashes.
fn label(text: &[u8], at: usize) -> Option<&[u8]> {
    let rest = &text[at..text.len().min(at + 48)];
    let len = rest.windows(5).position(|w| w == b"-----")?;
    let label = &rest[..len];
    label
        .iter()
        .all(|b| b.is_ascii_uppercase() || matches!(b, b' ' | b'0'..=b'9'))
        .then_some(label)
}

/// The start of the last line of `text`, after a real or escaped line end.
fn line_start(text: &[u8]) -> usize {
    let real = text.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let escaped = text
        .windows(2)
        .rposition(|two| two == b"\\n")
        .map_or(0, |i| i + 2);
    real.max(escaped)
}

/// The end of a body without a last line: after its last long run of base64, and a shorter one that may follow.
fn cut_off(rest: &[u8]) -> usize {
    let (mut at, mut end) = (0, 0);
    let mut closes = false;
    while at < rest.len() {
        let gap = rest[at..]
            .iter()
            .take_while(|b| {
                b.is_ascii_whitespace() || matches!(b, b'\\' | b'"' | b'+' | b'|' | b'>')
            })
            .count();
        // The letter of an escaped line end.
        let escape = gap > 0
            && rest[at + gap - 1] == b'\\'
            && matches!(rest.get(at + gap), Some(b'n' | b'r'));
        let start = at + gap + usize::from(escape);
        let run = Set::Base64.run(rest, start, MAX_BODY);
        if run == 0 {
            if escape {
                at = start;
                continue;
            }
            break;
        }
        if run >= MIN_RUN {
            closes = run >= 60;
            end = start + run;
        } else if closes
            && run >= 4
            && rest
                .get(start + run)
                .is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'\\' | b'"'))
        {
            end = start + run;
            closes = false;
        } else {
            break;
        }
        at = start + run;
    }
    end
}

/// The body without the line ends and the indentation around it.
fn trim(body: &[u8]) -> Range<usize> {
    let (mut start, mut end) = (0, body.len());
    loop {
        match body[start..end] {
            [b, ..] if b.is_ascii_whitespace() => start += 1,
            [b'\\', ..] => {
                // An escape is removed as a whole or not at all: half of one would break the text around the mask.
                let rest = &body[start..end];
                let slashes = rest.iter().take_while(|&&b| b == b'\\').count();
                let letter = matches!(rest.get(slashes), Some(b'n' | b'r' | b't'));
                start += slashes + usize::from(letter);
            }
            _ => break,
        }
    }
    loop {
        match body[start..end] {
            [.., b] if b.is_ascii_whitespace() => end -= 1,
            [.., b'\\', b'n' | b'r' | b't'] => end -= 2,
            [.., b'\\'] => end -= 1,
            _ => break,
        }
    }
    start..end
}

fn has_key(body: &[u8]) -> bool {
    let mut run = 0;
    let mut mixed = [false; 3];
    for &b in body {
        if b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=') {
            run += 1;
            mixed[0] |= b.is_ascii_uppercase();
            mixed[1] |= b.is_ascii_lowercase();
            mixed[2] |= b.is_ascii_digit();
            if run >= MIN_RUN && mixed == [true; 3] {
                return true;
            }
        } else {
            run = 0;
        }
    }
    false
}
