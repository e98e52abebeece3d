//! An agent's calls and the files they name, collected once per conversation.
//!
//! PURE. Adds no fact of its own.

use std::ops::Range;

use super::answers::answers;
use super::cell_calls::calls;
use super::exchanges::Exchange;
use super::file_history::File;
use super::files::files_and_unmatched;
use super::operation::Operation;
use super::path_scope::UnmatchedOperation;
use crate::ids::IdMap;
use crate::policy::Tools;
use crate::transcript::{Conversation, Transcript};

/// The calls of a conversation and the files that they name.
#[derive(Debug)]
pub struct Activity {
    /// The calls, in the order of the conversation.
    pub calls: Vec<Exchange>,
    /// The files, in the order in which they were first named.
    pub files: Vec<File>,
    /// What commands did to files that nothing had named before.
    pub unmatched: Vec<UnmatchedOperation>,
    /// What the user said through tools, keyed by the block of the result that contains it.
    pub answers: IdMap<u32, String>,
}

impl Activity {
    /// Collects the calls and files of a conversation. `added` holds the policy's additional tool names.
    pub fn of(transcript: &Transcript<'_>, conversation: &Conversation, added: &Tools) -> Activity {
        let calls = calls(transcript, conversation, added);
        let (files, unmatched) = files_and_unmatched(transcript, &calls);
        let answers = answers(transcript, &calls);
        Activity {
            calls,
            files,
            unmatched,
            answers,
        }
    }

    /// The files that the calls of these messages name, with only the operations of these calls: later calls have no effect.
    pub fn files_of(&self, messages: Range<usize>) -> Vec<File> {
        let is_of = |operation: &&Operation| messages.contains(&(operation.call.message as usize));
        let part = |file: &File| {
            let operations = file.operations.iter().filter(is_of);
            let operations: Vec<Operation> = operations.cloned().collect();
            (!operations.is_empty()).then(|| File {
                path: file.path.clone(),
                operations,
            })
        };
        self.files.iter().filter_map(part).collect()
    }
}
