//! Who wrote a result's text: the agent, or the file or program that it shows.
//!
//! PURE. An agent may say in an output how a command ended; so may any file that a command prints. Who has said it is known where
//! the agent flags or records an end elsewhere. Where it does not, what shows files and answers may be either's.

use super::exchanges::{Exchange, FactLocation};
use super::printers::prints_foreign_text;
use super::status::{Forms, ends, recorded, status_in};
use crate::policy::ToolKind;
use crate::transcript::{Outcome, Transcript};

/// Whose words they may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultAuthor {
    /// The agent's.
    Agents,
    /// The agent's, or those of what is shown: only a form that nothing else has counts.
    Either,
    /// Those of what is shown: the agent has said the rest beside them.
    Shown,
}

impl ResultAuthor {
    /// The forms of a status that count in them.
    pub(super) fn forms(self) -> Option<Forms> {
        match self {
            ResultAuthor::Agents => Some(Forms::All),
            ResultAuthor::Either => Some(Forms::Unmistakable),
            ResultAuthor::Shown => None,
        }
    }
}

/// The exit status that the agent gives in the result of a command.
pub(super) fn status(
    transcript: &Transcript<'_>,
    call: &Exchange,
    result: FactLocation,
) -> Option<i64> {
    let forms = whose(transcript, call, result).forms()?;
    let block = transcript.block(result.block);
    status_in(transcript, block, &ends(transcript, block), forms)
}

/// Whose the words of the result of a call are.
pub(super) fn whose(
    transcript: &Transcript<'_>,
    call: &Exchange,
    result: FactLocation,
) -> ResultAuthor {
    let block = transcript.block(result.block);
    // A header is a part that only the agent writes.
    if block.outcome == Outcome::Failed || block.header > 0 {
        return ResultAuthor::Agents;
    }
    match call.kind {
        // So does Claude Code record a command that succeeded, or that it has stopped or left to itself.
        ToolKind::Shell
            if recorded(transcript, result).is_some_and(|record| record.has(&["interrupted"])) =>
        {
            ResultAuthor::Shown
        }
        ToolKind::Shell => match call.input(transcript).command() {
            Some(command) if prints_foreign_text(&command) => ResultAuthor::Either,
            Some(_) | None => ResultAuthor::Agents,
        },
        ToolKind::Read | ToolKind::Search | ToolKind::Web => ResultAuthor::Either,
        ToolKind::Write | ToolKind::Edit | ToolKind::Other => ResultAuthor::Agents,
    }
}
