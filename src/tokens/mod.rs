//! How many tokens: estimates of what a model would be billed for.
//!
//! An [`Estimator`] follows a policy's `[tokens]`. It measures in the method's own unit (characters, weights) and rounds
//! where the policy says, so that sums agree with the systems that the presets describe. [`Sizes`] keeps the measure of
//! every live block, so that an edit costs only its own line's texts again.
//!
//! Recorded usage never decides: it goes stale with the first edit.

mod classes;
mod json;
mod usage;

use std::iter::Sum;
use std::ops::AddAssign;

use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Method, Per, Rounding, Scope, Tokens, Unit};
use crate::scan::{Span, Text};
use crate::transcript::{Block, BlockKind, Conversation, Message, Shape, Transcript};

pub use usage::{Usage, usage};

/// A measure before rounding, in the estimator's unit, and the flat tokens of what has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size {
    /// Characters (`chars`) or ten-thousandths of a token (`classes`).
    measure: u64,
    /// Tokens of pictures and documents.
    flat: u32,
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

/// Counts as one policy does.
#[derive(Debug, Clone)]
pub struct Estimator {
    settings: Tokens,
}

impl Estimator {
    /// An estimator for a policy's `[tokens]`.
    ///
    /// # Errors
    /// Where the method is not built in.
    pub fn new(settings: &Tokens) -> Result<Self> {
        if settings.method == Method::Bpe {
            return Err(Error::new(
                ErrorKind::Config,
                "exact token counts (tokens.method = \"bpe\") are not built in",
            )
            .hint("use tokens.method = \"classes\" or \"chars\""));
        }
        Ok(Estimator {
            settings: settings.clone(),
        })
    }

    /// The estimator's name in a report.
    pub fn name(&self) -> &'static str {
        self.settings.method.name()
    }

    /// Whole tokens of a size.
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

    /// The size that a result's content would have if it said `text`, written in `shape`.
    pub fn content(&self, text: &str, shape: Shape) -> Size {
        let mut quoted = Vec::with_capacity(text.len() + 48);
        let list = shape == Shape::List;
        if list {
            quoted.extend_from_slice(br#"[{"type":"text","text":"#);
        }
        crate::text::push_json_string(&mut quoted, text);
        if list {
            quoted.extend_from_slice(b"}]");
        }
        let measure = match self.settings.scope {
            Scope::Strings if list => 0,
            Scope::Content | Scope::Strings => self.plain(text),
            Scope::MessageJson | Scope::HistoryJson | Scope::RoleContent => self.json(&quoted),
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

    /// The size of a result's content, as [`Estimator::content`] would give it for the same words.
    pub fn result(&self, transcript: &Transcript<'_>, block: &Block) -> Size {
        let measure = match self.settings.scope {
            Scope::Strings if block.shape != Shape::String => 0,
            Scope::Content | Scope::Strings => self.texts(transcript, block),
            Scope::MessageJson | Scope::HistoryJson | Scope::RoleContent => {
                self.json(transcript.bytes(block.line, block.content))
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
                BlockKind::Text | BlockKind::Thinking | BlockKind::Result => {
                    self.texts(transcript, block)
                }
                BlockKind::Call => {
                    let input = match block.shape {
                        Shape::String => self.texts(transcript, block),
                        Shape::List | Shape::Absent | Shape::Other => self.raw(raw(block.content)),
                    };
                    input + self.raw(raw(block.tool))
                }
                BlockKind::Server | BlockKind::Attachment => self.raw(raw(block.content)),
                BlockKind::Image | BlockKind::Document | BlockKind::Redacted | BlockKind::Other => {
                    0
                }
            },
            Scope::Strings => match (block.kind, block.shape) {
                (BlockKind::Text, _) | (BlockKind::Result, Shape::String) => {
                    self.texts(transcript, block)
                }
                _ => 0,
            },
            Scope::MessageJson | Scope::HistoryJson | Scope::RoleContent => match block.kind {
                BlockKind::Image | BlockKind::Document => 0,
                _ => self.json(raw(block.value)),
            },
        };
        Size {
            measure,
            flat: self.flat(block),
        }
    }

    /// What a message has besides its blocks: nothing, a role, or the braces of JSON.
    fn around(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> u64 {
        let blocks = conversation.blocks(message);
        let count = blocks.len() as u64;
        let bare = |b: &u32| {
            let block = transcript.block(*b);
            block.kind == BlockKind::Text
                && block.shape == Shape::String
                && block.value == block.content
        };
        let is_string = blocks.len() == 1 && blocks.iter().all(bare);
        let list = if is_string {
            0
        } else {
            2 + count.saturating_sub(1)
        };
        let role = message.role.name();
        match self.settings.scope {
            Scope::Content | Scope::Strings => 0,
            Scope::RoleContent => self.plain(role) + list * self.plain(","),
            Scope::MessageJson | Scope::HistoryJson => {
                self.plain(&format!("{{\"role\":\"{role}\",\"content\":}}"))
                    + list * self.plain(",")
            }
        }
    }

    fn flat(&self, block: &Block) -> u32 {
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
        texts
            .map(|text| self.written(*text, transcript.bytes(block.line, text.span)))
            .sum()
    }

    /// A JSON string, given by what stands between its quotes.
    fn written(&self, text: Text, raw: &[u8]) -> u64 {
        match (self.settings.method, self.settings.unit) {
            (Method::Chars, Unit::Scalar) => u64::from(text.scalars),
            (Method::Chars, Unit::Utf16) => text.utf16(),
            (Method::Classes | Method::Bpe, _) => classes::written(raw),
        }
    }

    /// Bytes that the model reads as they stand: a tool's input is JSON to it, too.
    fn raw(&self, raw: &[u8]) -> u64 {
        match (self.settings.method, self.settings.unit) {
            (Method::Chars, Unit::Scalar) => json::scalars(raw),
            (Method::Chars, Unit::Utf16) => json::scalars(raw) + json::astral(raw),
            (Method::Classes | Method::Bpe, _) => classes::plain(raw),
        }
    }

    fn plain(&self, text: &str) -> u64 {
        self.raw(text.as_bytes())
    }

    /// A JSON value as `JSON.stringify` would write it: no spaces, nothing escaped that need not be.
    fn json(&self, raw: &[u8]) -> u64 {
        self.raw(&json::compact(raw))
    }
}

/// The sizes of the blocks of a transcript, each measured once.
#[derive(Debug)]
pub struct Sizes {
    estimator: Estimator,
    blocks: Vec<Option<Size>>,
}

impl Sizes {
    /// Nothing measured yet.
    pub fn new(estimator: Estimator) -> Self {
        Sizes {
            estimator,
            blocks: Vec::new(),
        }
    }

    /// The estimator.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The size of a block.
    pub fn block(&mut self, transcript: &Transcript<'_>, block: u32) -> Size {
        if self.blocks.len() < transcript.block_count() {
            self.blocks.resize(transcript.block_count(), None);
        }
        let estimator = &self.estimator;
        *self.blocks[block as usize]
            .get_or_insert_with(|| estimator.block(transcript, transcript.block(block)))
    }

    /// The size of a message.
    pub fn message(
        &mut self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> Size {
        let mut size = Size {
            measure: self.estimator.around(transcript, conversation, message),
            flat: 0,
        };
        for block in conversation.blocks(message) {
            size += self.block(transcript, *block);
        }
        size
    }

    /// The tokens of a live window.
    pub fn conversation(
        &mut self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> u64 {
        let count = conversation.messages.len() as u64;
        let mut sum = Size::default();
        let mut tokens = 0;
        for message in &conversation.messages {
            let size = self.message(transcript, conversation, message);
            sum += size;
            tokens += self.estimator.tokens(size);
        }
        match self.estimator.settings.per {
            Per::Message => tokens,
            Per::Conversation => {
                if self.estimator.settings.scope == Scope::HistoryJson {
                    // The brackets of the list and the commas in it.
                    sum.measure += self.estimator.plain(",") * (2 + count.saturating_sub(1));
                }
                self.estimator.tokens(sum)
            }
        }
    }
}

#[cfg(test)]
mod tests;
