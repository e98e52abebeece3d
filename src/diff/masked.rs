//! Finds the lines of two outputs of the same input that differ in something that no model reads, and that does not merely follow
//! from their content.
//!
//! A new line has an id that is a hash of what it says, and the time of what it replaced; others link to it. Therefore, before
//! lines are compared, each id in the first output is replaced by the id of the same line in the second one; times of new lines are
//! left out, and so are the contents of live messages, which are compared elsewhere.

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::IdSet;
use crate::text::printable;

use super::mask::{Masks, Mirrors};
use super::outside::aligned;
use super::side::Side;
use super::{Differ, Source, transcripts};

/// The most differing values that are listed of a line.
const MOST: usize = 8;
/// The most characters that are shown of a value, or of a line.
const SHOWN: usize = 120;
/// Fields with a time.
const TIMES: [&str; 2] = ["timestamp", "created_at"];

/// A line that differs in something that no model reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineDifference {
    /// Its number in each output, from 1; `None` where it is missing.
    pub lines: [Option<u64>; 2],
    /// What differs, one entry per value: `usage.input_tokens: 5, got 7`.
    pub what: Vec<String>,
}

/// Whether a line was written by the outputs or comes from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// By the outputs: its time follows from what it replaced.
    New,
    /// Present in the input.
    Before,
}

impl Written {
    fn is_no_difference(self, key: &str) -> bool {
        match self {
            Written::New => TIMES.contains(&key),
            Written::Before => false,
        }
    }
}

/// The lines that differ, in the order of the first output.
pub(super) fn differences(
    differ: &Differ,
    left: Source<'_>,
    right: Source<'_>,
    mirrors: Mirrors,
) -> Vec<LineDifference> {
    let mut found = Vec::new();
    for (left, right) in transcripts(left, right) {
        if left.bytes == right.bytes {
            continue;
        }
        let (left, right) = (differ.side(left), differ.side(right));
        found.extend(of_transcript(&left, &right, mirrors));
    }
    found
}

fn of_transcript(left: &Side<'_>, right: &Side<'_>, mirrors: Mirrors) -> Vec<LineDifference> {
    let alignment = aligned(left, right);
    let renamed = Renamed::of(left, right, |line| alignment.new_of(line));
    let (left_masks, right_masks) = (Masks::of(left, mirrors), Masks::of(right, mirrors));
    let mut found = Vec::new();
    for line in 0..left.transcript.lines().len() {
        let number = left.number(line as u32);
        let old = left.transcript.line(line as u32);
        let Some(other) = alignment.new_of(line) else {
            if !left_masks.live.contains(&(line as u32)) {
                let what = vec![format!("missing: {}", start(old))];
                found.push(LineDifference {
                    lines: [Some(number), None],
                    what,
                });
            }
            continue;
        };
        let new = right.transcript.line(other as u32);
        if old == new {
            continue;
        }
        let written = match renamed.lines.contains(&(line as u32)) {
            true => Written::New,
            false => Written::Before,
        };
        let old = renamed.rename(&left_masks.masked(left, line as u32));
        let new = right_masks.masked(right, other as u32);
        let what = if old == new {
            Vec::new()
        } else {
            values(&old, &new, written)
        };
        if !what.is_empty() {
            found.push(LineDifference {
                lines: [Some(number), Some(right.number(other as u32))],
                what,
            });
        }
    }
    for line in 0..right.transcript.lines().len() {
        if alignment.old_of(line).is_none() && !right_masks.live.contains(&(line as u32)) {
            let what = format!(
                "not expected: {}",
                start(right.transcript.line(line as u32))
            );
            found.push(LineDifference {
                lines: [None, Some(right.number(line as u32))],
                what: vec![what],
            });
        }
    }
    found
}

/// The ids that lines of the left side have on the right side.
struct Renamed<'t> {
    finder: Option<AhoCorasick>,
    new: Vec<&'t [u8]>,
    /// The lines whose own id differs on the right side.
    lines: IdSet<u32>,
}

impl<'t> Renamed<'t> {
    fn of(
        left: &'t Side<'_>,
        right: &'t Side<'_>,
        new_of: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let (mut old, mut new, mut lines) = (Vec::new(), Vec::new(), IdSet::default());
        for (line, link) in (0u32..).zip(left.transcript.links()) {
            let other = new_of(line as usize);
            let other =
                other.and_then(|other| Some((other as u32, right.transcript.links().get(other)?)));
            let Some((other, link_of_other)) = other else {
                continue;
            };
            let id = left.transcript.bytes(line, link.id);
            let other = right.transcript.bytes(other, link_of_other.id);
            if id != other && !id.is_empty() && !other.is_empty() {
                old.push(id);
                new.push(other);
                lines.insert(line);
            }
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&old);
        Renamed {
            finder: finder.ok().filter(|_| !old.is_empty()),
            new,
            lines,
        }
    }

    fn rename(&self, line: &[u8]) -> Vec<u8> {
        match &self.finder {
            Some(finder) => finder.replace_all_bytes(line, &self.new),
            None => line.to_vec(),
        }
    }
}

/// The values that differ between two lines; for a new line, times do not count as differences.
fn values(old: &[u8], new: &[u8], written: Written) -> Vec<String> {
    let parse = |line: &[u8]| serde_json::from_slice::<Value>(line).ok();
    let mut what = Vec::new();
    match (parse(old), parse(new)) {
        (Some(old), Some(new)) => {
            let is_same = old == new;
            walk(&old, &new, "", written, &mut what);
            if is_same {
                what.push("its spaces, or the form of its numbers or escapes, differ".to_owned());
            }
        }
        (Some(_) | None, _) => what.push(format!("{}, got {}", start(old), start(new))),
    }
    if what.len() > MOST {
        let more = what.len() - MOST;
        what.truncate(MOST);
        what.push(format!("{more} more values"));
    }
    what
}

fn walk(old: &Value, new: &Value, path: &str, written: Written, what: &mut Vec<String>) {
    let say = |what: &mut Vec<String>, old: Option<&Value>, new: Option<&Value>, path: &str| {
        let shown = |value: Option<&Value>| match value {
            Some(value) => start(value.to_string().as_bytes()),
            None => "nothing".to_owned(),
        };
        what.push(format!(
            "{}: {}, got {}",
            printable(path),
            shown(old),
            shown(new)
        ));
    };
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match (old, new) {
        (Value::Object(olds), Value::Object(news)) => {
            for (key, old) in olds {
                match news.get(key) {
                    _ if written.is_no_difference(key) => {}
                    Some(new) => walk(old, new, &below(key), written, what),
                    None => say(what, Some(old), None, &below(key)),
                }
            }
            for (key, new) in news.iter().filter(|(key, _)| !olds.contains_key(*key)) {
                if !written.is_no_difference(key) {
                    say(what, None, Some(new), &below(key));
                }
            }
        }
        (Value::Array(olds), Value::Array(news)) if olds.len() == news.len() => {
            for (at, (old, new)) in olds.iter().zip(news).enumerate() {
                walk(old, new, &below(&at.to_string()), written, what);
            }
        }
        (old, new) if old == new => {}
        (old, new) => say(what, Some(old), Some(new), path),
    }
}

/// The first characters, safe to show.
fn start(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN * 4)]);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().count() > SHOWN {
        shown.push('…');
    }
    printable(&shown).into_owned()
}
