//! Detects the format of a file from its whole content: all lines with messages must be of one format, and its reader must
//! understand them. A file that fits only partly is of no supported format, and the reason is reported.
//!
//! Lines that are not JSON and unknown lines without messages decide nothing, except for formats without an envelope: there all
//! lines must be messages, with [`MAX_STRAY_LINES`] exceptions. A file that is a single document is examined as a whole
//! (`document`). Never looks at file names or texts.

mod bare;
mod decision;
mod document;
mod evidence;
mod line;
mod message_shape;
mod named;
mod reason;

use std::collections::BTreeMap;
use std::ops::Range;

use bare::Bare;
pub use document::may_be_document;
use document::{Whole, whole};
pub(crate) use evidence::Evidence;
pub(in crate::format) use evidence::{Family, LineContent, Lookalike};
pub(crate) use line::Line;
use line::SOURCE;
pub(in crate::format) use line::{
    BAD_PARENT, CALL_ID, CWD, DATA, ID, INFO, LANE, LEAF_UUID, LONG_ID, MESSAGE, MESSAGE_ID,
    MESSAGES, ORIGIN, PARENT_CALL, PARENT_ID, PARENT_UUID, PATCH, PAYLOAD, PROJECT, QWEN_VERSION,
    RECORD_TYPE, REPLACES, RETAINED_TAIL, SEQUENCE, SESSION_ID, SNAPSHOT, STREAM_SESSION,
    TIMESTAMP, TOOL_OF_STREAM, UUID, VERSION,
};
pub(crate) use message_shape::Part;
pub(crate) use message_shape::Unrecognised;
pub(in crate::format) use message_shape::is_call;
use message_shape::{Features, MessageShape};
pub use reason::{Fit, Unsupported, unsupported};
use reason::{Kinds, add};

use super::Format;
use crate::format::parts::{PART, PARTS_AT_ONCE};
use crate::scan::{BOM, RawLine, Strings, lines, lines_in, parts_of_lines};
use crate::threads;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    /// A supported format.
    Known(Format, Layout),
    /// Anything else; the file is not processed.
    Unsupported(Unsupported),
}

impl Detected {
    /// The same for compaction: a format that is only read counts as unsupported.
    pub fn for_compaction(self) -> Self {
        match self {
            Detected::Known(format, _) if !format.is_compacted() => {
                Detected::Unsupported(Unsupported {
                    name: format.name(),
                    ..Unsupported::default()
                })
            }
            Detected::Known(..) | Detected::Unsupported(_) => self,
        }
    }
}

/// How a file holds its transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The file is one transcript.
    File,
    /// Every line is one transcript.
    Line,
}

impl Layout {
    /// The transcripts of a file, each with the number of its first line, from 1.
    pub fn parts(self, bytes: &[u8]) -> Vec<(&[u8], u64)> {
        match self {
            Layout::File => vec![(bytes, 1)],
            Layout::Line => {
                let mut done = 0;
                let part = |(raw, number): (RawLine, u64)| {
                    let end = raw.end + raw.eol.bytes().len();
                    (&bytes[std::mem::replace(&mut done, end)..end], number)
                };
                lines(bytes).zip(1..).map(part).collect()
            }
        }
    }
}

/// Several documents in one file.
const DOCUMENTS: &str = "documents";
/// The number of lines without a message (headers, footers, settings) that a file without envelopes may have.
const MAX_STRAY_LINES: u64 = 4;
/// The number of bytes after which a decision that no later line can change is final: the rest of the file is passed through, not
/// held in memory.
const SAMPLE: u64 = 1 << 20;

/// Looks at lines until the format is decided.
#[derive(Debug, Default)]
pub struct Detector {
    /// The number of bytes looked at.
    seen: u64,
    /// The number of bytes passed to [`Detector::look`] before.
    begun_at: usize,
    /// The long strings of the lines that were looked at.
    strings: Strings,
    /// How often `is_final` was checked.
    asked: u32,
    is_settled: bool,
    /// Whether a non-blank line was seen.
    is_begun: bool,
    /// What the file is as a document, as long as nothing follows it.
    document: Option<Whole>,
    /// The lines of each format with an envelope.
    own: [Tally; Format::ALL.len()],
    /// The first format with an envelope that was found.
    first: Option<Format>,
    conversations: Tally,
    /// How many of these conversations only OpenAI's API accepts.
    only_openai: u64,
    exchanges: Tally,
    bare: Bare,
    named: BTreeMap<&'static str, (Lookalike, Tally)>,
    stray: Tally,
    /// The number of lines that decide nothing.
    others: u64,
}

/// The lines of a family.
#[derive(Debug, Default)]
struct Tally {
    messages: u64,
    marks: u64,
    unrecognised: Kinds,
}

/// The evidence of a line; `None` if it is not a JSON object.
fn evidence(line: &[u8]) -> Option<Evidence<'_>> {
    Some(evidence_of(&Line::read(line)?))
}

fn evidence_of<'a>(line: &Line<'a>) -> Evidence<'a> {
    if document::of_line(line).is_some() {
        let several = Family::Named(DOCUMENTS, Lookalike::Nothing);
        return Evidence::message(several, None);
    }
    let mut formats = Format::ALL.iter();
    let own = formats.find_map(|format| format.dialect().evidence(line));
    let evidence = own
        .or_else(|| named::evidence(line))
        .or_else(|| bare::conversation(line))
        .or_else(|| bare::message(line));
    evidence.unwrap_or_else(|| other(line))
}

/// Whether only OpenAI's API accepts a conversation. Any API accepts a text-only one.
fn is_only_openai(evidence: &Evidence<'_>) -> bool {
    evidence.features.has(Features::OPENAI) || evidence.features.has(Features::SYSTEM)
}

/// The evidence of a line of no known format, which either looks like part of a conversation or decides nothing.
fn other<'a>(line: &Line<'a>) -> Evidence<'a> {
    let says = line.message.as_ref().is_some_and(MessageShape::is_message);
    // A line that names its session and is not a message is a note that an agent wrote outside its chain.
    let is_called = is_call(line.kind) && line.is_called() && !line.has(SESSION_ID);
    if says || line.own.is_message() || is_called {
        return Evidence::stray(line.kind);
    }
    // Lines of many programs have a `source`.
    if line.has(ID | TIMESTAMP | SOURCE) && line.own.role.is_empty() {
        return Evidence::mark(Family::Named("openhands", Lookalike::Nothing));
    }
    Evidence::nothing()
}

impl Detector {
    /// Looks at more lines. A file whose first line [begins a document](crate::scan::begins_document) must be passed in one piece.
    pub fn look(&mut self, bytes: &[u8]) {
        self.look_at(bytes);
        self.begun_at += bytes.len();
    }

    /// The long strings found, by their offsets in everything passed to [`Detector::look`].
    pub fn into_strings(self) -> Strings {
        self.strings
    }

    fn look_at(&mut self, bytes: &[u8]) {
        let mut here = lines(bytes).map(|raw| &bytes[raw.start..raw.end]);
        let is_filled = here.any(|line| !line.trim_ascii().is_empty());
        let was_begun = self.is_begun;
        self.is_begun |= is_filled;
        if !was_begun {
            self.document = whole(bytes);
        } else if is_filled && let Some(Whole::Of(..)) = self.document.take() {
            // The document was the first of several lines.
            let several = (Lookalike::Nothing, Tally::default());
            self.named.entry(DOCUMENTS).or_insert(several).1.messages += 1;
        }
        // Only the first line of a file may have a byte order mark before it.
        let is_marked = self.seen > 0 && bytes.starts_with(BOM);
        if let Some(Whole::Of(..)) = self.document {
            self.seen += bytes.len() as u64;
            return;
        }
        for (raw, number) in lines(bytes).zip(0..) {
            if self.is_settled {
                return;
            }
            if number > 0 || !is_marked {
                self.line(&bytes[raw.start..raw.end], self.begun_at + raw.start);
            }
            self.seen += (raw.end - raw.start + raw.eol.bytes().len()) as u64;
            self.check();
        }
    }

    /// Whether enough has been seen and no later line can change the decision.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// For a file with one conversation per line: whether a line has a conversation that the format's reader understands, or no
    /// message.
    pub fn reads_conversation(format: Format, line: &[u8]) -> bool {
        let line = line.strip_prefix(BOM).unwrap_or(line);
        evidence(line).is_none_or(|evidence| match (evidence.family, evidence.content) {
            (Some(Family::Conversations), _) => {
                let is_own = format == Format::OpenAi || !is_only_openai(&evidence);
                is_own && evidence.unrecognised.is_none()
            }
            (Some(Family::Exchanges), _) => {
                format == Format::Anthropic && evidence.unrecognised.is_none()
            }
            (_, LineContent::NoMessage) => true,
            (_, LineContent::Message) => false,
        })
    }

    /// Looks at the next part of a text, of which everything before was looked at; `false` if nothing is left to look at. Like
    /// [`Detector::look`], but idle threads share the work.
    pub fn look_on(&mut self, text: &[u8]) -> bool {
        self.look_at_parts(text, PART)
    }

    /// The same with parts of about `size` bytes.
    pub(in crate::format) fn look_at_parts(&mut self, text: &[u8], size: usize) -> bool {
        let rest = &text[self.begun_at..];
        if self.is_settled || rest.is_empty() {
            return false;
        }
        if !self.is_begun || self.document.is_some() {
            // Whether the whole is a document has yet to be seen.
            self.look(rest);
            return false;
        }
        // The decision is checked at the same lines as in one piece.
        let due = usize::try_from((SAMPLE << self.asked) - self.seen).unwrap_or(usize::MAX);
        let due = rest.len().min(due.min(PARTS_AT_ONCE * size).max(1));
        let end = memchr::memchr(b'\n', &rest[due - 1..]).map_or(rest.len(), |n| due + n);
        let end = self.begun_at + end;
        let parts = parts_of_lines(&text[..end], self.begun_at, size);
        let looked = threads::each(parts, |part| {
            let mut detector = Detector::default();
            detector.lines(text, part.clone());
            (detector, part)
        });
        for (later, part) in looked {
            match later.understands_all() {
                true => self.append(later),
                // Of many unrecognised kinds, the first ones are named.
                false => self.lines(text, part),
            }
        }
        self.seen += (end - self.begun_at) as u64;
        self.begun_at = end;
        self.check();
        true
    }

    /// Looks at the lines of a part of a text.
    fn lines(&mut self, text: &[u8], part: Range<usize>) {
        for raw in lines_in(text, part) {
            self.line(&text[raw.start..raw.end], raw.start);
        }
    }

    /// Checks whether the decision is final, if that is due. The intervals double, so that even a large file is checked only a few
    /// times.
    fn check(&mut self) {
        while self.seen >= SAMPLE << self.asked {
            self.asked += 1;
            self.is_settled |= self.is_final();
        }
    }

    /// Whether the readers understand all lines that were looked at.
    fn understands_all(&self) -> bool {
        let named = self.named.values().map(|(_, tally)| tally);
        let tallies = [&self.conversations, &self.exchanges, &self.stray].into_iter();
        let mut tallies = tallies.chain(&self.own).chain(named);
        tallies.all(|tally| tally.unrecognised.is_empty())
            && self.bare.unrecognised.iter().all(Kinds::is_empty)
    }

    /// Adds what was found in lines that follow, all of which are understood.
    fn append(&mut self, later: Detector) {
        let Detector {
            strings,
            own,
            first,
            conversations,
            only_openai,
            exchanges,
            bare,
            named,
            stray,
            others,
            // About the beginning of a file.
            seen: _,
            begun_at: _,
            asked: _,
            is_settled: _,
            is_begun: _,
            document: _,
        } = later;
        self.strings.append(strings);
        for (tally, later) in self.own.iter_mut().zip(&own) {
            tally.append(later);
        }
        self.first = self.first.or(first);
        self.conversations.append(&conversations);
        self.only_openai += only_openai;
        self.exchanges.append(&exchanges);
        self.bare.append(&bare);
        for (name, (like, later)) in named {
            let (_, tally) = self.named.entry(name).or_insert((like, Tally::default()));
            tally.append(&later);
        }
        self.stray.append(&stray);
        self.others += others;
    }

    fn line(&mut self, line: &[u8], start: usize) {
        let Some(line) = Line::noted(line, start, &mut self.strings) else {
            return;
        };
        let evidence = evidence_of(&line);
        let tally = match evidence.family {
            Some(Family::Bare) => return self.bare.add(evidence.features, &line.own),
            Some(Family::Of(format)) => {
                self.first.get_or_insert(format);
                &mut self.own[format as usize]
            }
            Some(Family::Conversations) => {
                self.only_openai += u64::from(is_only_openai(&evidence));
                &mut self.conversations
            }
            Some(Family::Exchanges) => &mut self.exchanges,
            Some(Family::Named(name, like)) => {
                &mut self.named.entry(name).or_insert((like, Tally::default())).1
            }
            None if evidence.content == LineContent::Message => &mut self.stray,
            None => return self.others += 1,
        };
        tally.add(&evidence);
    }

    /// Whether later lines can only confirm the decision.
    fn is_final(&self) -> bool {
        match self.decide() {
            // One conversation per line: each is checked by itself when it is read.
            Detected::Known(_, Layout::Line) => true,
            Detected::Known(_, Layout::File) => false,
            Detected::Unsupported(why) => {
                let is_named = self
                    .named
                    .get(why.name)
                    .is_some_and(|(_, tally)| tally.messages > 0);
                is_named || !why.unrecognised.is_empty() || !why.joined.is_empty()
            }
        }
    }
}

impl Tally {
    fn add(&mut self, evidence: &Evidence<'_>) {
        match evidence.content {
            LineContent::Message => self.messages += 1,
            LineContent::NoMessage => self.marks += 1,
        }
        if let Some(unrecognised) = evidence.unrecognised {
            add(&mut self.unrecognised, unrecognised);
        }
    }

    fn append(&mut self, later: &Tally) {
        self.messages += later.messages;
        self.marks += later.marks;
    }
}
