//! The checks of a line that all formats share: whether it is JSON, whether it is an object, and what is odd about it.
//!
//! Malformed input is data: a line that cannot be read is [`LineKind::Bad`], passes through unchanged and causes a warning.

use std::collections::BTreeMap;

use memchr::memchr;

use crate::scan::{Anomalies, Bad, Cursor, Eol, Kind, Parse, RawLine, Text};
use crate::transcript::{LineKind, Spared};

/// What is odd about a line; the names are those of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// The file begins with a byte order mark.
    Bom,
    /// Lines end with `\r\n`; reported once per file.
    Crlf,
    /// Nothing but white space.
    BlankLine,
    /// `//` or `#` at the start of a line.
    Comment,
    /// JSON, but not an object.
    NotAnObject,
    /// Not JSON.
    BadJson,
    /// Not JSON, on a last line without a newline: it was still being written.
    Truncated,
    /// The last line has no newline.
    NoFinalNewline,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A NUL byte.
    Nul,
    /// Half of a surrogate pair in an escape; providers refuse it.
    LoneSurrogate,
    /// A key that occurs twice in an object; the last one counts.
    DuplicateKey,
    /// A number of more than 20 digits; kept as it is.
    LongNumber,
    /// Nested deeper than 127 levels; many readers fail there.
    DeepNesting,
    /// A line of 64 MiB or more.
    HugeLine,
    /// A line of 4 GiB or more: passed through unread.
    UnreadLine,
    /// In a file with one conversation per line: a conversation that no reader understands.
    NotUnderstood,
    /// A line with words, none of which any reader understands: they are not counted.
    UnknownLine,
    /// A message names a parent that is not in the file: the messages before it are not sent, but are not dropped either.
    BrokenChain,
    /// Another session begins in the file.
    OtherSession,
}

impl WarningKind {
    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            WarningKind::Bom => "bom",
            WarningKind::Crlf => "crlf",
            WarningKind::BlankLine => "blank_line",
            WarningKind::Comment => "comment",
            WarningKind::NotAnObject => "not_an_object",
            WarningKind::BadJson => "bad_json",
            WarningKind::Truncated => "truncated",
            WarningKind::NoFinalNewline => "no_final_newline",
            WarningKind::InvalidUtf8 => "invalid_utf8",
            WarningKind::Nul => "nul",
            WarningKind::LoneSurrogate => "lone_surrogate",
            WarningKind::DuplicateKey => "duplicate_key",
            WarningKind::LongNumber => "long_number",
            WarningKind::DeepNesting => "deep_nesting",
            WarningKind::HugeLine => "huge_line",
            WarningKind::UnreadLine => "unread_line",
            WarningKind::NotUnderstood => "not_understood",
            WarningKind::UnknownLine => "unknown_line",
            WarningKind::BrokenChain => "broken_chain",
            WarningKind::OtherSession => "other_session",
        }
    }
}

impl WarningKind {
    /// Whether the line is not a JSON object that every reader accepts, so that it was passed through unread or nearly so.
    pub fn is_bad_line(self) -> bool {
        match self {
            WarningKind::Comment
            | WarningKind::NotAnObject
            | WarningKind::BadJson
            | WarningKind::Truncated
            | WarningKind::InvalidUtf8
            | WarningKind::Nul
            | WarningKind::UnreadLine
            | WarningKind::NotUnderstood => true,
            WarningKind::Bom
            | WarningKind::Crlf
            | WarningKind::BlankLine
            | WarningKind::NoFinalNewline
            | WarningKind::LoneSurrogate
            | WarningKind::DuplicateKey
            | WarningKind::LongNumber
            | WarningKind::DeepNesting
            | WarningKind::HugeLine
            | WarningKind::UnknownLine
            | WarningKind::BrokenChain
            | WarningKind::OtherSession => false,
        }
    }

    /// Whether it is shown at the end of a run by default: it affects not only its own line but how others are read.
    pub fn is_always_said(self) -> bool {
        match self {
            WarningKind::UnknownLine | WarningKind::BrokenChain | WarningKind::OtherSession => true,
            WarningKind::Comment
            | WarningKind::NotAnObject
            | WarningKind::BadJson
            | WarningKind::Truncated
            | WarningKind::InvalidUtf8
            | WarningKind::Nul
            | WarningKind::UnreadLine
            | WarningKind::NotUnderstood
            | WarningKind::Bom
            | WarningKind::Crlf
            | WarningKind::BlankLine
            | WarningKind::NoFinalNewline
            | WarningKind::LoneSurrogate
            | WarningKind::DuplicateKey
            | WarningKind::LongNumber
            | WarningKind::DeepNesting
            | WarningKind::HugeLine => false,
        }
    }
}

/// A warning about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineWarning {
    /// What the warning is about.
    pub kind: WarningKind,
    /// The line of its file, from 1.
    pub line: u64,
    /// The warning as a message for people.
    pub message: String,
}

/// The number of warnings of one kind that are kept for a file; further ones are only counted.
const KEPT_PER_KIND: u64 = 100;
const HUGE_LINE: usize = 64 << 20;

/// The warnings of one file, collected while it is read.
#[derive(Debug, Default)]
pub struct Warnings {
    list: Vec<LineWarning>,
    counts: BTreeMap<WarningKind, u64>,
    /// The number of the line being read, from 1.
    line: u64,
    eol: Option<Eol>,
}

impl Warnings {
    /// Begins a file, or a part of one, whose first line is number `first_line`.
    pub fn begin(&mut self, bytes: &[u8], first_line: u64) {
        self.line = first_line - 1;
        if bytes.starts_with(crate::scan::BOM) {
            self.line = first_line;
            self.add(
                WarningKind::Bom,
                "byte order mark before the first line, kept",
            );
            self.line = first_line - 1;
        }
    }

    /// Moves to the next line.
    pub fn line(&mut self, raw: RawLine) {
        self.line += 1;
        self.eol = Some(raw.eol);
        let len = raw.end - raw.start;
        if len > crate::scan::Span::MAX_LINE {
            self.add(
                WarningKind::UnreadLine,
                "line of 4 GiB or more, passed through unread",
            );
        } else if len >= HUGE_LINE {
            self.add(WarningKind::HugeLine, format!("line of {} MiB", len >> 20));
        }
        match raw.eol {
            Eol::Lf => {}
            Eol::CrLf if self.counts.contains_key(&WarningKind::Crlf) => {}
            Eol::CrLf => self.add(WarningKind::Crlf, "lines end with CR LF, kept"),
            Eol::None => self.add(
                WarningKind::NoFinalNewline,
                "no newline at the end of the file, none added",
            ),
            Eol::Element | Eol::Frame | Eol::Within => {}
        }
    }

    /// Adds the warnings about lines that follow, which were numbered from 1.
    pub(super) fn append(&mut self, later: Warnings) {
        let mut counts = later.counts;
        if self.counts.contains_key(&WarningKind::Crlf) {
            // Reported once per file.
            counts.remove(&WarningKind::Crlf);
        }
        let mut known = self.counts.clone();
        for mut warning in later.list {
            if !counts.contains_key(&warning.kind) {
                continue;
            }
            let count = known.entry(warning.kind).or_default();
            *count += 1;
            if *count <= KEPT_PER_KIND {
                warning.line += self.line;
                self.list.push(warning);
            }
        }
        for (kind, count) in counts {
            *self.counts.entry(kind).or_default() += count;
        }
        self.line += later.line;
        self.eol = later.eol;
    }

    /// Records that line `line` is a conversation of another kind than the others in the file.
    pub fn not_understood(&mut self, line: u64) {
        self.line = line;
        self.add(
            WarningKind::NotUnderstood,
            "a conversation that no reader knows, passed through",
        );
    }

    /// Records that nothing on the line was understood, if the line contains words.
    pub(super) fn unknown(&mut self, bytes: &[u8]) {
        if says_something(bytes) {
            self.add(
                WarningKind::UnknownLine,
                "a line of an unknown type: its text is not counted",
            );
        }
    }

    /// Records why no line of a session is dropped; `first_line` is the number of its first line.
    pub(super) fn spared(&mut self, why: Spared, first_line: u64) {
        let (line, kind, message) = match why {
            Spared::BrokenChain(line) => (
                line,
                WarningKind::BrokenChain,
                "the parent of a message is missing: the messages before it are not sent to the model, and stay in the file",
            ),
            Spared::OtherSession(line) => (
                line,
                WarningKind::OtherSession,
                "several sessions in one file: lines outside the last one stay in the file",
            ),
            Spared::Joined(line) => (
                line,
                WarningKind::OtherSession,
                "several sessions in one file: they are read as one",
            ),
        };
        self.line = first_line + u64::from(line);
        self.add(kind, message);
    }

    /// The same for a line that is left out of the emitted messages.
    pub fn not_emitted(&mut self, line: u64) {
        self.line = line;
        self.add(
            WarningKind::NotUnderstood,
            "a conversation that no reader knows, left out",
        );
    }

    fn add(&mut self, kind: WarningKind, message: impl Into<String>) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= KEPT_PER_KIND {
            self.list.push(LineWarning {
                kind,
                line: self.line,
                message: message.into(),
            });
        }
    }

    /// All warnings, in the order of lines; a kind with more than 100 ends with a count of the rest.
    pub fn finish(mut self) -> Vec<LineWarning> {
        for (kind, count) in &self.counts {
            if *count > KEPT_PER_KIND
                && let Some(last) = self.list.iter_mut().rev().find(|w| w.kind == *kind)
            {
                last.message.push_str(&format!(
                    " (and {} more lines like this)",
                    count - KEPT_PER_KIND
                ));
            }
        }
        self.list
    }
}

/// Whether a string of a line has at least five words: names, paths, times and encoded data have no spaces.
fn says_something(line: &[u8]) -> bool {
    const SPACES: usize = 4;
    let (mut is_within, mut is_escaped, mut spaces) = (false, false, 0);
    line.iter().any(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_within,
            b'"' => (is_within, spaces) = (!is_within, 0),
            b' ' if is_within => spaces += 1,
            _ => {}
        }
        is_within && spaces >= SPACES
    })
}

/// Checks the parts around the messages of a document, which are not JSON values on their own.
pub(super) fn frame(bytes: &[u8], warnings: &mut Warnings) -> (LineKind, Anomalies) {
    let mut anomalies = Anomalies::default();
    if simdutf8::basic::from_utf8(bytes).is_err() {
        anomalies.insert(Anomalies::INVALID_UTF8);
        warnings.add(WarningKind::InvalidUtf8, "bytes that are not UTF-8, kept");
    }
    (LineKind::Session, anomalies)
}

/// Reads one line with `object`, which is called with a cursor at the start of an object and must read exactly that object.
/// `strings` are the line's long strings that were found earlier.
pub(super) fn read(
    (bytes, strings): (&[u8], &[Text]),
    warnings: &mut Warnings,
    object: impl FnOnce(&mut Cursor<'_>) -> Parse<LineKind>,
) -> (LineKind, Anomalies) {
    let mut cursor = Cursor::knowing(bytes, strings);
    if simdutf8::basic::from_utf8(bytes).is_err() {
        cursor.anomalies.insert(Anomalies::INVALID_UTF8);
        warnings.add(WarningKind::InvalidUtf8, "bytes that are not UTF-8, kept");
    }
    let is_object = cursor.kind() == Ok(Kind::Object);
    let result = if is_object {
        object(&mut cursor)
    } else {
        cursor.skip().map(|_| LineKind::Bad)
    };
    let kind = match result.and_then(|kind| cursor.end().map(|()| kind)) {
        Err(bad) => {
            unreadable(bytes, bad, warnings);
            LineKind::Bad
        }
        Ok(kind) => {
            if !is_object {
                warnings.add(
                    WarningKind::NotAnObject,
                    "JSON, but not an object; passed through",
                );
            }
            odd(cursor.anomalies, warnings);
            kind
        }
    };
    (kind, cursor.anomalies)
}

fn odd(anomalies: Anomalies, warnings: &mut Warnings) {
    if anomalies.is_empty() {
        return;
    }
    for (oddity, kind, message) in [
        (
            Anomalies::LONE_SURROGATE,
            WarningKind::LoneSurrogate,
            "half of a surrogate pair, kept; providers refuse it",
        ),
        (
            Anomalies::DUPLICATE_KEY,
            WarningKind::DuplicateKey,
            "a key twice in one object, kept; the last one counts",
        ),
        (
            Anomalies::LONG_NUMBER,
            WarningKind::LongNumber,
            "a number of more than 20 digits, kept as it stands",
        ),
        (
            Anomalies::DEEP,
            WarningKind::DeepNesting,
            "nested deeper than 127 levels, kept",
        ),
    ] {
        if anomalies.contains(oddity) {
            warnings.add(kind, message);
        }
    }
}

fn unreadable(bytes: &[u8], bad: Bad, warnings: &mut Warnings) {
    let trimmed = bytes.trim_ascii();
    if trimmed.is_empty() {
        warnings.add(WarningKind::BlankLine, "blank line, kept");
    } else if trimmed.starts_with(b"//") || trimmed.starts_with(b"#") {
        warnings.add(WarningKind::Comment, "comment line, kept");
    } else if memchr(0, bytes).is_some() {
        warnings.add(
            WarningKind::Nul,
            format!(
                "NUL byte, so not JSON (at byte {}); passed through",
                bad.at + 1
            ),
        );
    } else {
        let (kind, note) = match warnings.eol {
            Some(Eol::None) => (WarningKind::Truncated, "truncated last line"),
            Some(Eol::Lf | Eol::CrLf | Eol::Element | Eol::Frame | Eol::Within) | None => {
                (WarningKind::BadJson, "not JSON")
            }
        };
        warnings.add(
            kind,
            format!(
                "{note}: {} (at byte {}); passed through",
                bad.what,
                bad.at + 1
            ),
        );
    }
}
