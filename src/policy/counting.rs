//! `[tokens]`: how a policy estimates tokens. Data only; the `tokens` module counts.

use super::choice::choice;
use super::key::table;

table! {
    /// How this policy estimates tokens. Usage that a provider recorded is reported and never decides anything.
    "tokens" Tokens {
        /// The estimator.
        ///
        /// The published systems count characters or BPE tokens; `classes` is our own.
        method: Method = Method::Classes;
        /// The vocabulary for `bpe`.
        encoding: Encoding = Encoding::O200kBase;
        /// What `chars` counts as one character.
        unit: Unit = Unit::Scalar;
        /// How many characters `chars` counts as one token.
        chars_per_token: f64 = 4.0, unit("characters");
        /// What happens to the fraction of a token.
        rounding: Rounding = Rounding::Floor;
        /// What is rounded at once.
        per: Per = Per::Message;
        /// Which parts of a message are counted.
        scope: Scope = Scope::Content;
        /// What images and documents count as.
        images: Images = Images::Flat;
        /// What an image counts as with `tokens.images = "flat"`, whatever its size. A number above 0 implies that setting.
        ///
        /// No published system has such a number.
        image_tokens: u64 = 1_600, unit("tokens"), implies("tokens.images", "flat");
        /// What a document without text counts as with `tokens.images = "flat"`. A number above 0 implies that setting, also for
        /// images.
        ///
        /// No published system has such a number.
        document_tokens: u64 = 3_000, unit("tokens"), implies("tokens.images", "flat");
    }
}

choice! {
    /// `tokens.method`: the estimator.
    Method {
        /// A fixed number of characters per token.
        Chars = "chars",
        /// Weights by class of character: letters, digits, CJK and so on.
        Classes = "classes",
        /// Byte-pair encoding with a published vocabulary.
        Bpe = "bpe",
    }
}

choice! {
    /// `tokens.encoding`: the vocabulary of byte-pair encoding.
    Encoding {
        /// 200 000 entries, used by newer models.
        O200kBase = "o200k_base",
        /// 100 000 entries, used by older models.
        Cl100kBase = "cl100k_base",
    }
}

choice! {
    /// `tokens.unit`: what one character is.
    Unit {
        /// A Unicode scalar value, as Python counts.
        Scalar = "scalar",
        /// A UTF-16 code unit, as JavaScript counts: two for a character outside the basic plane.
        Utf16 = "utf16",
    }
}

choice! {
    /// `tokens.rounding`: what happens to the fraction of a token.
    Rounding {
        /// It is dropped.
        Floor = "floor",
        /// It counts as a whole token.
        Ceil = "ceil",
    }
}

choice! {
    /// `tokens.per`: what is rounded at once.
    Per {
        /// Each message is rounded, then all are added.
        Message = "message",
        /// The sum over the conversation is rounded once.
        Conversation = "conversation",
    }
}

choice! {
    /// `tokens.scope`: which parts of a message are counted.
    Scope {
        /// All that the model reads: texts, tool names, inputs as written, texts of results.
        Content = "content",
        /// Each message as compact JSON.
        MessageJson = "message_json",
        /// The whole list of messages as compact JSON with non-ASCII characters as they are.
        HistoryJson = "history_json",
        /// The whole list of messages as Python prints it.
        HistoryRepr = "history_repr",
        /// String contents, texts of blocks and string contents of blocks; tool inputs and lists count nothing.
        Strings = "strings",
        /// Role and content; content that is not a string counts as compact JSON.
        RoleContent = "role_content",
    }
}

impl Scope {
    /// Whether a message counts what its blocks count, each measured by itself.
    pub fn is_sum_of_blocks(self) -> bool {
        match self {
            Scope::Content | Scope::Strings => true,
            Scope::MessageJson | Scope::HistoryJson | Scope::HistoryRepr | Scope::RoleContent => {
                false
            }
        }
    }
}

choice! {
    /// `tokens.images`: what images and documents count as.
    Images {
        /// A number of tokens each, near to what providers count.
        Flat = "flat",
        /// Their text as written, including base64, like any other part of a message.
        Written = "written",
    }
}
