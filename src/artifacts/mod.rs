//! What a plan needs from outside before it can be settled.
//!
//! Only reads. Here: the content of results that may be demoted, and the name that the store would give it; in `disk`,
//! files that come back after a summary. Nothing is written until the result is verified.

mod disk;
mod recents;
mod replies;

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::plan::{Demote, Plan};
use crate::policy::{Policy, Substitutions};
use crate::scan::unescape_into;
use crate::store::{OffloadHash, is_offload_name};
use crate::tokens::Sizes;
use crate::transcript::{Block, Transcript};

pub use disk::{NotRead, Root};
pub use recents::{Unread, recents};
pub use replies::{Replies, Reply};

/// A content up to this size, in bytes, is looked at as a whole: what an earlier run left is far smaller.
const WHOLE_BYTES: usize = 1 << 20;

/// What was gathered for a plan.
#[derive(Debug, Default)]
pub struct Artifacts {
    /// Of each result that may be demoted, by its block: what the store would call it, and how it begins.
    pub demoted: BTreeMap<u32, Demoted>,
}

/// A result as the store would keep it.
#[derive(Debug)]
pub struct Demoted {
    /// Its name, relative to the store.
    pub name: String,
    /// Its first characters.
    pub preview: String,
}

/// Gathers what `plan` needs. Results that are small enough are not looked at; what an earlier run left is passed over,
/// since a preview would only become a preview of itself, and nobody wants a placeholder back.
pub fn gather(
    transcript: &Transcript<'_>,
    plan: &Plan,
    sizes: &Sizes,
    policy: &Policy,
) -> Artifacts {
    let Policy { demote, .. } = policy;
    let placeholders = [&policy.superseded.placeholder, &policy.clear.placeholder];
    let mut artifacts = Artifacts::default();
    for result in plan
        .results
        .iter()
        .filter(|r| r.demote == Demote::Candidate)
    {
        let block = transcript.block(result.block);
        let size = sizes.estimator().result(transcript, block);
        if sizes.estimator().tokens(size) <= demote.min_tokens {
            continue;
        }
        let mut hash = OffloadHash::default();
        let (mut head, mut bytes) = (Vec::new(), 0);
        let head_bytes = WHOLE_BYTES.max(demote.preview_chars as usize * 4 + 4);
        Content { transcript, block }.pieces(|piece| {
            hash.update(piece);
            bytes += piece.len();
            let room = head_bytes - head.len();
            head.extend_from_slice(&piece[..piece.len().min(room)]);
        });
        let text = String::from_utf8_lossy(&head);
        let is_whole = bytes == head.len();
        let is_preview = demote
            .text
            .matches(&text)
            .is_some_and(|values| is_offload_name(values.name));
        let tool = result.tool(transcript);
        let values = Substitutions {
            tool: &tool,
            ..Substitutions::default()
        };
        if is_whole && (is_preview || placeholders.iter().any(|p| p.render(&values) == text)) {
            continue;
        }
        let preview = text.chars().take(demote.preview_chars as usize).collect();
        artifacts.demoted.insert(
            result.block,
            Demoted {
                name: hash.name(),
                preview,
            },
        );
    }
    artifacts
}

/// What a result says, as the store keeps it: its texts, a line each where there are several.
///
/// Read from the input, so that it can still be had after the result was replaced, and in pieces, because a result may be
/// nearly all of a large file.
#[derive(Debug, Clone, Copy)]
pub struct Content<'t, 'a> {
    transcript: &'t Transcript<'a>,
    block: &'t Block,
}

impl<'t, 'a> Content<'t, 'a> {
    /// The content of the result `block`.
    pub fn of(transcript: &'t Transcript<'a>, block: u32) -> Self {
        let block = transcript.block(block);
        Content { transcript, block }
    }

    /// Gives it to `sink`, piece by piece.
    pub fn pieces(self, mut sink: impl FnMut(&[u8])) {
        let line = self.transcript.original_line(self.block.line);
        for (i, text) in self.transcript.texts(self.block).iter().enumerate() {
            if i > 0 {
                sink(b"\n");
            }
            unescape_into(text.span.of(line), &mut sink);
        }
    }

    /// Writes it to `out`.
    ///
    /// # Errors
    ///
    /// The first of `out`.
    pub fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
        let mut done = Ok(());
        self.pieces(|piece| {
            if done.is_ok() {
                done = out.write_all(piece);
            }
        });
        done
    }
}
