//! Messages without an envelope: which of the formats that write them they are of.

use super::line::{Line, MESSAGE};
use super::message_shape::Features;
use super::reason::{Kinds, add};
use super::sign::{Evidence, Family, Lookalike};
use crate::format::Format;

/// The sign of a whole conversation.
pub(super) fn conversation<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let (features, unrecognised) = line.messages?;
    let named = |name| Family::Named(name, Lookalike::Conversations);
    let family = if features.has(Features::AI_SDK) {
        named("ai-sdk")
    } else if features.has(Features::ANTHROPIC) || features.has(Features::PICTURES) {
        named("anthropic requests")
    } else {
        Family::Conversations
    };
    // The name tells what these are written like; which of their blocks are foreign says nothing more.
    let unrecognised = unrecognised.filter(|_| family == Family::Conversations);
    Some(Evidence::message(family, unrecognised))
}

/// The sign of a message.
pub(super) fn message<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let says = &line.own;
    if !says.is_message() || line.has(MESSAGE) {
        return None;
    }
    let mut sign = Evidence::message(Family::Bare, None);
    sign.features = says.features();
    if line.kind == b"message" {
        sign.features.insert(Features::ITEM);
    }
    sign.unrecognised_by = Format::ALL.map(|format| says.unrecognised(format));
    Some(sign)
}

/// The messages without an envelope of a file.
#[derive(Debug, Default)]
pub(super) struct Bare {
    pub(super) messages: u64,
    /// Of these the items of the Responses API, as far as the line tells.
    pub(super) items: u64,
    anthropic: u64,
    openai: u64,
    ai_sdk: u64,
    pictures: u64,
    system: u64,
    /// What the reader of each format does not understand.
    pub(super) unrecognised: [Kinds; Format::ALL.len()],
}

impl Bare {
    /// Counts a message.
    pub(super) fn add(&mut self, sign: &Evidence<'_>) {
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
        for format in Format::ALL {
            // One with an envelope has messages without it only where all of them are items.
            let dialect = format.dialect();
            let may_be_its = dialect.every_message_is_live()
                || dialect.writes_bare_items() && self.messages == self.items;
            let unrecognised = sign.unrecognised_by[format as usize];
            if let Some(unrecognised) = unrecognised.filter(|_| may_be_its) {
                add(&mut self.unrecognised[format as usize], unrecognised);
            }
        }
    }

    /// The format that these messages are of, if it is one.
    pub(super) fn format(&self) -> Option<Format> {
        match (self.anthropic > 0, self.openai > 0, self.ai_sdk > 0) {
            (true, false, false) => Some(Format::Anthropic),
            (false, true, false) => Some(Format::OpenAi),
            (false, false, true) => Some(Format::AiSdk),
            (false, false, false) if self.pictures > 0 => Some(Format::Anthropic),
            // Anthropic's system prompt is no message; a line for it is OpenAI's way, unless blocks say otherwise.
            (false, false, false) if self.system > 0 => Some(Format::OpenAi),
            (false, false, false) => Some(Format::Anthropic),
            (_, _, _) => None,
        }
    }

    /// The formats that have messages among these, with their number.
    pub(super) fn formats(&self) -> Vec<(&'static str, u64)> {
        let counted = [
            (Format::Anthropic, self.anthropic),
            (Format::OpenAi, self.openai),
            (Format::AiSdk, self.ai_sdk),
        ];
        let counted = counted.into_iter().filter(|(_, messages)| *messages > 0);
        counted.map(|(format, n)| (format.name(), n)).collect()
    }
}
