//! Masks the secrets of a transcript before any other step, if the policy says so.
//!
//! Every line is searched, dead lines included, because a shared file is shared as a whole. Pictures, and what only a provider
//! can read (signatures, encrypted reasoning), stay as they are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem::Finder;

use super::{Input, Pipeline};
use crate::apply::apply;
use crate::outcome::{Warning, WarningKind};
use crate::policy::Redact;
use crate::redact::{Kind, Redactor};
use crate::scan::Span;
use crate::transcript::{ChangeSet, Replace, Transcript};

/// Keys of strings that only a provider can read.
const SEALED: [&[u8]; 4] = [
    b"\"signature\"",
    b"\"encrypted_content\"",
    b"\"thinkingSignature\"",
    b"\"thoughtSignature\"",
];
/// The key of pictures.
const DATA: &[u8] = b"\"data\"";
/// The shortest string that counts as a picture, in bytes.
const PICTURE: usize = 1_000;

impl Pipeline<'_> {
    /// Masks the secrets of a transcript if the policy says so; returns a warning for each line that had any.
    pub(super) fn mask(
        &self,
        input: Input<'_, '_>,
        transcript: &mut Transcript<'_>,
    ) -> Vec<Warning> {
        let redactor = match (&self.sources.redactor, self.policy.redact) {
            (Some(redactor), Redact::Outputs) => redactor,
            (Some(_) | None, _) => return Vec::new(),
        };
        let mut changes = ChangeSet::default();
        let mut warnings = Vec::new();
        for line in 0..transcript.lines().len() as u32 {
            let mut counts = BTreeMap::new();
            let masked = masked(redactor, transcript.line(line), &mut counts);
            if !masked.is_empty() {
                let masked = masked.into_iter();
                let masked = masked.map(|(span, with)| Replace { line, span, with });
                changes.replace.extend(masked);
                warnings.push(warning(input.first_line + u64::from(line), &counts));
            }
        }
        apply(input.format, transcript, changes);
        warnings
    }
}

/// A text without its secrets, line by line, as `Pipeline::mask` masks a transcript.
pub fn masked_text<'t>(redactor: &Redactor, text: &'t [u8]) -> Cow<'t, [u8]> {
    let (mut out, mut copied) = (Vec::new(), 0);
    let mut start = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        for (span, with) in masked(redactor, line, &mut BTreeMap::new()) {
            out.extend_from_slice(&text[copied..start + span.start as usize]);
            out.extend_from_slice(&with);
            copied = start + span.end();
        }
        start += line.len();
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => {
            out.extend_from_slice(&text[copied..]);
            Cow::Owned(out)
        }
    }
}

fn warning(line: u64, counts: &BTreeMap<Kind, u64>) -> Warning {
    let kinds = counts
        .iter()
        .map(|(kind, count)| format!("{count} {}", kind.name()));
    Warning {
        kind: WarningKind::Redacted,
        line: Some(line),
        message: format!("secrets masked: {}", kinds.collect::<Vec<_>>().join(", ")),
    }
}

/// The parts of a line that contain secrets, each with its masked text.
fn masked(
    redactor: &Redactor,
    line: &[u8],
    counts: &mut BTreeMap<Kind, u64>,
) -> Vec<(Span, Vec<u8>)> {
    let mut masked = Vec::new();
    let mut mask = |mut at: usize, end: usize| {
        // Secrets are ASCII, so there is none in bytes that are not UTF-8.
        for chunk in line[at..end].utf8_chunks() {
            let redacted = redactor.redact(chunk.valid());
            for (kind, count) in redacted.counts {
                *counts.entry(kind).or_default() += count;
            }
            let valid = at + chunk.valid().len();
            if redacted.text != chunk.valid() {
                let span = Span::new(at, valid);
                masked.push((span, redacted.text.into_owned().into_bytes()));
            }
            at = valid + chunk.invalid().len();
        }
    };
    let mut at = 0;
    for sealed in sealed(line) {
        mask(at, sealed.start);
        at = sealed.end;
    }
    mask(at, line.len());
    masked
}

/// The strings that stay as they are, without their quotes, in order.
fn sealed(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for key in SEALED.into_iter().chain([DATA]) {
        for at in Finder::new(key).find_iter(line) {
            // An escaped quote: the key is part of a text.
            if at > 0 && line[at - 1] == b'\\' {
                continue;
            }
            if let Some(string) = string_after(line, at + key.len())
                && (key != DATA || string.len() >= PICTURE)
            {
                found.push(string);
            }
        }
    }
    found.sort_by_key(|string| string.start);
    // A key can occur within another key's string.
    found.dedup_by(|later, earlier| later.start < earlier.end);
    found
}

/// The string value of the key that ends at `at`.
fn string_after(line: &[u8], at: usize) -> Option<Range<usize>> {
    let skip = |at: usize| {
        let blanks = line[at..].iter().take_while(|b| b.is_ascii_whitespace());
        at + blanks.count()
    };
    let colon = skip(at);
    if line.get(colon) != Some(&b':') {
        return None;
    }
    let quote = skip(colon + 1);
    if line.get(quote) != Some(&b'"') {
        return None;
    }
    let start = quote + 1;
    let mut end = start;
    loop {
        match line.get(end)? {
            b'"' => return Some(start..end),
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token as a server gives it out; nowhere in one piece here.
    fn token() -> String {
        format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    fn line(text: &str) -> Option<(String, u64)> {
        let mut counts = BTreeMap::new();
        let masked = masked(&Redactor::new().unwrap(), text.as_bytes(), &mut counts);
        let mut line = text.as_bytes().to_vec();
        for (span, with) in masked.iter().rev() {
            line.splice(span.start as usize..span.end(), with.iter().copied());
        }
        let line = String::from_utf8(line).unwrap();
        (!masked.is_empty()).then(|| (line, counts.values().sum()))
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands_and_all_else_stays() {
        let secret = token();
        let text = format!(
            r#"{{"a": "x {secret} y",  "toolUseResult":{{"stdout":"{secret}\n"}}, "n": 1.0}}"#
        );
        let (masked, count) = line(&text).unwrap();
        assert_eq!(count, 2);
        assert!(!masked.contains(&secret));
        assert_eq!(masked.replace("[REDACTED:github-token]", &secret), text);
        assert_eq!(line(&masked), None);
        assert_eq!(line(r#"{"a":"nothing to hide"}"#), None);
    }

    #[test]
    fn what_only_a_provider_can_read_stays() {
        let secret = token();
        for key in ["signature", "encrypted_content", "thinkingSignature"] {
            assert_eq!(line(&format!(r#"{{"{key}" : "{secret}"}}"#)), None, "{key}");
        }
        let picture = "A".repeat(PICTURE) + &secret;
        assert_eq!(line(&format!(r#"{{"data":"{picture}"}}"#)), None);
        // Short data are a text, and so is a key that only somebody speaks of.
        assert!(line(&format!(r#"{{"data":"{secret}"}}"#)).is_some());
        assert!(line(&format!(r#"{{"text":"\"signature\":\"{secret}\""}}"#)).is_some());
        // One of each on a line.
        let (masked, count) =
            line(&format!(r#"{{"signature":"{secret}","text":"{secret}"}}"#)).unwrap();
        assert_eq!((masked.matches(&secret).count(), count), (1, 1));
    }
}
