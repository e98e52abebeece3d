//! Applies changes to a transcript: the only way a transcript changes.
//!
//! PURE. Every byte outside the replaced spans is copied. Changed and new lines are read again, so that what is verified afterwards
//! is what will be written. Decides nothing itself: callers say what changes.

use std::collections::BTreeMap;

use crate::format::{Format, Warnings};
use crate::transcript::{ChangeSet, Record, Replace, Transcript};

/// Changes the lines of a transcript and rebuilds its conversations.
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
    let read = |bytes: &[u8], record: &mut Record<'_, '_>| {
        format.line(bytes, record, &mut Warnings::default())
    };
    transcript.drop_lines(&drop);
    transcript.replace_lines(replaced, read);
    if !insert.is_empty() {
        transcript.insert_lines(&insert, read);
    }
    format.link(transcript);
}

/// The new bytes of each line that has replacements.
fn replaced(transcript: &Transcript<'_>, mut replace: Vec<Replace>) -> BTreeMap<u32, Vec<u8>> {
    // An insertion comes before a replacement that starts at the same position.
    replace.sort_by_key(|replace| (replace.line, replace.span.start, replace.span.len));
    let lines = replace.chunk_by(|a, b| a.line == b.line);
    let line = |replace: &[Replace]| {
        let number = replace[0].line;
        let old = transcript.line(number);
        let of_each = |bytes: fn(&Replace) -> usize| replace.iter().map(bytes).sum::<usize>();
        let added = of_each(|replace| replace.with.len());
        let removed = of_each(|replace| replace.span.len as usize);
        let mut new = Vec::with_capacity((old.len() + added).saturating_sub(removed));
        let (mut at, mut removed) = (0, 0);
        for Replace { span, with, .. } in replace {
            let start = span.start as usize;
            // Replacements inside a removed span are dropped with it.
            if start < at && span.end() <= removed {
                continue;
            }
            // No output would be correct.
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
    transcript.each(lines, line).into_iter().collect()
}
