//! Codex CLI rollouts: one item of the Responses API a line, in an envelope (`payload`) or, until August 2025, bare.
//!
//! Only `response_item` and `compacted` lines form what a model sees. A compaction with a `replacement_history` begins
//! anew with it; one without keeps the user's words. Events repeat the items for a viewer, and say that the user went
//! back. Developer messages are what the agent tells a model before anything is asked, and tells it again after every
//! compaction: like the base instructions in the header they are no part of the conversation, and stay where they are.
//! `record` says what is on a line, `output` what a tool's output begins with, `events` what an event repeats, `link`
//! which items form the live window, `history` what may leave, `compaction` how a summary is written, `usage` what a
//! provider counted.

mod compaction;
mod events;
mod history;
mod link;
mod output;
mod record;
mod usage;

pub(super) use compaction::{splice, without};
pub(super) use history::dead;
pub(super) use link::{link, lived};
pub(super) use record::line;
pub(super) use usage::{corrected, recorded};

use crate::scan::{Cursor, Kind, Parse, Span};

/// How Codex begins the summary that it writes itself.
pub const SUMMARY_BEGINS: &str =
    "Another language model started to solve this problem and produced a summary";

/// The `type` of the object at the cursor; looks without moving. It nearly always comes first.
fn type_of<'a>(c: &Cursor<'a>) -> Parse<&'a [u8]> {
    let mut c = c.clone();
    let line = c.line();
    let start = c.place()?;
    if let Some(rest) = line[start..].strip_prefix(b"{\"type\":\"")
        && let Some(end) = memchr::memchr(b'"', rest)
    {
        return Ok(&rest[..end]);
    }
    let mut kind: &[u8] = b"";
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", Kind::String) => kind = c.string()?.span.of(line),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(kind)
}

/// The span of a string between its quotes; empty where there is none.
fn string(c: &mut Cursor<'_>) -> Parse<Span> {
    Ok(c.string_or_skip()?
        .map(|text| text.span)
        .unwrap_or_default())
}

/// Whether bytes hold nothing but white space.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}
