//! What the result of a command states of its end, and in which order the places count that may state it.
//!
//! PURE. Weighs nothing that is not stated: what follows from a result without a statement is for others to say.

use super::background::{ended, name_told};
use super::exchanges::{Exchange, FactLocation};
use super::exit::CommandStatus;
use super::refused::was_refused;
use super::result_author::{ResultAuthor, ResultText};
use super::status::{End, ended_without_status, recorded, unwrapped};
use crate::transcript::{Outcome, Transcript};

/// What is stated of the end of a command that has a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedEnd {
    /// The user did not let the agent run it.
    Refused,
    /// It was stopped from outside.
    Interrupted,
    /// A later result, a notice or an event tells how it ended or goes on.
    Later(CommandStatus),
    /// It went on when its result was written.
    Running,
    /// It had this status.
    Code(i64),
    Nothing,
}

/// What is stated of the end of a command, by the first of the places that states something.
pub(super) fn stated_end(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
    result: FactLocation,
    text: &ResultText<'_>,
) -> StatedEnd {
    if was_refused(transcript, exchange) {
        return StatedEnd::Refused;
    }
    if recorded(transcript, result).is_some_and(|record| record.is_true(&["interrupted"])) {
        return StatedEnd::Interrupted;
    }
    if let Some(exit) = ended(exchange) {
        return StatedEnd::Later(exit);
    }
    if is_cut_short(transcript, result, text) {
        return StatedEnd::Interrupted;
    }
    let is_flagged = transcript.block(result.block).outcome == Outcome::Failed;
    if !is_flagged && is_running(transcript, exchange, result, text) {
        return StatedEnd::Running;
    }
    match text.status(transcript, result) {
        Some(code) => StatedEnd::Code(code),
        None => StatedEnd::Nothing,
    }
}

/// Whether a command went on when its result was written.
fn is_running(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
    result: FactLocation,
    text: &ResultText<'_>,
) -> bool {
    match &exchange.inner {
        Some(inner) => inner.session.is_some(),
        None => name_told(transcript, exchange, result, text).is_some(),
    }
}

/// Whether a command was stopped according to its result: by the user, or because it took too long.
pub(super) fn is_cut_short(
    transcript: &Transcript<'_>,
    result: FactLocation,
    text: &ResultText<'_>,
) -> bool {
    let block = transcript.block(result.block);
    ended_without_status(transcript, block) || is_stopped(&text.said, block.outcome, text.whose)
}

fn is_stopped(said: &str, outcome: Outcome, whose: ResultAuthor) -> bool {
    const REFUSED: [&str; 3] = [
        "[Operation Cancelled]",
        "[Request interrupted by user",
        "The user doesn't want to ",
    ];
    // In a result without a flag, only the whole sentence of the agent counts.
    const STOPPED: [&str; 4] = [
        "Command was automatically cancelled because it exceeded the timeout of ",
        "Command was cancelled by user before it could complete",
        "command timed out after ",
        "Command timed out after ",
    ];
    let said = unwrapped(said);
    let begins = |words: &[&str]| words.iter().any(|words| said.starts_with(words));
    let by_codex = || {
        said == "aborted"
            || begins(&["aborted by user"])
            || begins(&["failed in sandbox"]) && said.contains(": command timed out")
    };
    if outcome == Outcome::Failed && by_codex() {
        return true;
    }
    whose == ResultAuthor::Agents && (begins(&STOPPED) || End::of(said).by_signal)
        || outcome == Outcome::Failed
            && (begins(&REFUSED) || said.lines().next_back() == Some("Command aborted"))
}
