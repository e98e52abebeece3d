//! How a transcript changes, as data.
//!
//! Code that changes a transcript returns a [`ChangeSet`], and `apply` carries it out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Block, Shape};
use crate::scan::Span;
use crate::text::push_json_string;

/// Changes of a transcript. Lines have the numbers (from 0) that they had before any of the changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeSet {
    /// Parts of lines that get new bytes, in any order. They do not overlap, but a removed part may contain others. Replacements
    /// inside a removed part or on a dropped line have no effect.
    pub replace: Vec<Replace>,
    /// Lines to remove.
    pub drop: BTreeSet<u32>,
    /// Lines to add, without line endings, keyed by the line that they are inserted before; the number of lines means the end.
    pub insert: BTreeMap<u32, Vec<Vec<u8>>>,
}

/// New bytes for a part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// The line.
    pub line: u32,
    /// What is replaced; an empty span is an insertion.
    pub span: Span,
    /// The new bytes.
    pub with: Vec<u8>,
}

impl ChangeSet {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.replace.is_empty() && self.drop.is_empty() && self.insert.is_empty()
    }

    /// Adds other changes; new lines for the same place come after existing ones.
    pub fn extend(&mut self, other: ChangeSet) {
        self.replace.extend(other.replace);
        self.drop.extend(other.drop);
        for (before, lines) in other.insert {
            self.insert.entry(before).or_default().extend(lines);
        }
    }

    /// Removes parts of a line.
    pub fn remove(&mut self, line: u32, spans: impl IntoIterator<Item = Span>) {
        let removed = spans.into_iter().map(|span| Replace {
            line,
            span,
            with: Vec::new(),
        });
        self.replace.extend(removed);
    }
}

impl FromIterator<Replace> for ChangeSet {
    fn from_iter<T: IntoIterator<Item = Replace>>(replace: T) -> Self {
        ChangeSet {
            replace: replace.into_iter().collect(),
            ..ChangeSet::default()
        }
    }
}

impl Replace {
    /// Replaces a block's content with `text`; the content keeps its shape and its header.
    pub fn content(block: &Block, text: &str) -> Self {
        let mut with = Vec::with_capacity(text.len() + 64);
        let mut kept = 0;
        match block.shape {
            Shape::List => list(&mut with, "text", text),
            Shape::Parts => list(&mut with, "input_text", text),
            Shape::String | Shape::Absent | Shape::Other => push_json_string(&mut with, text),
        }
        if block.shape == Shape::String && block.header > 0 {
            with.remove(0);
            kept = 1 + block.header;
        }
        Replace {
            line: block.line,
            span: Span {
                start: block.content.start + kept,
                len: block.content.len - kept,
            },
            with,
        }
    }

    /// Replaces `span` with a JSON string of `text`.
    pub fn text(line: u32, span: Span, text: &str) -> Self {
        let mut with = Vec::with_capacity(text.len() + 2);
        push_json_string(&mut with, text);
        Replace { line, span, with }
    }

    /// Replaces the id at `id` with `new`, or with `null`; ids are raw, without quotes.
    pub fn id(line: u32, id: Span, new: Option<&[u8]>) -> Self {
        Replace {
            line,
            span: Span {
                start: id.start - 1,
                len: id.len + 2,
            },
            with: new.map_or(b"null".to_vec(), |new| [b"\"", new, b"\""].concat()),
        }
    }

    /// Replaces `span` with the number `new`.
    pub fn number(line: u32, span: Span, new: u64) -> Self {
        Replace {
            line,
            span,
            with: new.to_string().into_bytes(),
        }
    }

    /// Whether the line becomes shorter.
    pub fn is_shorter(&self) -> bool {
        self.with.len() < self.span.len as usize
    }
}

/// Writes a list with one block of that type.
fn list(out: &mut Vec<u8>, kind: &str, text: &str) {
    out.extend_from_slice(format!(r#"[{{"type":"{kind}","text":"#).as_bytes());
    push_json_string(out, text);
    out.extend_from_slice(b"}]");
}
