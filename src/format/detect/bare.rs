//! Messages without an envelope: determines which of the formats that write such messages they belong to.

use super::evidence::{Evidence, Family, Lookalike};
use super::line::{Line, MESSAGE};
use super::message_shape::{Features, MessageShape};
use super::reason::{Kinds, add};
use crate::format::Format;

/// The evidence of a line that holds a whole conversation.
pub(super) fn conversation<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let (features, [by_openai, by_anthropic]) = line.messages?;
    let named = |name| Family::Named(name, Lookalike::Conversations);
    let family = if features.has(Features::AI_SDK) {
        named("ai-sdk")
    } else if features.has(Features::ANTHROPIC) || features.has(Features::PICTURES) {
        // A request logged by a proxy contains more than a conversation, and each request repeats most of the previous one.
        match line.is_request || features.has(Features::OPENAI) {
            true => named("anthropic requests"),
            false => Family::Exchanges,
        }
    } else {
        Family::Conversations
    };
    let unrecognised = match family {
        Family::Conversations => by_openai,
        Family::Exchanges => by_anthropic,
        // The name already tells how these are written; naming unrecognised blocks would add nothing.
        Family::Of(_) | Family::Bare | Family::Named(..) => None,
    };
    Some(Evidence {
        features,
        ..Evidence::message(family, unrecognised)
    })
}

/// The evidence of a line that holds a message.
pub(super) fn message<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let says = &line.own;
    if !says.is_message() || line.has(MESSAGE) {
        return None;
    }
    let mut evidence = Evidence::message(Family::Bare, None);
    evidence.features = says.features();
    if line.kind == b"message" {
        evidence.features.insert(Features::ITEM);
    }
    Some(evidence)
}

/// The messages of a file that have no envelope.
#[derive(Debug, Default)]
pub(super) struct Bare {
    pub(super) messages: u64,
    /// How many of them are items of the Responses API, as far as their lines show.
    pub(super) items: u64,
    anthropic: u64,
    openai: u64,
    ai_sdk: u64,
    pictures: u64,
    system: u64,
    /// Whether the first message is an answer.
    begins_with_answer: bool,
    /// What the reader of each format does not understand in them.
    pub(super) unrecognised: [Kinds; Format::ALL.len()],
}

impl Bare {
    /// Counts a message, and what the readers of its candidate formats do not understand in it.
    pub(super) fn add(&mut self, features: Features, says: &MessageShape<'_>) {
        self.begins_with_answer |= self.messages == 0 && says.role == b"assistant";
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
        let counted = self.counted();
        let all: u64 = counted.iter().map(|(_, n)| n).sum();
        for (format, n) in counted {
            if n == all {
                self.read_as(format, says);
            }
        }
        // A format with an envelope has messages without one only if all of them are items.
        if self.messages == self.items {
            let formats = Format::ALL.into_iter();
            let formats = formats.filter(|format| format.dialect().writes_bare_items());
            formats.for_each(|format| self.read_as(format, says));
        }
    }

    /// Adds messages that follow, all of which the readers of their candidate formats understand.
    pub(super) fn append(&mut self, later: &Bare) {
        self.begins_with_answer |= self.messages == 0 && later.begins_with_answer;
        self.messages += later.messages;
        self.items += later.items;
        self.anthropic += later.anthropic;
        self.openai += later.openai;
        self.ai_sdk += later.ai_sdk;
        self.pictures += later.pictures;
        self.system += later.system;
    }

    /// Counts what the reader of a format does not understand in a message.
    fn read_as(&mut self, format: Format, says: &MessageShape<'_>) {
        if let Some(unrecognised) = says.unrecognised(format) {
            add(&mut self.unrecognised[format as usize], unrecognised);
        }
    }

    /// The format of these messages, if they are of one format.
    pub(super) fn format(&self) -> Option<Format> {
        match (self.anthropic > 0, self.openai > 0, self.ai_sdk > 0) {
            (true, false, false) => Some(Format::Anthropic),
            (false, true, false) => Some(Format::OpenAi),
            (false, false, true) => Some(Format::AiSdk),
            (false, false, false) if self.pictures > 0 => Some(Format::Anthropic),
            // Anthropic's system prompt is not a message; a line for it means OpenAI, unless blocks indicate otherwise.
            (false, false, false) if self.system > 0 => Some(Format::OpenAi),
            // Anthropic's API refuses a conversation that begins with an answer.
            (false, false, false) if self.begins_with_answer => Some(Format::OpenAi),
            (false, false, false) => Some(Format::Anthropic),
            (_, _, _) => None,
        }
    }

    /// The formats whose messages have no envelope, each with the number of messages that can only be of that format.
    fn counted(&self) -> [(Format, u64); 3] {
        [
            (Format::Anthropic, self.anthropic),
            (Format::OpenAi, self.openai),
            (Format::AiSdk, self.ai_sdk),
        ]
    }

    /// The formats found among these messages, each with its number of messages.
    pub(super) fn formats(&self) -> Vec<(&'static str, u64)> {
        let counted = self.counted().into_iter();
        let counted = counted.filter(|(_, messages)| *messages > 0);
        counted.map(|(format, n)| (format.name(), n)).collect()
    }
}
