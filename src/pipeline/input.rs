//! The input of a pipeline: a transcript, and what the store has of it.

use std::collections::BTreeMap;

use crate::artifacts::InstructionSource;
use crate::format::Format;
use crate::scan::Strings;
use crate::store::{FOLDER, Store};
use crate::summarizer::extractive::Weights;
use crate::transcript::{Conversation, ConversationId};

/// One transcript.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, 's> {
    /// Its format.
    pub format: Format,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The long strings found in these bytes when the format was detected.
    pub strings: &'s Strings,
    /// The number (from 1) of its first line in its file.
    pub first_line: u64,
    /// Whether it is a whole file or one line of one.
    pub part: Part,
    /// What the store has of it.
    pub stored: Stored<'s>,
    /// Queried before a summary is written.
    pub instruction_source: Option<&'s dyn InstructionSource>,
    /// What the units of the built-in summary are worth.
    pub weights: &'s Weights,
}

/// What the store has of a transcript.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'s> {
    /// The store with the results that earlier runs moved out of it, if there is one.
    pub store: Option<&'s Store>,
    /// The name of the store's folder in texts.
    pub folder: &'s str,
    /// The path of its copy in the store, for summaries that contain it.
    pub archive: Option<&'s str>,
    /// The live tokens of its conversations before the first compaction, if known, keyed by their ids in a report.
    pub originals: Option<&'s BTreeMap<String, u64>>,
    /// Who asks for summaries: see [`ModelRequest::requester`](crate::artifacts::ModelRequest::requester).
    pub requester: Option<&'s str>,
}

impl Default for Stored<'_> {
    /// Nothing stored, and a store that would be next to the output.
    fn default() -> Self {
        Stored {
            store: None,
            folder: FOLDER,
            archive: None,
            originals: None,
            requester: None,
        }
    }
}

impl Input<'_, '_> {
    /// The id of a conversation in a report.
    pub(super) fn id_of(&self, conversation: &Conversation) -> String {
        self.part.id_of(conversation, self.first_line)
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

impl Part {
    /// The id of a conversation in a report.
    pub(super) fn id_of(self, conversation: &Conversation, first_line: u64) -> String {
        match self {
            Part::File => conversation.id.to_string(),
            Part::Line => ConversationId::Line(first_line).to_string(),
        }
    }
}
