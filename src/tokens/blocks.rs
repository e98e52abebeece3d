//! The sizes of blocks, and of the results that replace others.
//!
//! Which parts of a block count depends on the policy's scope. The parts of a message around its blocks are measured in `messages`.

use super::{BlockLengths, Estimator, Measure, Size, in_units, json};
use crate::policy::{Images, Scope};
use crate::scan::{Span, unescape};
use crate::transcript::{Block, BlockKind, Shape, Transcript};

impl Estimator {
    /// The size of a result's content with the text `text`, written in `shape`.
    pub fn content(&self, text: &str, shape: Shape) -> Size {
        self.after(b"", text, shape)
    }

    /// The size of a result's content with the text `text` after its existing header.
    pub fn replaced(&self, transcript: &Transcript<'_>, result: &Block, text: &str) -> Size {
        let header = transcript.header(result);
        match self.settings.scope {
            // A list that is the content of a message, not of a result in it.
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

    /// The same with `header` before the text.
    fn after(&self, header: &[u8], text: &str, shape: Shape) -> Size {
        let list: &[u8] = match shape {
            Shape::List => br#"[{"type":"text","text":"#,
            Shape::Parts => br#"[{"type":"input_text","text":"#,
            Shape::String | Shape::Absent | Shape::Other => b"",
        };
        let measure = match self.settings.scope {
            Scope::Strings if !list.is_empty() => 0,
            Scope::Content | Scope::Strings => self.header(header) + self.plain(text),
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr | Scope::RoleContent => {
                let mut quoted = Vec::with_capacity(text.len() + 48);
                quoted.extend_from_slice(list);
                let start = quoted.len();
                crate::text::push_json_string(&mut quoted, text);
                quoted.splice(start + 1..start + 1, header.iter().copied());
                if !list.is_empty() {
                    quoted.extend_from_slice(b"}]");
                }
                self.json(&quoted)
            }
        };
        Size { measure, flat: 0 }
    }

    /// The size of a result's content, equal to that of [`Estimator::replaced`] for the same text.
    pub fn result(&self, transcript: &Transcript<'_>, block: &Block) -> Size {
        let content = || transcript.bytes(block.line, block.content);
        let measure = match self.settings.scope {
            Scope::Strings if !is_of_strings(block) => 0,
            Scope::Content if self.writes_pictures_of(block) => self.raw(content()),
            Scope::Content if block.others > 0 => self.pictured(&json::compact(content())),
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
                // Parts of unknown types count as they are written.
                BlockKind::Result if block.others > 0 => {
                    self.pictured(&json::compact(raw(block.content)))
                }
                BlockKind::Other => self.pictured(&json::compact(raw(block.value))),
                BlockKind::Document if !block.is_without_texts() => self.texts(transcript, block),
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
                BlockKind::Attachment if block.images > 0 || block.documents > 0 => {
                    self.pictured(raw(block.content))
                }
                BlockKind::Server | BlockKind::Attachment => self.raw(raw(block.content)),
                BlockKind::Image | BlockKind::Document | BlockKind::Redacted => 0,
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
                    BlockKind::Result | BlockKind::Attachment
                        if block.images > 0 || block.documents > 0 =>
                    {
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

    /// The size of a block that is counted as written, using the lengths computed so far; `None` for other blocks.
    pub(super) fn written_block(
        &self,
        transcript: &Transcript<'_>,
        number: u32,
        lengths: &mut BlockLengths,
    ) -> Option<Size> {
        let Measure::Chars(unit) = self.measure else {
            return None;
        };
        let scope = self.settings.scope;
        if scope.is_sum_of_blocks() {
            return None;
        }
        let block = transcript.block(number);
        let is_picture = matches!(block.kind, BlockKind::Image | BlockKind::Document);
        let may_have_pictures = matches!(block.kind, BlockKind::Result | BlockKind::Attachment);
        if is_picture && !self.writes_pictures()
            || scope == Scope::RoleContent && is_bare(block)
            || may_have_pictures && (block.images > 0 || block.documents > 0)
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

    /// Whether the written form of pictures counts.
    pub(super) fn writes_pictures(&self) -> bool {
        match self.settings.images {
            Images::Flat => false,
            Images::Written => true,
        }
    }

    /// Whether the written form of the pictures in a result counts.
    fn writes_pictures_of(&self, result: &Block) -> bool {
        self.writes_pictures() && (result.images > 0 || result.documents > 0)
    }

    pub(super) fn flat(&self, block: &Block) -> u32 {
        if self.writes_pictures() {
            return 0;
        }
        let (images, documents) = match block.kind {
            BlockKind::Image => (1, 0),
            BlockKind::Document => (0, u64::from(block.is_without_texts())),
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
}

/// Whether a result counts in a scope that only counts strings: it is a string, or its list of texts is the content of a message
/// rather than of a block in it.
fn is_of_strings(result: &Block) -> bool {
    match result.shape {
        Shape::String => true,
        Shape::List => result.value == result.content,
        Shape::Parts | Shape::Absent | Shape::Other => false,
    }
}

/// Whether a block is a bare string.
pub(super) fn is_bare(block: &Block) -> bool {
    let can_be = matches!(block.kind, BlockKind::Text | BlockKind::Result);
    can_be && block.shape == Shape::String && block.value == block.content
}
