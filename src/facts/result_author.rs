//! Who wrote a result's text: the agent, or the file or program that it shows.
//!
//! PURE. An agent may state in an output how a command ended; so may any file that the command prints. The author is known if the
//! agent flags or records the end elsewhere. Otherwise, results that show files and answers may be by either.

use std::borrow::Cow;

use super::exchanges::{Exchange, FactLocation};
use super::printers::prints_foreign_text;
use super::status::{Forms, ends, recorded, status_in};
use crate::policy::ToolKind;
use crate::transcript::{Outcome, Transcript};

/// The possible authors of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultAuthor {
    /// The agent's.
    Agents,
    /// The agent or the shown content: only a form that nothing else uses counts.
    Either,
    /// The shown content: the agent records the rest outside of the text.
    Shown,
}

impl ResultAuthor {
    /// The forms of a status that count in such a text.
    pub(super) fn forms(self) -> Option<Forms> {
        match self {
            ResultAuthor::Agents => Some(Forms::All),
            ResultAuthor::Either => Some(Forms::Unmistakable),
            ResultAuthor::Shown => None,
        }
    }
}

/// The text of a result, or its beginning and end, and its author: what the statements about a command's end are found in.
#[derive(Debug)]
pub(super) struct ResultText<'t> {
    pub(super) said: Cow<'t, str>,
    pub(super) whose: ResultAuthor,
}

impl<'t> ResultText<'t> {
    pub(super) fn of(
        transcript: &'t Transcript<'_>,
        call: &Exchange,
        result: FactLocation,
    ) -> Self {
        ResultText {
            said: ends(transcript, transcript.block(result.block)),
            whose: whose(transcript, call, result),
        }
    }

    /// The exit status that the agent gives in it.
    pub(super) fn status(&self, transcript: &Transcript<'_>, result: FactLocation) -> Option<i64> {
        let forms = self.whose.forms()?;
        status_in(
            transcript,
            transcript.block(result.block),
            &self.said,
            forms,
        )
    }
}

/// The exit status that the agent gives in the result of a command.
pub(super) fn status(
    transcript: &Transcript<'_>,
    call: &Exchange,
    result: FactLocation,
) -> Option<i64> {
    ResultText::of(transcript, call, result).status(transcript, result)
}

/// The author of the text in the result of a call.
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
        // Claude Code records a command this way if it succeeded, was stopped, or runs in the background.
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
