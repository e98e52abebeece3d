//! Exact counts: byte-pair encoding with a published vocabulary.
//!
//! Special tokens are counted as plain text. A vocabulary is unpacked on first use, once per process.

use std::fmt;

use tiktoken::CoreBpe;

use crate::error::{Error, ErrorKind, Result};
use crate::policy::Encoding;
use crate::scan::unescape;

/// A vocabulary to count tokens with.
#[derive(Clone, Copy)]
pub(super) struct Bpe(&'static CoreBpe);

impl Bpe {
    /// Unpacks the vocabulary on the first call.
    pub(super) fn new(encoding: Encoding) -> Result<Self> {
        let name = encoding.name();
        let vocabulary = tiktoken::get_encoding(name).ok_or_else(|| {
            Error::new(
                ErrorKind::Config,
                format!("the vocabulary {name} is not built in"),
            )
            .hint("use tokens.method = \"classes\" or \"chars\"")
        })?;
        Ok(Bpe(vocabulary))
    }

    /// The tokens of UTF-8 text; an invalid sequence counts as the replacement character.
    pub(super) fn plain(self, text: &[u8]) -> u64 {
        self.0.count(&String::from_utf8_lossy(text)) as u64
    }

    /// The tokens of the text of a JSON string, given without its quotes.
    pub(super) fn written(self, raw: &[u8]) -> u64 {
        self.plain(&unescape(raw))
    }
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bpe")
            .field("size", &self.0.vocab_size())
            .finish()
    }
}
