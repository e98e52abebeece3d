//! What happened in a conversation, as data: its files, its commands, what went wrong, what was decided, what is to be done.
//!
//! PURE. A fact says where it stands, so that everything built on it can be traced to its line. Nothing is computed
//! before somebody asks, and nothing is guessed: what a call's input or its result does not say is no fact. No disk is
//! looked at: the files are those of the transcript.

mod asked;
mod attached;
mod commands;
mod decisions;
mod earlier;
mod exchanges;
mod failures;
mod files;
mod input;
mod later_reads;
mod lines;
mod numbered;
mod operation;
mod patch;
mod path;
mod pictures;
mod reads;
mod refused;
mod shell;
mod skills;
mod todos;
mod tools;

use std::borrow::Cow;

use crate::scan::unescape;
use crate::text::lossy;
use crate::transcript::{Block, Transcript};

pub use asked::{Asked, asked_for, request};
pub use commands::{Command, Exit, commands};
pub use decisions::{Decision, decides, decisions, sentences};
pub use earlier::{Earlier, MessageOrigin, is_put_back, note_of_original};
pub use exchanges::{Exchange, Place, exchanges};
pub use failures::{Failure, failures};
pub use files::{Effort, File, Known, files, with_attached};
pub use later_reads::LaterReads;
pub use lines::Lines;
pub use operation::{At, Content, Done, Operation, Replacement, What};
pub use path::{folder, is_relative, spelled};
pub use pictures::{Picture, is_told_picture, picture};
pub use reads::{Read, Shown, reads};
pub use skills::{Skill, skills};
pub use todos::{Proposal, Todo, TodoState, Todos, proposal, todos};
pub use tools::kind_of;

/// What the texts of a result say, a line each where there are several; what is no UTF-8 is replaced.
pub fn said<'t>(transcript: &'t Transcript<'_>, result: &Block) -> Cow<'t, str> {
    transcript.said(result)
}

/// The first characters of what a result says, from the first one that is no blank; reads no more than it has to.
fn beginning(transcript: &Transcript<'_>, result: &Block, characters: usize) -> String {
    /// So many bytes at first, and so many characters may an escape be that this cuts.
    const FIRST: usize = 256;
    const ESCAPE: usize = 12;
    let first = |said: &str| said.trim_start().chars().take(characters).collect();
    if let [text] = transcript.texts(result)
        && let Some((start, _)) = transcript
            .bytes(result.line, text.span)
            .split_at_checked(FIRST)
    {
        let start = lossy(unescape(start));
        if start.trim_start().chars().count() >= characters + ESCAPE {
            return first(&start);
        }
    }
    first(&said(transcript, result))
}

#[cfg(test)]
mod tests;
