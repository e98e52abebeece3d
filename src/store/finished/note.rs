//! The note on one input, as it is written, and as much of it as is read back.
//!
//! A line is `{"check":"<8 digits>","head":[…],"outcome":{…}}`. The check is a checksum of the rest of the line; a corrupted line
//! counts as missing. The head contains what a run needs to know of an input that it takes over: if the outcome goes to a report
//! unchanged, it is not parsed.
//!
//! Plain data. The caller first checks whether a note is still valid.

use std::borrow::Cow;
use std::fs::File;
use std::ops::{Deref, Range};
use std::sync::Arc;

use flate2::Crc;
use memchr::memmem;
use serde::Deserialize;

use super::window::LineBytes;
use crate::outcome::{Figures, Outcome};
use crate::store::FileIdentity;

/// The beginning of every line.
const CHECK: &[u8] = br#"{"check":""#;
const DIGITS: usize = 8;
const HEAD: &[u8] = br#"","head":"#;
/// Cannot occur within a string: quotation marks in a string are preceded by a backslash.
const OUTCOME: &[u8] = br#","outcome":"#;
pub(super) const END: &[u8] = b"}\n";
/// More bytes than a typical line.
const TYPICAL_LINE_BYTES: usize = 2 << 10;

/// One input that a run has finished. Names are in the form of [`name_of`](crate::store::Store::name_of).
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The input's name.
    pub input: String,
    /// Its identity when it was read.
    pub input_seen: FileIdentity,
    /// The output's name; `None` if none was written.
    pub output: Option<String>,
    /// The output's identity when it was written.
    pub output_seen: Option<FileIdentity>,
    /// The names of what the store keeps for it, with the identity of each at that time.
    pub contents: Vec<(String, FileIdentity)>,
    /// Its outcome for the report, with the hashes of input and output.
    pub outcome: Outcome,
}

/// A line to be written.
#[derive(Debug)]
pub(super) struct NoteLine {
    pub(super) bytes: Vec<u8>,
    /// Where the JSON of its outcome is.
    pub(super) outcome: Range<usize>,
}

impl Finished {
    /// The line for this note.
    pub(super) fn line(&self) -> serde_json::Result<NoteLine> {
        let Finished {
            input,
            input_seen,
            output,
            output_seen,
            contents,
            outcome,
        } = self;
        let seen = |seen: &FileIdentity| (seen.bytes, seen.modified, seen.touched);
        let contents = contents.iter().map(|(name, at)| (name, seen(at)));
        // In the order of the fields of [`NoteHeader`]: the input is found without reading more.
        let head = (
            input,
            seen(input_seen),
            output,
            output_seen.as_ref().map(seen),
            contents.collect::<Vec<_>>(),
            &outcome.hash_before,
            &outcome.hash_after,
            Figures::of(outcome),
        );
        const SAID: usize = CHECK.len() + DIGITS;
        let mut bytes = Vec::with_capacity(TYPICAL_LINE_BYTES);
        bytes.extend_from_slice(CHECK);
        bytes.resize(SAID, b'0');
        bytes.extend_from_slice(HEAD);
        serde_json::to_writer(&mut bytes, &head)?;
        bytes.extend_from_slice(OUTCOME);
        let begin = bytes.len();
        serde_json::to_writer(&mut bytes, outcome)?;
        let outcome = begin..bytes.len();
        bytes.extend_from_slice(END);
        let sum = sum_of(&bytes[SAID..]);
        bytes[CHECK.len()..SAID].copy_from_slice(sum.as_bytes());
        Ok(NoteLine { bytes, outcome })
    }
}

/// The name of the input in a complete line. The rest is read only when needed; if that fails, the line counts as missing.
pub(super) fn named(line: &[u8]) -> Option<JsonText<'_>> {
    let head = line.get(CHECK.len() + DIGITS + HEAD.len()..)?;
    let input = head.strip_prefix(b"[")?;
    line.ends_with(END).then_some(())?;
    JsonText::deserialize(&mut serde_json::Deserializer::from_slice(input)).ok()
}

/// The digits of the sum of these bytes.
fn sum_of(bytes: &[u8]) -> String {
    let mut sum = Crc::new();
    sum.update(bytes);
    format!("{:08x}", sum.sum())
}

/// Whether the run that finished an input completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// It completed.
    Whole,
    /// It was interrupted, or is still active.
    Interrupted,
}

/// A line that was read.
#[derive(Debug)]
pub struct Note {
    pub(super) line: LineBytes,
    /// Whether the run that wrote it completed.
    pub ended: Ended,
    /// When a line was last written to the file that contains it, in milliseconds since 1970, if known.
    pub(super) noted: Option<u64>,
    /// The file that contains it, and its offset, unless it was written by an active run.
    pub(super) place: Option<(Arc<NoteFile>, u64)>,
}

/// The contents of a note: see [`Finished`]. The head of a line is an array of the first fields, without keys.
#[derive(Debug, Deserialize)]
pub struct NoteHeader<'n> {
    /// As there.
    #[serde(borrow)]
    pub input: JsonText<'n>,
    /// As there.
    pub input_seen: FileIdentity,
    /// As there.
    pub output: Option<JsonText<'n>>,
    /// As there.
    pub output_seen: Option<FileIdentity>,
    /// As there.
    pub contents: Vec<(JsonText<'n>, FileIdentity)>,
    /// As in its outcome.
    pub hash_before: Option<JsonText<'n>>,
    /// As in its outcome.
    pub hash_after: Option<JsonText<'n>>,
    /// Those of its outcome.
    pub figures: Figures,
    /// The JSON of its outcome.
    #[serde(skip)]
    pub outcome: &'n [u8],
}

/// A text of JSON, borrowed where it holds no escapes.
#[derive(Debug, Deserialize)]
pub struct JsonText<'n>(#[serde(borrow)] Cow<'n, str>);

impl Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'n> NoteHeader<'n> {
    /// Parses a line; `None` if it is not as it was written.
    pub fn of(line: &'n [u8]) -> Option<Self> {
        let (sum, said) = line.strip_prefix(CHECK)?.split_at_checked(DIGITS)?;
        if sum_of(said).as_bytes() != sum {
            return None;
        }
        let parts = said.strip_prefix(HEAD)?.strip_suffix(END)?;
        let at = memmem::find(parts, OUTCOME)?;
        let header = serde_json::from_slice(&parts[..at]).ok()?;
        Some(NoteHeader {
            outcome: &parts[at + OUTCOME.len()..],
            ..header
        })
    }

    /// The outcome; `None` if no run of ours can have written it.
    pub fn outcome(&self) -> Option<Outcome> {
        let outcome = serde_json::from_slice(self.outcome).ok()?;
        (Figures::of(&outcome) == self.figures).then_some(outcome)
    }
}

impl Note {
    /// Its header; `None` if it cannot be read.
    pub fn header(&self) -> Option<NoteHeader<'_>> {
        NoteHeader::of(&self.line)
    }

    /// Whether an output with the identity `now` is the one that this note has `seen`, and has not been touched since.
    pub fn is_untouched_output(&self, seen: FileIdentity, now: FileIdentity) -> bool {
        self.noted
            .is_some_and(|noted| seen.is_untouched_output(now, noted))
    }

    /// The location of its outcome's JSON; `None` if the file is not known. Whether it is JSON is for the reader to check: anyone may
    /// have made a store.
    pub fn place_of(&self, header: &NoteHeader<'_>) -> Option<Elsewhere> {
        let (file, offset) = self.place.as_ref()?;
        let before = header.outcome.as_ptr().addr() - self.line.as_ptr().addr();
        Some(Elsewhere {
            file: Arc::clone(file),
            offset: offset + before as u64,
            bytes: u32::try_from(header.outcome.len()).ok()?,
        })
    }
}

/// A file of notes, open for reading.
#[derive(Debug)]
pub struct NoteFile {
    /// The name that it has once its run has completed: no other file ever gets it.
    pub name: String,
    /// The file; it may have lost its name.
    pub file: File,
}

/// The location of an outcome's JSON.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The file that contains it.
    pub file: Arc<NoteFile>,
    /// The offset at which the JSON begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u32,
}
