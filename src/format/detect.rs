//! Which format is it? Decided by content, from the whole file: all lines that hold messages must be of one format, and
//! its reader must understand them. What only partly fits is no format at all, and the reason is told.
//!
//! Lines that are no JSON and lines without messages that nobody knows decide nothing, but for formats without an envelope:
//! there all lines must be messages, with [`FEW`] exceptions. Never looks at names of files and never at words.

mod reason;
mod said;
mod sign;

use std::collections::BTreeMap;

use reason::{Extent, Kinds, add};
pub use reason::{Unsupported, unsupported};
use said::{Dialect, Features};
use sign::{Base, Family, Like, Sign, Weight};

use super::Format;
use crate::scan::{BOM, lines};

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    /// A format that is read and written.
    Known(Format, Layout),
    /// Anything else; it is left alone.
    Unsupported(Unsupported),
}

/// How a file holds its transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The file is one transcript.
    File,
    /// Every line is one transcript.
    Line,
}

/// So many lines of a format without an envelope may hold no message: headers, footers, settings.
const FEW: u64 = 4;
/// After so many bytes what cannot be undone by a later line is settled: the rest is passed through, not held.
const SAMPLE: u64 = 1 << 20;

/// Sees lines until it knows.
#[derive(Debug, Default)]
pub struct Detector {
    /// Bytes that were looked at.
    seen: u64,
    /// How often it was asked whether that is enough.
    asked: u32,
    is_settled: bool,
    base: [Tally; 3],
    /// The first format with an envelope that was seen.
    first: Option<Base>,
    conversations: Tally,
    bare: Bare,
    named: BTreeMap<&'static str, (Like, Tally)>,
    stray: Tally,
    /// Lines of no weight.
    others: u64,
}

/// The lines of a family.
#[derive(Debug, Default)]
struct Tally {
    messages: u64,
    marks: u64,
    unread: Kinds,
}

/// Messages without an envelope.
#[derive(Debug, Default)]
struct Bare {
    messages: u64,
    /// Of these the items of the Responses API, as far as the line tells.
    items: u64,
    anthropic: u64,
    openai: u64,
    ai_sdk: u64,
    pictures: u64,
    system: u64,
    unread: [Kinds; Dialect::ALL.len()],
}

impl Detector {
    /// Looks at more lines.
    pub fn look(&mut self, bytes: &[u8]) {
        // Only the first line of a file may have a mark before it.
        let is_marked = self.seen > 0 && bytes.starts_with(BOM);
        for (raw, number) in lines(bytes).zip(0..) {
            if self.is_settled {
                return;
            }
            if number > 0 || !is_marked {
                self.line(&bytes[raw.start..raw.end]);
            }
            self.seen += (raw.end - raw.start + raw.eol.bytes().len()) as u64;
            while self.seen >= SAMPLE << self.asked {
                // Seldom enough that a file of any size is asked a few times.
                self.asked += 1;
                self.is_settled |= self.is_final();
            }
        }
    }

    /// Whether no later line can change what it is, and enough has been seen.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Whether a line of a file with a conversation a line is one that is read, or holds none.
    pub fn reads_conversation(line: &[u8]) -> bool {
        let line = line.strip_prefix(BOM).unwrap_or(line);
        Sign::of(line).is_none_or(|sign| match (sign.family, sign.weight) {
            (Some(Family::Conversations), _) => sign.unread[0].is_none(),
            (_, Weight::Mark) => true,
            (_, Weight::Message) => false,
        })
    }

    fn line(&mut self, line: &[u8]) {
        let Some(sign) = Sign::of(line) else { return };
        let tally = match sign.family {
            Some(Family::Bare) => return self.bare.add(&sign),
            Some(Family::Base(base)) => {
                self.first.get_or_insert(base);
                &mut self.base[base as usize]
            }
            Some(Family::Conversations) => &mut self.conversations,
            Some(Family::Named(name, like)) => {
                &mut self.named.entry(name).or_insert((like, Tally::default())).1
            }
            None if sign.weight == Weight::Message => &mut self.stray,
            None => return self.others += 1,
        };
        tally.add(&sign);
    }

    /// What it is where the user says which format that is: only the layout is left to see.
    pub fn given(&self, format: Format) -> Detected {
        let is_a_line_each = format == Format::OpenAi && self.conversations.messages > 0;
        let layout = match self.decide() {
            Detected::Known(same, layout) if same == format => layout,
            Detected::Unsupported(_) if is_a_line_each && self.bare.messages == 0 => Layout::Line,
            Detected::Known(..) | Detected::Unsupported(_) => Layout::File,
        };
        Detected::Known(format, layout)
    }

    /// What it is, by all that has been seen.
    pub fn decide(&self) -> Detected {
        let families = self.families();
        let owner = self.named.iter().find(|(_, (like, tally))| {
            // What a line without a message is called counts only among lines that look like it.
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
                (0, Some(base), 0) => Detected::Known(base.format(), Layout::File),
                (0, _, _) => self.unsupported("unknown", &[&self.stray.unread]),
                (_, _, _) => {
                    self.mixed(families.iter().map(|(f, n)| (self.name(*f), *n)).collect())
                }
            };
        };
        match family {
            Like::Base(Base::Codex) => {
                let mut unread = self.base[Base::Codex as usize].unread.clone();
                unread.extend(self.bare.unread[Dialect::Responses as usize].clone());
                self.fitting(Format::Codex, Layout::File, &unread)
            }
            Like::Base(base) => {
                let tally = &self.base[*base as usize];
                self.fitting(base.format(), Layout::File, &tally.unread)
            }
            Like::Conversations => {
                self.fitting(Format::OpenAi, Layout::Line, &self.conversations.unread)
            }
            Like::Bare => self.bare(),
            Like::Nothing => self.unsupported("unknown", &[&self.stray.unread]),
        }
    }

    /// The formats that have messages in it.
    fn families(&self) -> Vec<(Like, u64)> {
        let base = |base: Base| (Like::Base(base), self.base[base as usize].messages);
        let mut bare = self.bare.messages;
        let mut codex = base(Base::Codex);
        if codex.1 + self.base[Base::Codex as usize].marks > 0 && bare == self.bare.items {
            // Plain items of the Responses API look like messages of any API.
            codex.1 += std::mem::take(&mut bare);
        }
        let mut families = vec![
            base(Base::ClaudeCode),
            codex,
            base(Base::Pi),
            (Like::Bare, bare),
            (Like::Conversations, self.conversations.messages),
        ];
        families.retain(|(_, messages)| *messages > 0);
        families
    }

    fn name(&self, family: Like) -> &'static str {
        match family {
            Like::Base(base) => base.format().name(),
            Like::Bare => self
                .bare
                .format()
                .map_or("messages", |(format, _)| format.name()),
            Like::Conversations => "openai conversations",
            Like::Nothing => "unknown",
        }
    }

    /// Of a format that is known by name, unless others have lines there, too.
    fn named(
        &self,
        name: &'static str,
        like: Like,
        tally: &Tally,
        families: &[(Like, u64)],
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
            Like::Base(base) => &self.base[base as usize].unread,
            Like::Conversations => &self.conversations.unread,
            Like::Bare | Like::Nothing => &BTreeMap::new(),
        };
        self.because(name, &[&tally.unread, plain])
    }

    /// A format whose lines these are, if its reader understands them.
    fn fitting(&self, format: Format, layout: Layout, unread: &Kinds) -> Detected {
        if unread.is_empty() && self.stray.unread.is_empty() {
            return Detected::Known(format, layout);
        }
        Detected::Unsupported(Unsupported {
            like: Some(format.name()),
            ..self.because("unknown", &[unread, &self.stray.unread])
        })
    }

    /// Messages without an envelope.
    fn bare(&self) -> Detected {
        let Some((format, dialect)) = self.bare.format() else {
            let Bare {
                anthropic,
                openai,
                ai_sdk,
                ..
            } = self.bare;
            let formats = [Format::Anthropic, Format::OpenAi, Format::AiSdk];
            let counted = formats
                .map(Format::name)
                .into_iter()
                .zip([anthropic, openai, ai_sdk]);
            return self.mixed(counted.filter(|(_, messages)| *messages > 0).collect());
        };
        let marked: Vec<_> = [Base::ClaudeCode, Base::Codex, Base::Pi]
            .into_iter()
            .map(|base| (base.format().name(), self.base[base as usize].marks))
            .filter(|(_, marks)| *marks > 0)
            .chain([(format.name(), self.bare.messages)])
            .collect();
        if marked.len() > 1 {
            return self.mixed(marked);
        }
        let marks: u64 = self.named.values().map(|(_, tally)| tally.marks).sum();
        let mut unread = self.bare.unread[dialect as usize].clone();
        if self.others + marks > FEW {
            unread.insert("line without a message".to_owned(), self.others + marks);
        }
        self.fitting(format, Layout::File, &unread)
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

    fn unsupported(&self, name: &'static str, unread: &[&Kinds]) -> Detected {
        Detected::Unsupported(self.because(name, unread))
    }

    fn because(&self, name: &'static str, unread: &[&Kinds]) -> Unsupported {
        let kinds = unread.iter().flat_map(|kinds| kinds.iter());
        let mut unread: Vec<_> = kinds.map(|(kind, n)| (kind.clone(), *n)).collect();
        unread.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
        Unsupported {
            name,
            unread,
            extent: if self.is_settled {
                Extent::Beginning
            } else {
                Extent::Whole
            },
            ..Unsupported::default()
        }
    }

    /// Whether later lines can only add to what was seen.
    fn is_final(&self) -> bool {
        match self.decide() {
            // A line for each conversation: each is looked at for itself.
            Detected::Known(_, Layout::Line) => true,
            Detected::Known(_, Layout::File) => false,
            Detected::Unsupported(why) => {
                let is_named = self
                    .named
                    .get(why.name)
                    .is_some_and(|(_, tally)| tally.messages > 0);
                is_named || !why.unread.is_empty() || !why.joined.is_empty()
            }
        }
    }
}

impl Base {
    fn format(self) -> Format {
        match self {
            Base::ClaudeCode => Format::ClaudeCode,
            Base::Codex => Format::Codex,
            Base::Pi => Format::Pi,
        }
    }
}

impl Tally {
    fn add(&mut self, sign: &Sign<'_>) {
        match sign.weight {
            Weight::Message => self.messages += 1,
            Weight::Mark => self.marks += 1,
        }
        if let Some(unread) = sign.unread[0] {
            add(&mut self.unread, unread);
        }
    }
}

impl Bare {
    fn add(&mut self, sign: &Sign<'_>) {
        let features = sign.features;
        self.messages += 1;
        for (feature, count) in [
            (Features::ITEM, &mut self.items),
            (Features::ANTHROPIC, &mut self.anthropic),
            (Features::OPENAI, &mut self.openai),
            (Features::AI_SDK, &mut self.ai_sdk),
            (Features::PICTURES, &mut self.pictures),
            (Features::SYSTEM, &mut self.system),
        ] {
            *count += u64::from(features.has(feature));
        }
        for (unread, kinds) in sign.unread.iter().zip(&mut self.unread) {
            if let Some(unread) = unread {
                add(kinds, *unread);
            }
        }
    }

    /// The format that these messages are of, if it is one.
    fn format(&self) -> Option<(Format, Dialect)> {
        let anthropic = (Format::Anthropic, Dialect::Anthropic);
        let openai = (Format::OpenAi, Dialect::OpenAi);
        match (self.anthropic > 0, self.openai > 0, self.ai_sdk > 0) {
            (true, false, false) => Some(anthropic),
            (false, true, false) => Some(openai),
            (false, false, true) => Some((Format::AiSdk, Dialect::AiSdk)),
            (false, false, false) if self.pictures > 0 => Some(anthropic),
            // Anthropic's system prompt is no message; a line for it is OpenAI's way, unless blocks say otherwise.
            (false, false, false) if self.system > 0 => Some(openai),
            (false, false, false) => Some(anthropic),
            (_, _, _) => None,
        }
    }
}
