//! Changes become edits, edits become lines.
//!
//! PURE. An edit is a span of a line and what stands there afterwards; every other byte of the line is copied. What
//! repeats a changed result elsewhere is edited with it.

use std::collections::BTreeMap;

use crate::format::{Dead, Figure, MirrorCut, Patch, mirror_cuts};
use crate::ids::{IdMap, IdSet};
use crate::scan::Span;
use crate::settle::Change;
use crate::text::push_json_string;
use crate::transcript::{Block, BlockKind, Mirror, Shape, Transcript};

/// A replacement within a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The line, from 0.
    pub line: u32,
    /// What goes.
    pub span: Span,
    /// What comes.
    pub with: With,
}

/// What an edit puts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum With {
    /// A JSON string that says this.
    Text(String),
    /// The rest of a JSON string: its last words and the quote that ends it.
    Rest(String),
    /// A list of one text block that says this.
    TextBlock(String),
    /// The same in the words of the Responses API.
    InputText(String),
    /// An empty list.
    EmptyList,
    /// A JSON value as it is to stand.
    Raw(Vec<u8>),
}

impl With {
    fn push(&self, out: &mut Vec<u8>) {
        match self {
            With::Text(text) => push_json_string(out, text),
            With::Rest(text) => {
                let start = out.len();
                push_json_string(out, text);
                out.remove(start);
            }
            With::TextBlock(text) => {
                out.extend_from_slice(br#"[{"type":"text","text":"#);
                push_json_string(out, text);
                out.extend_from_slice(b"}]");
            }
            With::InputText(text) => {
                out.extend_from_slice(br#"[{"type":"input_text","text":"#);
                push_json_string(out, text);
                out.extend_from_slice(b"}]");
            }
            With::EmptyList => out.extend_from_slice(b"[]"),
            With::Raw(value) => out.extend_from_slice(value),
        }
    }

    fn len(&self) -> usize {
        let mut out = Vec::new();
        self.push(&mut out);
        out.len()
    }
}

/// The edits that make `changes`.
pub fn edits(transcript: &Transcript<'_>, changes: &[Change]) -> Vec<Edit> {
    let mut edits = Vec::with_capacity(changes.len() * 2);
    // Ids are unique in a conversation only.
    let mut by_call: IdMap<(u32, &[u8]), &Change> = IdMap::default();
    let mut by_line: IdMap<u32, (usize, &Change)> = IdMap::default();
    let copies = copies(transcript, changes);
    for change in changes {
        let block = transcript.block(change.block);
        edits.push(replaced(block, &change.text));
        for copy in copies.get(&change.block).into_iter().flatten() {
            let copy = transcript.block(*copy);
            let edit = replaced(copy, &change.text);
            // A copy that says something else does not get the name of what stood here.
            let may = !change.why.names_content()
                || transcript.bytes(copy.line, copy.content)
                    == transcript.bytes(block.line, block.content);
            if may && edit.with.len() < copy.content.len as usize {
                edits.push(edit);
                by_line.entry(copy.line).or_insert((0, change)).0 += 1;
            }
        }
        if !block.call_id.is_empty() {
            by_call.insert(
                (
                    change.conversation,
                    transcript.bytes(block.line, block.call_id),
                ),
                change,
            );
        }
        by_line.entry(block.line).or_insert((0, change)).0 += 1;
    }
    let mut owners: IdMap<u32, u32> = IdMap::default();
    for (number, conversation) in (0..).zip(&transcript.conversations) {
        owners.extend(conversation.mirrors.iter().map(|line| (*line, number)));
    }
    for mirror in transcript.mirrors() {
        let change = if mirror.of.is_empty() {
            // The mirror of a line repeats all results on it; it goes when all of them do.
            let blocks = transcript.blocks_of_line(mirror.line);
            let results = blocks
                .filter(|b| transcript.block(*b).kind == BlockKind::Result)
                .count();
            by_line
                .get(&mirror.line)
                .filter(|(changed, _)| *changed == results)
                .map(|(_, change)| *change)
        } else {
            let owner = owners.get(&mirror.line);
            owner
                .and_then(|owner| by_call.get(&(*owner, transcript.bytes(mirror.line, mirror.of))))
                .copied()
        };
        if let Some(change) = change {
            mirror_edits(transcript, mirror, change, &mut edits);
        }
    }
    edits
}

/// The blocks that repeat what is changed, by what they repeat.
fn copies(transcript: &Transcript<'_>, changes: &[Change]) -> IdMap<u32, Vec<u32>> {
    let changed: IdSet<u32> = changes.iter().map(|change| change.block).collect();
    let mut copies: IdMap<u32, Vec<u32>> = IdMap::default();
    for conversation in &transcript.conversations {
        for (copy, of) in &conversation.copies {
            if changed.contains(of) {
                copies.entry(*of).or_default().push(*copy);
            }
        }
    }
    copies
}

/// The content of a result becomes `text`, in the shape that it has and behind the header that it has.
fn replaced(block: &Block, text: &str) -> Edit {
    let text = text.to_owned();
    let with = match block.shape {
        Shape::List => With::TextBlock(text),
        Shape::Parts => With::InputText(text),
        Shape::String if block.header > 0 => With::Rest(text),
        Shape::String | Shape::Absent | Shape::Other => With::Text(text),
    };
    let kept = match with {
        With::Rest(_) => 1 + block.header,
        With::Text(_)
        | With::TextBlock(_)
        | With::InputText(_)
        | With::EmptyList
        | With::Raw(_) => 0,
    };
    Edit {
        line: block.line,
        span: Span {
            start: block.content.start + kept,
            len: block.content.len - kept,
        },
        with,
    }
}

/// The edits that make results say these texts.
pub fn said(transcript: &Transcript<'_>, texts: &[(u32, String)]) -> Vec<Edit> {
    let texts = texts.iter();
    texts
        .map(|(block, text)| replaced(transcript.block(*block), text))
        .collect()
}

/// The edits that mend links to lines which leave.
pub fn relinked(dead: &Dead) -> impl Iterator<Item = Edit> + '_ {
    let relinks = dead.relinks.iter().map(|relink| {
        let with = match &relink.to {
            Some(id) => [b"\"", id.as_slice(), b"\""].concat(),
            None => b"null".to_vec(),
        };
        Edit {
            line: relink.line,
            span: relink.span,
            with: With::Raw(with),
        }
    });
    relinks.chain(refigured(dead.figures.clone()))
}

/// The edits that put a summary into lines.
pub fn patched(patches: Vec<Patch>) -> impl Iterator<Item = Edit> {
    patches.into_iter().map(|patch| Edit {
        line: patch.line,
        span: patch.span,
        with: With::Raw(patch.with),
    })
}

/// The edits that correct recorded figures.
pub fn refigured(figures: Vec<Figure>) -> impl Iterator<Item = Edit> {
    figures.into_iter().map(|figure| Edit {
        line: figure.line,
        span: figure.span,
        with: With::Raw(figure.value.to_string().into_bytes()),
    })
}

/// Shortens a mirror of a changed result; a preview is not put into it, only one line of the text.
fn mirror_edits(
    transcript: &Transcript<'_>,
    mirror: &Mirror,
    change: &Change,
    edits: &mut Vec<Edit>,
) {
    let line = change.in_mirrors();
    for (span, cut) in mirror_cuts(transcript.line(mirror.line), mirror.value) {
        let with = match cut {
            MirrorCut::Text => With::Text(line.to_owned()),
            MirrorCut::List => With::EmptyList,
        };
        if with.len() < span.len as usize {
            edits.push(Edit {
                line: mirror.line,
                span,
                with,
            });
        }
    }
}

/// The new bytes of every edited line. `edits` are disjoint.
pub fn apply(transcript: &Transcript<'_>, mut edits: Vec<Edit>) -> BTreeMap<u32, Vec<u8>> {
    edits.sort_by_key(|edit| (edit.line, edit.span.start));
    let mut lines = BTreeMap::new();
    for edits in edits.chunk_by(|a, b| a.line == b.line) {
        let line = transcript.line(edits[0].line);
        let mut out = Vec::new();
        let mut at = 0;
        for edit in edits {
            debug_assert!(at <= edit.span.start as usize);
            out.extend_from_slice(&line[at..edit.span.start as usize]);
            edit.with.push(&mut out);
            at = edit.span.end();
        }
        out.extend_from_slice(&line[at..]);
        out.shrink_to_fit();
        lines.insert(edits[0].line, out);
    }
    lines
}
