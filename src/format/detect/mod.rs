//! Which format is it? Decided by content, from the whole file: all lines that hold messages must be of one format, and
//! its reader must understand them. What fits only partly is of no supported format, and the reason is reported.
//!
//! Lines that are not JSON and unknown lines without messages decide nothing, except for formats without an envelope: there
//! all lines must be messages, with [`MAX_STRAY_LINES`] exceptions. A file that is one document is looked at as a whole (`document`).
//! Never looks at names of files or at texts.

mod bare;
mod document;
mod evidence;
mod line;
mod message_shape;
mod named;
mod reason;

use std::collections::BTreeMap;

use bare::Bare;
pub use document::may_be_document;
use document::{Whole, whole};
pub(crate) use evidence::Evidence;
pub(in crate::format) use evidence::{Family, LineContent, Lookalike};
pub(crate) use line::Line;
use line::SOURCE;
pub(in crate::format) use line::{
    CALL_ID, CWD, DATA, ID, INFO, LEAF_UUID, LONG_ID, MESSAGE, MESSAGE_ID, MESSAGES, ORIGIN,
    PARENT_CALL, PARENT_ID, PARENT_UUID, PATCH, PAYLOAD, PROJECT, QWEN_VERSION, RECORD_TYPE,
    REPLACES, SESSION_ID, SNAPSHOT, STREAM_SESSION, TIMESTAMP, TOOL_OF_STREAM, UUID, VERSION,
};
pub(crate) use message_shape::Part;
pub(crate) use message_shape::Unrecognised;
pub(in crate::format) use message_shape::is_call;
use message_shape::{Features, MessageShape};
use reason::{Extent, Kinds, add};
pub use reason::{Fit, Unsupported, unsupported};

use super::Format;
use crate::scan::{BOM, RawLine, Strings, lines};

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
/// The number of bytes after which a decision that no later line can change is settled: the rest of the file is passed
/// through, not held in memory.
const SAMPLE: u64 = 1 << 20;

/// Looks at lines until the format is decided.
#[derive(Debug, Default)]
pub struct Detector {
    /// The number of bytes looked at.
    seen: u64,
    /// The number of bytes that were handed over.
    begun_at: usize,
    /// The long strings of the lines that were looked at.
    strings: Strings,
    /// How often it was checked whether these are enough.
    asked: u32,
    is_settled: bool,
    /// Whether a line was there that is not blank.
    is_begun: bool,
    /// What the file is as one document, as long as nothing follows it.
    document: Option<Whole>,
    /// The lines of each format with an envelope.
    own: [Tally; Format::ALL.len()],
    /// The first format with an envelope that was found.
    first: Option<Format>,
    conversations: Tally,
    /// How many of these only OpenAI's API takes.
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

/// The evidence of a line; `None` where it is not a JSON object.
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

/// Whether only OpenAI's API takes a conversation: of texts alone, any would.
fn is_only_openai(evidence: &Evidence<'_>) -> bool {
    evidence.features.has(Features::OPENAI) || evidence.features.has(Features::SYSTEM)
}

/// The evidence of a line of no known format: it looks like a part of a conversation, or it decides nothing.
fn other<'a>(line: &Line<'a>) -> Evidence<'a> {
    let says = line.message.as_ref().is_some_and(MessageShape::is_message);
    // A line that names its session and is not a message is a note that an agent wrote outside of its chain.
    let is_called = is_call(line.kind) && line.is_called() && !line.has(SESSION_ID);
    if says || line.own.is_message() || is_called {
        return Evidence::stray(line.kind);
    }
    // Lines of many programs say what they come from.
    if line.has(ID | TIMESTAMP | SOURCE) && line.own.role.is_empty() {
        return Evidence::mark(Family::Named("openhands", Lookalike::Nothing));
    }
    Evidence::nothing()
}

impl Detector {
    /// Looks at more lines. A file whose first line [begins a document](crate::scan::begins_document) is looked at in one piece.
    pub fn look(&mut self, bytes: &[u8]) {
        self.look_at(bytes);
        self.begun_at += bytes.len();
    }

    /// The long strings of what was looked at, by their places in all of it.
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
            // It was the first of several lines.
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
            while self.seen >= SAMPLE << self.asked {
                // The intervals double, so that even a large file is checked only a few times.
                self.asked += 1;
                self.is_settled |= self.is_final();
            }
        }
    }

    /// Whether enough has been seen and no later line can change the decision.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// For a file with one conversation per line: whether a line holds a conversation that the format's reader understands, or
    /// none.
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

    /// What the file is where the user specifies the format: that, however much of it the format's reader does not understand,
    /// unless its messages are of other formats.
    pub fn given(&self, format: Format) -> Detected {
        match &self.document {
            Some(Whole::Of(found, _)) if *found == format => {
                return Detected::Known(format, Layout::File);
            }
            Some(Whole::Of(found, contents)) => {
                return Detected::Unsupported(Unsupported {
                    given: Some(format.name()),
                    joined: vec![(found.name(), contents.messages)],
                    ..self.because("other", &[])
                });
            }
            Some(Whole::Broken(why)) => return self.unsupported(document::name(*why), &[]),
            None => {}
        }
        if let Some(others) = self.contradiction(format) {
            return Detected::Unsupported(others);
        }
        let is_a_line_each = format == Format::OpenAi && self.conversations.messages > 0
            || format == Format::Anthropic
                && (self.exchanges.messages > 0 || self.has_plain_conversations());
        let layout = match self.decide() {
            Detected::Known(same, layout) if same == format => layout,
            Detected::Known(_, Layout::Line) if is_a_line_each => Layout::Line,
            Detected::Unsupported(_) if is_a_line_each && self.bare.messages == 0 => Layout::Line,
            Detected::Known(..) | Detected::Unsupported(_) => Layout::File,
        };
        Detected::Known(format, layout)
    }

    /// Why a format that the user specifies may be the wrong one although it is read as that: it would have been taken for another.
    pub fn doubt(&self, format: Format) -> Option<String> {
        let Detected::Known(_, _) = self.given(format) else {
            return None;
        };
        let like = match self.decide() {
            // Plain messages may be of either format.
            Detected::Known(other, _) if other != format && self.own[other as usize].marks > 0 => {
                vec![other.name()]
            }
            Detected::Known(..) => Vec::new(),
            Detected::Unsupported(why) => {
                let joined = why.joined.iter().map(|(name, _)| *name);
                let like: Vec<_> = joined.chain(why.like).collect();
                let others = like.into_iter().filter(|name| *name != format.name());
                others.collect()
            }
        };
        let name = format.name();
        let like = (!like.is_empty()).then(|| like.join(" and "))?;
        Some(format!(
            "read as {name}, as --input-format says; lines of it look like {like}"
        ))
    }

    /// Whether there are conversations, one a line, of plain messages alone: they are of either provider.
    fn has_plain_conversations(&self) -> bool {
        self.conversations.messages > 0 && self.only_openai == 0
    }

    /// The messages of other formats, if there are some, and none of the format that the user specifies.
    fn contradiction(&self, format: Format) -> Option<Unsupported> {
        let dialect = format.dialect();
        let is_bare_of = || match dialect.every_message_is_live() {
            true => self
                .bare
                .formats()
                .iter()
                .all(|(name, _)| *name == format.name()),
            false => dialect.writes_bare_items() && self.bare.messages == self.bare.items,
        };
        let families = self.families();
        let is_own = |family: &Lookalike| match family {
            Lookalike::Of(own) => *own == format,
            Lookalike::Conversations => {
                format == Format::OpenAi
                    || format == Format::Anthropic && self.has_plain_conversations()
            }
            Lookalike::Exchanges => format == Format::Anthropic,
            Lookalike::Bare => is_bare_of(),
            Lookalike::Nothing => false,
        };
        let named = self
            .named
            .iter()
            .filter(|(_, (_, tally))| tally.messages > 0);
        let mut others: Vec<_> = named
            .map(|(name, (_, tally))| (*name, tally.messages))
            .collect();
        // The plainest lines of another format may look like one of this.
        if others.is_empty() && families.iter().any(|(family, _)| is_own(family)) {
            return None;
        }
        others.extend(families.iter().map(|(family, n)| (self.name(*family), *n)));
        let is_other = !others.is_empty() || self.stray.messages > 0;
        is_other.then(|| Unsupported {
            given: Some(format.name()),
            joined: others,
            ..self.because("other", &[&self.stray.unrecognised])
        })
    }

    /// What the file is, by all that has been seen.
    pub fn decide(&self) -> Detected {
        match &self.document {
            Some(Whole::Of(format, contents)) => {
                return self.fitting(*format, Layout::File, &contents.unrecognised);
            }
            // A message of it that ends with its line looks like one of a file of lines.
            Some(Whole::Broken(why)) => return self.unsupported(document::name(*why), &[]),
            None => {}
        }
        let families = self.families();
        let owner = self.named.iter().find(|(_, (like, tally))| {
            // The name for a line without a message counts only among lines that look like it.
            let is_like = match families.as_slice() {
                [] => self.first.is_none(),
                families => families.iter().all(|(family, _)| family == like),
            };
            tally.messages > 0 || is_like
        });
        if let Some((name, (like, tally))) = owner {
            return Detected::Unsupported(self.named(name, *like, tally, &families));
        }
        let [(family, _)] = families.as_slice() else {
            return match (families.len(), self.first, self.stray.messages) {
                (0, Some(format), 0) => Detected::Known(format, Layout::File),
                (0, _, _) => self.unsupported("unknown", &[&self.stray.unrecognised]),
                (_, _, _) => {
                    self.mixed(families.iter().map(|(f, n)| (self.name(*f), *n)).collect())
                }
            };
        };
        match family {
            Lookalike::Of(format) => {
                let mut unrecognised = self.own[*format as usize].unrecognised.clone();
                // Bare messages count here only if other lines have an envelope; otherwise they are another family.
                unrecognised.extend(self.bare.unrecognised[*format as usize].clone());
                self.fitting(*format, Layout::File, &unrecognised)
            }
            Lookalike::Conversations => self.fitting(
                Format::OpenAi,
                Layout::Line,
                &self.conversations.unrecognised,
            ),
            Lookalike::Exchanges => {
                let unrecognised = &self.exchanges.unrecognised;
                self.fitting(Format::Anthropic, Layout::Line, unrecognised)
            }
            Lookalike::Bare => self.bare(),
            Lookalike::Nothing => self.unsupported("unknown", &[&self.stray.unrecognised]),
        }
    }

    /// The families that have messages in the file.
    fn families(&self) -> Vec<(Lookalike, u64)> {
        let mut bare = self.bare.messages;
        let own = Format::ALL.map(|format| {
            let Tally {
                mut messages,
                marks,
                ..
            } = self.own[format as usize];
            let may_be_bare = format.dialect().writes_bare_items();
            if may_be_bare && messages + marks > 0 && bare == self.bare.items {
                // Bare items of the Responses API look like messages of any API.
                messages += std::mem::take(&mut bare);
            }
            (Lookalike::Of(format), messages)
        });
        let mut conversations = self.conversations.messages;
        let mut exchanges = self.exchanges.messages;
        if exchanges > 0 && self.only_openai == 0 {
            // Conversations of texts alone look like those of any API.
            exchanges += std::mem::take(&mut conversations);
        }
        let others = [
            (Lookalike::Bare, bare),
            (Lookalike::Conversations, conversations),
            (Lookalike::Exchanges, exchanges),
        ];
        let mut families: Vec<_> = own.into_iter().chain(others).collect();
        families.retain(|(_, messages)| *messages > 0);
        families
    }

    fn name(&self, family: Lookalike) -> &'static str {
        match family {
            Lookalike::Of(format) => format.name(),
            Lookalike::Bare => self.bare.format().map_or("messages", Format::name),
            Lookalike::Conversations => "openai conversations",
            Lookalike::Exchanges => "anthropic conversations",
            Lookalike::Nothing => "unknown",
        }
    }

    /// A format that is recognised by name, unless the file also has lines of other formats.
    fn named(
        &self,
        name: &'static str,
        like: Lookalike,
        tally: &Tally,
        families: &[(Lookalike, u64)],
    ) -> Unsupported {
        let strangers = families.iter().filter(|(family, _)| *family != like);
        let mut joined: Vec<_> = strangers.map(|(f, n)| (self.name(*f), *n)).collect();
        let others = self.named.iter().filter(|(other, _)| **other != name);
        joined.extend(
            others
                .filter(|(_, (_, tally))| tally.messages > 0)
                .map(|(name, (_, tally))| (*name, tally.messages)),
        );
        if !joined.is_empty() {
            joined.push((name, tally.messages));
            return self.joined(joined);
        }
        let plain = match like {
            Lookalike::Of(format) => &self.own[format as usize].unrecognised,
            Lookalike::Conversations => &self.conversations.unrecognised,
            Lookalike::Exchanges => &self.exchanges.unrecognised,
            Lookalike::Bare | Lookalike::Nothing => &BTreeMap::new(),
        };
        self.because(name, &[&tally.unrecognised, plain])
    }

    /// The format of these lines, if its reader understands all of them.
    fn fitting(&self, format: Format, layout: Layout, unrecognised: &Kinds) -> Detected {
        if unrecognised.is_empty() && self.stray.unrecognised.is_empty() {
            return Detected::Known(format, layout);
        }
        Detected::Unsupported(Unsupported {
            like: Some(format.name()),
            ..self.because("unknown", &[unrecognised, &self.stray.unrecognised])
        })
    }

    /// Messages without an envelope.
    fn bare(&self) -> Detected {
        let Some(format) = self.bare.format() else {
            return self.mixed(self.bare.formats());
        };
        let own = Format::ALL.map(|format| (format.name(), self.own[format as usize].marks));
        let own = own.into_iter().filter(|(_, marks)| *marks > 0);
        let bare = (format.name(), self.bare.messages);
        let marked: Vec<_> = own.chain([bare]).collect();
        if marked.len() > 1 {
            return self.mixed(marked);
        }
        let marks: u64 = self.named.values().map(|(_, tally)| tally.marks).sum();
        let mut unrecognised = self.bare.unrecognised[format as usize].clone();
        if self.others + marks > MAX_STRAY_LINES {
            unrecognised.insert("line without a message".to_owned(), self.others + marks);
        }
        self.fitting(format, Layout::File, &unrecognised)
    }

    fn mixed(&self, joined: Vec<(&'static str, u64)>) -> Detected {
        Detected::Unsupported(self.joined(joined))
    }

    fn joined(&self, joined: Vec<(&'static str, u64)>) -> Unsupported {
        Unsupported {
            joined,
            ..self.because("mixed", &[])
        }
    }

    fn unsupported(&self, name: &'static str, unrecognised: &[&Kinds]) -> Detected {
        Detected::Unsupported(self.because(name, unrecognised))
    }

    fn because(&self, name: &'static str, unrecognised: &[&Kinds]) -> Unsupported {
        let kinds = unrecognised.iter().flat_map(|kinds| kinds.iter());
        let mut unrecognised: Vec<_> = kinds.map(|(kind, n)| (kind.clone(), *n)).collect();
        unrecognised.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
        Unsupported {
            name,
            unrecognised,
            extent: if self.is_settled {
                Extent::Beginning
            } else {
                Extent::Whole
            },
            ..Unsupported::default()
        }
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
}
