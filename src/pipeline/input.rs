//! A transcript as it comes in, and where things of it are kept.

use std::collections::BTreeMap;

use crate::format::Format;
use crate::store::Store;
use crate::transcript::{Conversation, ConversationId};

/// One transcript as it comes in.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, 's> {
    /// How to read it.
    pub format: Format,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The number (from 1) of its first line in its file.
    pub first_line: u64,
    /// Whether it is a whole file or one line of one.
    pub part: Part,
    /// Where things of it are kept.
    pub place: Place<'s>,
}

/// Where things of a transcript are kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'s> {
    /// What holds the results that earlier runs have taken out of it, if there is one.
    pub store: Option<&'s Store>,
    /// The name that its original has there, for summaries that name it.
    pub archive: Option<&'s str>,
    /// The live tokens of its conversations before anything was compacted, by their ids in a report, where that is known.
    pub originals: Option<&'s BTreeMap<String, u64>>,
}

impl Input<'_, '_> {
    /// The id of a conversation in a report.
    pub(super) fn id_of(&self, conversation: &Conversation) -> String {
        match self.part {
            Part::File => conversation.id.to_string(),
            Part::Line => ConversationId::Line(self.first_line).to_string(),
        }
    }
}

/// Whether a transcript is a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole file.
    File,
    /// A line of a conversation-per-line file.
    Line,
}
