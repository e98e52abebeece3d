//! Token counts: estimates of what a model would count.
//!
//! An [`Estimator`] follows a policy's `[tokens]`. It measures in the method's own unit (characters, weights) and rounds where
//! the policy says, so that sums agree with the systems that the presets describe. [`Sizes`] caches the size of every live
//! block, so that after an edit only the texts of its line are measured again.
//!
//! Recorded usage is not used: it is out of date after the first edit.

mod block_lengths;
mod bpe;
mod classes;
mod json;
mod lengths;
mod level;
mod repr;
mod sizes;
mod usage;

use std::iter::Sum;
use std::ops::AddAssign;

use crate::error::Result;
use crate::policy::{Images, Method, Per, Rounding, Scope, Tokens, Unit};
use crate::scan::{Span, Text, unescape};
use crate::transcript::{Block, BlockKind, Conversation, Message, Role, Shape, Transcript};

pub use block_lengths::BlockLengths;
use bpe::Bpe;
use lengths::{Chars, Lengths};
pub use level::level;
pub use sizes::Sizes;
pub use usage::{Usage, answers_in_window, usage};

/// A size before rounding, in the estimator's unit, and the flat tokens of content without text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size {
    /// Characters (`chars`), ten-thousandths of a token (`classes`) or tokens (`bpe`).
    measure: u64,
    /// Tokens of pictures and documents.
    flat: u32,
}

/// The size of a window to which messages are added one by one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Growing {
    sum: Size,
    /// The tokens of each message, added up.
    tokens: u64,
    count: u64,
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.measure += other.measure;
        self.flat = self.flat.saturating_add(other.flat);
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::default(), |mut sum, size| {
            sum += size;
            sum
        })
    }
}

/// Counts tokens as a policy specifies.
#[derive(Debug, Clone)]
pub struct Estimator {
    settings: Tokens,
    measure: Measure,
}

/// A counting method.
#[derive(Debug, Clone, Copy)]
enum Measure {
    Chars(Unit),
    Classes,
    Bpe(Bpe),
}

impl Estimator {
    /// An estimator for a policy's `[tokens]`. For the method `bpe`, the vocabulary is unpacked here, once in a process.
    ///
    /// # Errors
    /// If the vocabulary is not built in.
    pub fn new(settings: &Tokens) -> Result<Self> {
        let measure = match settings.method {
            Method::Chars => Measure::Chars(settings.unit),
            Method::Classes => Measure::Classes,
            Method::Bpe => Measure::Bpe(Bpe::new(settings.encoding)?),
        };
        Ok(Estimator {
            settings: settings.clone(),
            measure,
        })
    }

    /// Whether this estimator counts as the other one.
    pub fn counts_as(&self, other: &Estimator) -> bool {
        self.settings == other.settings
    }

    /// The estimator's name in a report.
    pub fn name(&self) -> &'static str {
        self.settings.method.name()
    }

    /// Whether counts are exact for the vocabulary that the policy names.
    pub fn is_exact(&self) -> bool {
        match self.settings.method {
            Method::Bpe => true,
            Method::Chars | Method::Classes => false,
        }
    }

    /// A size in tokens, rounded.
    pub fn tokens(&self, size: Size) -> u64 {
        let text = match self.settings.method {
            Method::Chars => {
                let tokens = size.measure as f64 / self.settings.chars_per_token;
                match self.settings.rounding {
                    Rounding::Floor => tokens.floor() as u64,
                    Rounding::Ceil => tokens.ceil() as u64,
                }
            }
            Method::Classes => (size.measure + classes::TOKEN / 2) / classes::TOKEN,
            Method::Bpe => size.measure,
        };
        text + u64::from(size.flat)
    }

    /// The size of a result's content with the text `text`, written in `shape`.
    pub fn content(&self, text: &str, shape: Shape) -> Size {
        self.after(b"", text, shape)
    }

    /// The size of a result's content with the text `text` after its existing header.
    pub fn replaced(&self, transcript: &Transcript<'_>, result: &Block, text: &str) -> Size {
        let header = transcript.header(result);
        match self.settings.scope {
            // A list that is a message's content, and not a result's in it.
            Scope::Strings if is_of_strings(result) => Size {
                measure: self.header(header) + self.plain(text),
                flat: 0,
            },
            // As `block` counts it.
            Scope::RoleContent if is_bare(result) => Size {
                measure: self.header(header) + self.plain(text),
                flat: 0,
            },
            _ => self.after(header, text, result.shape),
        }
    }

    /// The same after the first bytes of a JSON string.
    fn after(&self, header: &[u8], text: &str, shape: Shape) -> Size {
        let mut quoted = Vec::with_capacity(text.len() + 48);
        let list: &[u8] = match shape {
            Shape::List => br#"[{"type":"text","text":"#,
            Shape::Parts => br#"[{"type":"input_text","text":"#,
            Shape::String | Shape::Absent | Shape::Other => b"",
        };
        quoted.extend_from_slice(list);
        let start = quoted.len();
        crate::text::push_json_string(&mut quoted, text);
        quoted.splice(start + 1..start + 1, header.iter().copied());
        if !list.is_empty() {
            quoted.extend_from_slice(b"}]");
        }
        let measure = match self.settings.scope {
            Scope::Strings if !list.is_empty() => 0,
            Scope::Content | Scope::Strings => self.header(header) + self.plain(text),
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr | Scope::RoleContent => {
                self.json(&quoted)
            }
        };
        Size { measure, flat: 0 }
    }

    /// The size of a plain text.
    pub fn text(&self, text: &str) -> Size {
        Size {
            measure: self.plain(text),
            flat: 0,
        }
    }

    /// The size of a message whose content is the string `text`.
    pub fn message(&self, role: Role, text: &str) -> Size {
        let role = role.name();
        let measure = match self.settings.scope {
            Scope::Content | Scope::Strings => self.plain(text),
            Scope::RoleContent => self.plain(role) + self.plain(text),
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr => {
                let mut json = format!("{{\"role\":\"{role}\",\"content\":").into_bytes();
                let begins = json.len();
                crate::text::push_json_string(&mut json, text);
                json.push(b'}');
                match self.measure {
                    _ if self.settings.scope == Scope::HistoryRepr => self.json(&json),
                    Measure::Bpe(_) => self.raw(&json),
                    // In parts, as messages of a transcript are measured.
                    Measure::Chars(_) | Measure::Classes => {
                        let quoted = json.drain(begins..json.len() - 1);
                        let quoted: Vec<u8> = quoted.collect();
                        self.raw(&json) + self.raw(&quoted)
                    }
                }
            }
        };
        Size { measure, flat: 0 }
    }

    /// The tokens of a conversation whose messages have these sizes.
    pub fn total(&self, sizes: impl IntoIterator<Item = Size>) -> u64 {
        let mut growing = Growing::default();
        for size in sizes {
            self.add(&mut growing, size);
        }
        self.grown(growing)
    }

    /// Adds a message to a window.
    pub fn add(&self, growing: &mut Growing, size: Size) {
        growing.sum += size;
        growing.tokens += self.tokens(size);
        growing.count += 1;
    }

    /// The tokens of a window as it is now.
    pub fn grown(&self, growing: Growing) -> u64 {
        self.window(growing.sum, growing.tokens, growing.count)
    }

    /// The tokens of a conversation after each of its messages.
    fn growing(&self, sizes: impl IntoIterator<Item = Size>) -> impl Iterator<Item = u64> {
        let mut growing = Growing::default();
        sizes.into_iter().map(move |size| {
            self.add(&mut growing, size);
            self.grown(growing)
        })
    }

    /// The size of a result's content, equal to that of [`Estimator::replaced`] for the same text.
    pub fn result(&self, transcript: &Transcript<'_>, block: &Block) -> Size {
        let content = || transcript.bytes(block.line, block.content);
        let measure = match self.settings.scope {
            Scope::Strings if !is_of_strings(block) => 0,
            Scope::Content if self.writes_pictures_of(block) => self.raw(content()),
            Scope::Content | Scope::Strings => self.texts(transcript, block),
            Scope::RoleContent if is_bare(block) => self.texts(transcript, block),
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr | Scope::RoleContent => {
                self.pictured(&json::compact(content()))
            }
        };
        Size {
            measure,
            flat: self.flat(block),
        }
    }

    /// The size of a block as a part of its message.
    pub fn block(&self, transcript: &Transcript<'_>, block: &Block) -> Size {
        let raw = |span: Span| transcript.bytes(block.line, span);
        let measure = match self.settings.scope {
            Scope::Content => match block.kind {
                BlockKind::Result if self.writes_pictures_of(block) => self.raw(raw(block.content)),
                BlockKind::Image | BlockKind::Document if self.writes_pictures() => {
                    self.raw(raw(block.value))
                }
                BlockKind::Text | BlockKind::Thinking | BlockKind::Result => {
                    self.texts(transcript, block)
                }
                BlockKind::Call => {
                    let input = match block.shape {
                        Shape::String => self.texts(transcript, block),
                        Shape::List | Shape::Parts | Shape::Absent | Shape::Other => {
                            self.raw(raw(block.content))
                        }
                    };
                    input + self.raw(raw(block.tool))
                }
                BlockKind::Server | BlockKind::Attachment => self.raw(raw(block.content)),
                BlockKind::Image | BlockKind::Document | BlockKind::Redacted | BlockKind::Other => {
                    0
                }
            },
            Scope::Strings => match block.kind {
                BlockKind::Text => self.texts(transcript, block),
                BlockKind::Result if is_of_strings(block) => self.texts(transcript, block),
                _ => 0,
            },
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr | Scope::RoleContent => {
                match block.kind {
                    BlockKind::Image | BlockKind::Document if !self.writes_pictures() => 0,
                    // The system that counts like this takes a string as it is and converts other values to JSON.
                    BlockKind::Text | BlockKind::Result
                        if self.settings.scope == Scope::RoleContent && is_bare(block) =>
                    {
                        self.texts(transcript, block)
                    }
                    BlockKind::Result if block.images > 0 || block.documents > 0 => {
                        self.pictured(&json::compact(raw(block.value)))
                    }
                    _ => self.json(raw(block.value)),
                }
            }
        };
        Size {
            measure,
            flat: self.flat(block),
        }
    }

    /// The size of a block that is counted as it is written, given what is known of lengths; `None` if it is not.
    fn written_block(
        &self,
        transcript: &Transcript<'_>,
        number: u32,
        lengths: &mut BlockLengths,
    ) -> Option<Size> {
        let Measure::Chars(unit) = self.measure else {
            return None;
        };
        let scope = self.settings.scope;
        match scope {
            Scope::Content | Scope::Strings => return None,
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr | Scope::RoleContent => {}
        }
        let block = transcript.block(number);
        let is_picture = matches!(block.kind, BlockKind::Image | BlockKind::Document);
        let is_result = block.kind == BlockKind::Result;
        if is_picture && !self.writes_pictures()
            || scope == Scope::RoleContent && is_bare(block)
            || is_result && (block.images > 0 || block.documents > 0)
        {
            return None;
        }
        let lengths = lengths.of(transcript, number);
        let chars = match scope {
            Scope::HistoryRepr => lengths.python,
            _ => lengths.json,
        };
        Some(Size {
            measure: in_units(chars, unit),
            flat: self.flat(block),
        })
    }

    /// The size of a message besides its blocks: nothing, a role, or JSON braces.
    fn around(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> u64 {
        let count = conversation.blocks(message).len() as u64;
        let list = if is_whole(transcript, conversation, message) {
            0
        } else {
            2 + count.saturating_sub(1)
        };
        let role = message.role.name();
        match self.settings.scope {
            Scope::Content | Scope::Strings => 0,
            Scope::RoleContent => self.plain(role) + list * self.plain(","),
            Scope::MessageJson | Scope::HistoryJson if !message.object.is_empty() => {
                let line = conversation.first_line(message);
                let frame = json::frame(transcript.bytes(line, message.object));
                // The list that is a result's whole value has its brackets there.
                let blocks = conversation.blocks(message).iter();
                let is_list = |block: &Block| {
                    block.kind == BlockKind::Result
                        && transcript.bytes(block.line, block.value).starts_with(b"[")
                };
                let lists = blocks.filter(|b| is_list(transcript.block(**b))).count() as u64;
                (self.raw(&frame) + commas(transcript, conversation, message) * self.plain(","))
                    .saturating_sub(lists * self.raw(b"[]"))
            }
            Scope::MessageJson | Scope::HistoryJson => {
                self.plain(&format!("{{\"role\":\"{role}\",\"content\":}}"))
                    + list * self.plain(",")
            }
            // Such a message is counted as a whole: see `joined`.
            Scope::HistoryRepr => 0,
        }
    }

    /// The size of a message that is counted as a whole: tokens of JSON extend across quotes and brackets, so that the sum of its
    /// blocks would be about three tokens more for each block; and Python has separators of its own.
    fn joined(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
        lengths: &mut BlockLengths,
    ) -> Option<u64> {
        match (self.measure, self.settings.scope) {
            (_, Scope::HistoryRepr)
            | (Measure::Bpe(_), Scope::MessageJson | Scope::HistoryJson) => {}
            (Measure::Chars(_) | Measure::Classes, Scope::MessageJson | Scope::HistoryJson)
            | (_, Scope::Content | Scope::Strings | Scope::RoleContent) => return None,
        }
        if let (Measure::Chars(unit), Images::Written) = (self.measure, self.settings.images) {
            let lengths = printed(transcript, conversation, message, lengths);
            return Some(in_units(lengths.python, unit));
        }
        if !message.object.is_empty() {
            let line = conversation.first_line(message);
            let object = json::members(transcript.bytes(line, message.object));
            return Some(self.pictured(&object));
        }
        let is_string = is_whole(transcript, conversation, message);
        let role = message.role.name();
        let mut json = format!("{{\"role\":\"{role}\",\"content\":").into_bytes();
        if !is_string {
            json.push(b'[');
        }
        for (n, block) in conversation.blocks(message).iter().enumerate() {
            if n > 0 {
                json.push(b',');
            }
            let block = transcript.block(*block);
            let is_picture = matches!(block.kind, BlockKind::Image | BlockKind::Document);
            if !is_picture || self.writes_pictures() {
                json.extend(json::compact(transcript.bytes(block.line, block.value)));
            }
        }
        json.extend_from_slice(if is_string { b"}" } else { b"]}" });
        Some(self.pictured(&json))
    }

    /// Whether what is written of pictures counts.
    fn writes_pictures(&self) -> bool {
        match self.settings.images {
            Images::Flat => false,
            Images::Written => true,
        }
    }

    /// Whether what is written of the pictures in a result counts.
    fn writes_pictures_of(&self, result: &Block) -> bool {
        self.writes_pictures() && (result.images > 0 || result.documents > 0)
    }

    /// The size of compact JSON, of whose pictures only counts what the policy says.
    fn pictured(&self, json: &[u8]) -> u64 {
        match self.settings.images {
            Images::Flat => self.shown(&json::without_pictures(json)),
            Images::Written => self.shown(json),
        }
    }

    /// The size of compact JSON in the notation of the policy.
    fn shown(&self, json: &[u8]) -> u64 {
        match self.settings.scope {
            Scope::HistoryRepr => self.raw(&repr::of_json(json)),
            Scope::Content
            | Scope::MessageJson
            | Scope::HistoryJson
            | Scope::Strings
            | Scope::RoleContent => self.raw(json),
        }
    }

    /// The tokens of a window of `count` messages, given their total size and the sum of their tokens.
    fn window(&self, mut size: Size, tokens: u64, count: u64) -> u64 {
        match self.settings.per {
            Per::Message => tokens,
            Per::Conversation => {
                // The brackets of the list and what separates its elements.
                let (bracket, separator) = match self.settings.scope {
                    Scope::HistoryJson => (self.plain("["), self.plain(",")),
                    Scope::HistoryRepr => (self.plain("["), self.plain(", ")),
                    Scope::Content | Scope::MessageJson | Scope::Strings | Scope::RoleContent => {
                        (0, 0)
                    }
                };
                size.measure += 2 * bracket + separator * count.saturating_sub(1);
                self.tokens(size)
            }
        }
    }

    fn flat(&self, block: &Block) -> u32 {
        if self.writes_pictures() {
            return 0;
        }
        let (images, documents) = match block.kind {
            BlockKind::Image => (1, 0),
            BlockKind::Document => (0, 1),
            _ => (u64::from(block.images), u64::from(block.documents)),
        };
        let flat = images * self.settings.image_tokens + documents * self.settings.document_tokens;
        u32::try_from(flat).unwrap_or(u32::MAX)
    }

    fn texts(&self, transcript: &Transcript<'_>, block: &Block) -> u64 {
        let texts = transcript.texts(block).iter();
        let texts = texts.map(|text| self.written(*text, transcript.bytes(block.line, text.span)));
        self.header(transcript.header(block)) + texts.sum::<u64>()
    }

    /// The text before an output in its string.
    fn header(&self, raw: &[u8]) -> u64 {
        if raw.is_empty() {
            return 0;
        }
        self.raw(&unescape(raw))
    }

    /// The size of a JSON string, given without its quotes.
    fn written(&self, text: Text, raw: &[u8]) -> u64 {
        match self.measure {
            Measure::Chars(Unit::Scalar) => u64::from(text.scalars),
            Measure::Chars(Unit::Utf16) => text.utf16(),
            Measure::Classes => classes::written(raw),
            Measure::Bpe(bpe) => bpe.written(raw),
        }
    }

    /// The size of bytes that the model reads as they are: a tool's input is JSON for it too.
    fn raw(&self, raw: &[u8]) -> u64 {
        match self.measure {
            Measure::Chars(unit) => in_units(Chars::of(raw), unit),
            Measure::Classes => classes::plain(raw),
            Measure::Bpe(bpe) => bpe.plain(raw),
        }
    }

    fn plain(&self, text: &str) -> u64 {
        self.raw(text.as_bytes())
    }

    /// The size of a JSON value in the notation of the policy; in most, as `JSON.stringify` would write it: without spaces and
    /// unnecessary escapes.
    fn json(&self, raw: &[u8]) -> u64 {
        match (self.measure, self.settings.scope) {
            (Measure::Chars(unit), Scope::HistoryRepr) => in_units(Lengths::of(raw).python, unit),
            (Measure::Chars(unit), _) => in_units(Lengths::of(raw).json, unit),
            (Measure::Classes | Measure::Bpe(_), _) => self.shown(&json::compact(raw)),
        }
    }
}

/// How long a message would be that is written as a whole, with its pictures.
fn printed(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    known: &mut BlockLengths,
) -> Lengths {
    let blocks = conversation.blocks(message);
    if !message.object.is_empty() {
        let place = (conversation.first_line(message), message.object);
        return known.of_message(transcript, place, blocks);
    }
    let role = message.role.name();
    let mut lengths = Lengths::of(format!("{{\"role\":\"{role}\",\"content\":}}").as_bytes());
    if !is_whole(transcript, conversation, message) {
        lengths += Lengths::of(b"[]");
    }
    for (n, block) in blocks.iter().enumerate() {
        if n > 0 {
            lengths += Lengths::of(b",");
        }
        lengths += known.of(transcript, *block);
    }
    lengths
}

/// A length in the unit of an estimator.
fn in_units(chars: Chars, unit: Unit) -> u64 {
    match unit {
        Unit::Scalar => chars.scalars,
        Unit::Utf16 => chars.scalars + chars.astral,
    }
}

/// Whether a message's content is a single block, mostly a bare string, rather than a list of blocks.
fn is_whole(transcript: &Transcript<'_>, conversation: &Conversation, message: &Message) -> bool {
    let [block] = conversation.blocks(message) else {
        return false;
    };
    let block = transcript.block(*block);
    is_bare(block) || block.kind == BlockKind::Result && block.value == block.content
}

/// Whether a result counts where only strings do: it is a string, or its list of texts is the content of a message and not of a
/// block in it.
fn is_of_strings(result: &Block) -> bool {
    match result.shape {
        Shape::String => true,
        Shape::List => result.value == result.content,
        Shape::Parts | Shape::Absent | Shape::Other => false,
    }
}

/// Whether a block is a bare string.
fn is_bare(block: &Block) -> bool {
    let can_be = matches!(block.kind, BlockKind::Text | BlockKind::Result);
    can_be && block.shape == Shape::String && block.value == block.content
}

/// The commas between the blocks of a message that is one line: those of its content, and its calls.
fn commas(transcript: &Transcript<'_>, conversation: &Conversation, message: &Message) -> u64 {
    let (start, end) = (message.content.start, message.content.end());
    let is_in = |block: &&u32| {
        let value = transcript.block(**block).value;
        value.start > start && value.end() < end
    };
    let is_call = |block: &&u32| transcript.block(**block).kind == BlockKind::Call;
    let blocks = || conversation.blocks(message).iter();
    let between = |count: usize| count.saturating_sub(1) as u64;
    let calls = blocks().filter(|block| is_call(block) && !is_in(block));
    between(blocks().filter(is_in).count()) + between(calls.count())
}

#[cfg(test)]
mod tests;
