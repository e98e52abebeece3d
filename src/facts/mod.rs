//! Facts of a conversation: files, commands, failures, decisions, to-dos.
//!
//! PURE. Each fact records its location in the transcript, so that anything derived from it can be traced to a line. Facts are
//! computed on demand and never guessed: only what a call's input or result states is a fact. Never reads the disk.

mod activity;
mod answers;
mod answers_of_several;
mod asked;
mod attached;
mod background;
mod cell_calls;
mod code_mode;
mod commands;
mod coverage;
mod decisions;
mod earlier;
mod error_lines;
mod events;
mod exchanges;
mod exit;
mod failures;
mod file_effects;
mod file_history;
mod files;
mod hints;
mod input;
mod known;
mod later_reads;
mod lines;
mod measured;
mod notices;
mod numbered;
mod operation;
mod outcome;
mod patch;
mod path;
mod path_scope;
mod pictures;
mod placeholders;
mod plan_answer;
mod possible_changes;
mod postings;
mod printers;
mod queued;
mod reads;
mod refused;
mod result_author;
mod script;
mod service;
mod shape;
mod shell;
mod skills;
mod stance;
mod stated_end;
mod status;
mod todos;
mod tools;
mod understood;
mod user_commands;

use std::borrow::Cow;

use crate::scan::decoded;
use crate::transcript::{Block, Transcript};

pub use activity::Activity;
pub use asked::{Asked, agent_request_kind, asked_for};
pub use background::{Ending, endings};
pub use cell_calls::calls;
pub use commands::{Command, commands, names_its_folder};
pub use coverage::{Coverage, NotUnderstood, UnrecognizedCalls, coverage, missed};
pub use decisions::{Decision, decisions, sentences};
pub use earlier::{Earlier, MessageOrigin, is_restored_header, note_of_original};
pub use error_lines::is_error_message;
pub use exchanges::{Exchange, FactLocation, TellingLocation, exchanges};
pub use exit::CommandStatus;
pub use failures::{Failure, failed_results, failures};
pub use file_history::File;
pub use files::{files, with_attached};
pub use known::{Known, WorkBudget};
pub use later_reads::LaterReads;
pub use lines::Lines;
pub use operation::{Content, Done, FileAction, Occurrences, Operation, Replacement};
pub use path::{folder, is_relative, spelled};
pub use path_scope::UnmatchedOperation;
pub use pictures::{Picture, describes_pictures, picture, queued_pictures};
pub use placeholders::Placeholders;
pub use possible_changes::{PossibleChange, possible_changes};
pub use queued::{queued, queued_on};
pub use reads::{Read, Shown, reads};
pub use shell::output;
pub use skills::{Skill, skills};
pub use stance::{corrects, decides, decides_or_leaves_open, leaves_open, refuses, takes_back};
pub use todos::{
    Author, ChangeSource, Proposal, Reach, StateChange, TaskChange, Todo, TodoState, Todos,
    last_todos, listed, proposal, todos, writes_list,
};
pub use tools::{kind_of, kind_of_call};
pub use user_commands::commands_of_user;

/// The texts of a block, separated by line breaks. Invalid UTF-8 is replaced.
pub fn block_text<'t>(transcript: &'t Transcript<'_>, result: &Block) -> Cow<'t, str> {
    transcript.block_text(result)
}

/// The first characters of a result's text, without leading blanks. Reads no more than it must.
pub fn beginning<'t>(
    transcript: &'t Transcript<'_>,
    result: &Block,
    characters: usize,
) -> Cow<'t, str> {
    /// The length of the longest escape that a cut may go through, in characters.
    const ESCAPE: usize = 12;
    // So many bytes are enough unless every other one belongs to an escape or to a longer character.
    let mut most = 2 * characters + 64;
    if let [text] = transcript.texts(result) {
        let raw = transcript.bytes(result.line, text.span);
        while let Some((start, _)) = raw.split_at_checked(most) {
            let start = decoded(start);
            let mut last = start.trim_start().chars().skip(characters + ESCAPE - 1);
            if last.next().is_some() {
                return first(start, characters);
            }
            most *= 4;
        }
    }
    first(block_text(transcript, result), characters)
}

/// The first characters of a text, without leading blanks.
fn first(text: Cow<'_, str>, characters: usize) -> Cow<'_, str> {
    fn of(text: &str, characters: usize) -> &str {
        let text = text.trim_start();
        let end = text.char_indices().nth(characters);
        end.map_or(text, |(end, _)| &text[..end])
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(of(text, characters)),
        Cow::Owned(text) => match of(&text, characters) {
            all if all.len() == text.len() => Cow::Owned(text),
            some => Cow::Owned(some.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests;
