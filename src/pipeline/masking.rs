//! Masks the secrets of a transcript first of all, if `redact = "outputs"`.
//!
//! Every line is searched, dead lines included, because a shared file is shared as a whole. Pictures, and data that only a provider
//! can read (signatures, encrypted reasoning), stay as they are: they are recognised by their keys, but never by these alone, since
//! a tool's input may have any keys.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

use memchr::memmem::{self, Finder};

use super::account::reported;
use super::{Pipeline, Work};
use crate::apply::apply;
use crate::ids::IdSet;
use crate::outcome::{Action, ActionKind, ConversationOutcome, Warning, WarningKind};
use crate::policy::Redact;
use crate::redact::{Kind, Redactor};
use crate::scan::Span;
use crate::text::count;
use crate::transcript::{ChangeSet, Replace};

/// Keys of strings that only a provider can read, and of pictures.
const SEALED: [&[u8]; 5] = [
    b"\"signature\"",
    b"\"encrypted_content\"",
    b"\"thinkingSignature\"",
    b"\"thoughtSignature\"",
    b"\"data\"",
];
/// What precedes the base64 in these strings if they do not begin with it: the head of a data URL, and a key in an item that pi
/// writes whole as a signature.
const HEADS: [&[u8]; 2] = [b";base64,", br#"\"encrypted_content\":\""#];
/// The shortest base64 that stays as it is, in bytes: shorter base64 never looks like a secret by chance.
const LEAST: usize = 256;
/// How much of it is searched for a secret that begins it.
const SEARCHED: usize = 2_048;

impl Pipeline<'_> {
    /// Masks the secrets of a transcript if the policy says so; returns a warning for each line that had any. `outcomes` are those of
    /// its conversations, measured before; what masking saves is noted in them.
    pub(super) fn mask(
        &self,
        work: &mut Work<'_, '_>,
        outcomes: &mut [ConversationOutcome],
    ) -> Vec<Warning> {
        let redactor = match (&self.sources.redactor, self.policy.redact) {
            (Some(redactor), Redact::Outputs) => redactor,
            (Some(_) | None, _) => return Vec::new(),
        };
        let (input, transcript) = (work.input, &mut work.transcript);
        let mut changes = ChangeSet::default();
        let mut warnings = Vec::new();
        let mut lines = IdSet::default();
        for line in 0..transcript.lines().len() as u32 {
            let mut counts = BTreeMap::new();
            let masked = masked(redactor, transcript.line(line), &mut counts);
            if !masked.is_empty() {
                let masked = masked.into_iter();
                let masked = masked.map(|(span, with)| Replace { line, span, with });
                changes.replace.extend(masked);
                lines.insert(line);
                warnings.push(warning(input.first_line + u64::from(line), &counts));
            }
        }
        if !lines.is_empty() {
            apply(input.format, transcript, changes);
            work.begin_masked();
            note(work, &lines, outcomes);
        }
        warnings
    }
}

/// Notes in the outcomes of conversations which of their lines were masked.
fn note(work: &mut Work<'_, '_>, masked: &IdSet<u32>, outcomes: &mut [ConversationOutcome]) {
    let Work {
        transcript,
        sizes,
        input,
        ..
    } = work;
    for (conversation, outcome) in reported(transcript, input.part).zip(outcomes) {
        let own = (1..)
            .zip(&conversation.messages)
            .flat_map(|(number, message)| {
                let lines = conversation.lines(message).iter();
                lines.map(move |line| (*line, number))
            });
        let own: BTreeMap<u32, u64> = own.filter(|(line, _)| masked.contains(line)).collect();
        let Some((line, message)) = own.first_key_value() else {
            continue;
        };
        outcome.becomes(&sizes.voices(transcript, conversation));
        outcome.target = outcome
            .target
            .map(|target| target.after(outcome.tokens_after));
        outcome.actions.push(Action {
            kind: ActionKind::Redact,
            line: u64::from(*line) + input.first_line,
            message: *message,
            tool: None,
            reason: format!("secrets masked on {}", count(own.len() as u64, "line")),
            tokens_before: outcome.tokens_before,
            tokens_after: outcome.tokens_after,
        });
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
    for sealed in sealed(redactor, line) {
        mask(at, sealed.start);
        at = sealed.end;
    }
    mask(at, line.len());
    masked
}

/// The parts that stay as they are, in order.
fn sealed(redactor: &Redactor, line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for key in SEALED {
        for at in Finder::new(key).find_iter(line) {
            // An escaped quote: the key is part of a text.
            if at > 0 && line[at - 1] == b'\\' {
                continue;
            }
            let string = string_after(line, at + key.len()).unwrap_or_default();
            let heads = HEADS.into_iter().filter_map(|head| {
                let at = memmem::find(&line[string.clone()], head)?;
                Some(string.start + at + head.len())
            });
            let starts = iter::once(string.start).chain(heads);
            let runs = starts.map(|start| start..start + base64(&line[start..string.end]));
            found.extend(runs.filter(|run| is_sealed(redactor, &line[run.clone()])));
        }
    }
    found.sort_by_key(|run| run.start);
    // A key can occur within another key's string.
    found.dedup_by(|later, earlier| later.start < earlier.end);
    found
}

/// How many bytes of base64 a text begins with. Some writers escape its slashes.
fn base64(text: &[u8]) -> usize {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_');
    let mut len = 0;
    loop {
        len += match &text[len..] {
            [b'\\', b'/', ..] => 2,
            [b, ..] if is_base64(*b) => 1,
            _ => return len,
        };
    }
}

/// Whether base64 is long enough to stay, and does not begin with a secret.
fn is_sealed(redactor: &Redactor, base64: &[u8]) -> bool {
    let first = String::from_utf8_lossy(&base64[..base64.len().min(SEARCHED)]);
    // No base64 begins with a `[`, as masks do.
    base64.len() >= LEAST && !redactor.redact(&first).text.starts_with('[')
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

    /// A token as a server issues it, never written here in one piece.
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
        let sealed = "A".repeat(LEAST) + "/" + &secret;
        for key in [
            "signature",
            "encrypted_content",
            "thinkingSignature",
            "thoughtSignature",
            "data",
        ] {
            for string in [
                sealed.clone(),
                sealed.replace('/', r"\/"),
                format!("data:image/png;base64,{sealed}=="),
                format!(r#"{{\"id\":\"rs_1\",\"encrypted_content\":\"{sealed}\"}}"#),
            ] {
                let text = format!(r#"{{"{key}" : "{string}"}}"#);
                assert_eq!(line(&text), None, "{text}");
            }
        }
        // A key that is only mentioned in a text.
        assert!(line(&format!(r#"{{"text":"\"signature\":\"{sealed}\""}}"#)).is_some());
        // A sealed string and a secret on one line.
        let (masked, count) =
            line(&format!(r#"{{"signature":"{sealed}","text":"{secret}"}}"#)).unwrap();
        assert_eq!((masked.matches(&secret).count(), count), (1, 1));
    }

    #[test]
    fn a_key_alone_hides_no_secret() {
        let secret = token();
        let long = "a line of a log\\n".repeat(100);
        for key in ["signature", "encrypted_content", "data"] {
            for string in [
                secret.clone(),
                format!("{secret}/{}", "A".repeat(LEAST)),
                format!("{long}{secret}"),
                format!("{} {secret}", "A".repeat(LEAST)),
                format!("KEY={secret}/{}", "A".repeat(LEAST)),
            ] {
                let text = format!(r#"{{"input":{{"{key}":"{string}"}}}}"#);
                assert!(line(&text).is_some(), "{text}");
            }
        }
    }
}
