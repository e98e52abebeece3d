//! `[tokens]`: how a policy counts. Data only; the counting itself is the tokens room's.
//!
//! What a provider recorded is reported elsewhere and never decides.

use serde::{Deserialize, Serialize};

use super::choice::choice;

/// `[tokens]`: how this policy counts tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// The estimator. The published systems count characters or BPE tokens; `classes` is ours.
    pub method: Method,
    /// The vocabulary. Read by [`Method::Bpe`] only.
    pub encoding: Encoding,
    /// What one character is. Read by [`Method::Chars`] only.
    pub unit: Unit,
    /// Characters for one token, above 0. Read by [`Method::Chars`] only.
    ///
    /// 4 in most systems; 3 is "n / 4 × 4/3", a safety margin of a third.
    pub chars_per_token: f64,
    /// Where the fraction of a token goes.
    pub rounding: Rounding,
    /// What is rounded at once.
    pub per: Per,
    /// Which part of a message counts.
    pub scope: Scope,
    /// Tokens of one image, in every method; its base64 is never counted. No system behind it.
    pub image_tokens: u64,
    /// Tokens of one document without text, in every method. No system behind it.
    pub document_tokens: u64,
}

choice! {
    /// `tokens.method`: the estimator.
    Method {
        /// A number of characters is one token.
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
        /// 200 000 entries, of the newer models.
        O200kBase = "o200k_base",
        /// 100 000 entries, of the older ones.
        Cl100kBase = "cl100k_base",
    }
}

choice! {
    /// `tokens.unit`: what one character is.
    Unit {
        /// A Unicode scalar value, as Python counts.
        Scalar = "scalar",
        /// A UTF-16 code unit, as JavaScript counts: two for what lies outside the basic plane.
        Utf16 = "utf16",
    }
}

choice! {
    /// `tokens.rounding`: where the fraction of a token goes.
    Rounding {
        /// Dropped.
        Floor = "floor",
        /// Counted as a whole token.
        Ceil = "ceil",
    }
}

choice! {
    /// `tokens.per`: what is rounded at once.
    Per {
        /// Each message is rounded, then all are added.
        Message = "message",
        /// The sum of the conversation is rounded once.
        Conversation = "conversation",
    }
}

choice! {
    /// `tokens.scope`: which part of a message counts.
    Scope {
        /// All that the model reads: texts, tool names and inputs as they stand, result texts.
        Content = "content",
        /// Each message as compact JSON.
        MessageJson = "message_json",
        /// The whole list of messages as compact JSON, non-ASCII as it stands.
        HistoryJson = "history_json",
        /// String contents, texts of blocks, string contents of blocks; no tool inputs, and lists count nothing.
        Strings = "strings",
        /// Role and content; a content that is no string as compact JSON.
        RoleContent = "role_content",
    }
}
