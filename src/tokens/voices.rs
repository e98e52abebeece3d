//! The tokens of a live window by who said what.
//!
//! Every token of the window is counted once, so that the parts add up to it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{Growing, Sizes, split};
use crate::transcript::{BlockKind, Conversation, Role, Transcript};

/// Who said a part of a message, for counting: results and attachments are in user messages but are not the user's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Voice {
    /// The system prompt or a developer.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    ToolResult,
    /// What the agent attached.
    Attachment,
}

impl Voice {
    /// All of them, in the order of reports.
    pub const ALL: [Voice; 5] = [
        Voice::System,
        Voice::User,
        Voice::Assistant,
        Voice::ToolResult,
        Voice::Attachment,
    ];

    /// Who said a block of that kind in a message of that role.
    pub fn of(kind: BlockKind, role: Role) -> Self {
        match (kind, role) {
            (BlockKind::Attachment, _) => Voice::Attachment,
            (BlockKind::Result, _) | (_, Role::Tool) => Voice::ToolResult,
            (_, Role::System) => Voice::System,
            (_, Role::User) => Voice::User,
            (_, Role::Assistant) => Voice::Assistant,
        }
    }

    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Voice::System => "system",
            Voice::User => "user",
            Voice::Assistant => "assistant",
            Voice::ToolResult => "tool_result",
            Voice::Attachment => "attachment",
        }
    }
}

/// Tokens by who said them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Voices([u64; Voice::ALL.len()]);

impl Voices {
    /// The tokens of one voice.
    pub fn of(&self, voice: Voice) -> u64 {
        self.0[voice as usize]
    }

    /// The tokens of all voices.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl AddAssign<(Voice, u64)> for Voices {
    fn add_assign(&mut self, (voice, tokens): (Voice, u64)) {
        self.0[voice as usize] += tokens;
    }
}

impl Sizes {
    /// The tokens of a live window by who said them: they add up to [`Sizes::conversation`], if it has messages. If several voices
    /// share a message, the tokens that it adds to the window are divided in proportion to their blocks; only such blocks are
    /// measured.
    pub fn voices(&mut self, transcript: &Transcript<'_>, conversation: &Conversation) -> Voices {
        let mut voices = Voices::default();
        let mut growing = Growing::default();
        let mut before = 0;
        let mut weights = Vec::new();
        for message in &conversation.messages {
            let size = self.message(transcript, conversation, message);
            self.estimator().add(&mut growing, size);
            let window = self.estimator().grown(growing);
            let added = window - before;
            before = window;
            let blocks = conversation.blocks(message);
            let voice = |block: &u32| Voice::of(transcript.block(*block).kind, message.role);
            let mut others = blocks.iter().map(voice);
            let without = Voice::of(BlockKind::Other, message.role);
            let first = others.next().unwrap_or(without);
            if others.all(|other| other == first) {
                voices += (first, added);
                continue;
            }
            weights.clear();
            for block in blocks {
                let size = self.block(transcript, *block);
                weights.push(self.estimator().tokens(size));
            }
            for (block, tokens) in blocks.iter().zip(split(added, &weights)) {
                voices += (voice(block), tokens);
            }
        }
        voices
    }
}
