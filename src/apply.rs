//! Applies changes to a transcript: the only way in which one changes.
//!
//! PURE. Every byte outside of the replaced spans is copied. A line that has changed, and every new line, is read again, so
//! that what is verified afterwards is what will be written. Others decide what changes.

use std::collections::BTreeMap;

use crate::format::{Format, Warnings};
use crate::transcript::{ChangeSet, Replace, Transcript};

/// Changes the lines of a transcript and forms its conversations again.
pub fn apply(format: Format, transcript: &mut Transcript<'_>, changes: ChangeSet) {
    if changes.is_empty() {
        return;
    }
    let ChangeSet {
        mut replace,
        drop,
        insert,
    } = changes;
    replace.retain(|replace| !drop.contains(&replace.line));
    let replaced = replaced(transcript, replace);
    // Warnings about the old bytes were reported already, and the new ones are well-formed.
    let mut warnings = Warnings::default();
    transcript.drop_lines(&drop);
    transcript.replace_lines(replaced, |bytes, record| {
        format.line(bytes, record, &mut warnings)
    });
    if !insert.is_empty() {
        transcript.insert_lines(&insert, |bytes, record| {
            format.line(bytes, record, &mut warnings)
        });
    }
    format.link(transcript);
}

/// The new bytes of each line that has replacements.
fn replaced(transcript: &Transcript<'_>, mut replace: Vec<Replace>) -> BTreeMap<u32, Vec<u8>> {
    // An insertion comes before the replacement that begins at its place.
    replace.sort_by_key(|replace| (replace.line, replace.span.start, replace.span.len));
    let lines = replace.chunk_by(|a, b| a.line == b.line);
    let line = |replace: &[Replace]| {
        let number = replace[0].line;
        let old = transcript.line(number);
        let mut new = Vec::new();
        let (mut at, mut removed) = (0, 0);
        for Replace { span, with, .. } in replace {
            let start = span.start as usize;
            // What is within a removed part leaves with it.
            if start < at && span.end() <= removed {
                continue;
            }
            // Nothing that could be written would be right.
            assert!(
                at <= start,
                "two replacements overlap on line {}",
                u64::from(number) + 1
            );
            new.extend_from_slice(&old[at..start]);
            new.extend_from_slice(with);
            at = span.end();
            if with.is_empty() {
                removed = at;
            }
        }
        new.extend_from_slice(&old[at..]);
        new.shrink_to_fit();
        (number, new)
    };
    lines.map(line).collect()
}
