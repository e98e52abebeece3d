//! Notices about a summary: that there is none, or what it does not contain.

use super::{LossReason, Summarised};
use crate::artifacts::{ModelError, NotRead, SummaryArtifacts, UnreadFile};
use crate::outcome::{Degraded, DegradedKind, Warning, WarningKind};
use crate::text::count;

/// Why there is no summary although one was requested.
pub(super) fn failed(artifacts: &SummaryArtifacts<'_>) -> Option<Degraded> {
    match &artifacts.answer.as_ref()?.reply.text {
        Err(ModelError::Failed(why)) => Some(Degraded {
            kind: DegradedKind::SummaryFailed,
            message: format!("no summary could be written: {why}"),
        }),
        Err(ModelError::Pending) | Ok(_) => None,
    }
}

/// A warning about the rounds that were left out because the prompt was too long for the model.
pub(super) fn of_answer(first_line: u64, artifacts: &SummaryArtifacts<'_>) -> Vec<Warning> {
    let reply = artifacts.answer.as_ref().map(|answer| &answer.reply);
    let unread = reply.map_or(0, |reply| reply.unread);
    let warning = (unread > 0).then(|| Warning {
        kind: WarningKind::NotSummarised,
        line: Some(first_line),
        message: format!(
            "the prompt was too long for the model: its summary does not cover the oldest {}",
            count(unread, "round")
        ),
    });
    warning.into_iter().collect()
}

/// Warnings about files that are not restored, typed messages that are incomplete, and pictures that are removed.
pub(super) fn of_summary<'s>(
    first_line: u64,
    artifacts: &'s SummaryArtifacts<'_>,
    summarised: &'s Summarised,
) -> impl Iterator<Item = Warning> + 's {
    let (lines, why) = &summarised.lost;
    let message = match why {
        LossReason::TooLong => {
            "typed messages are clipped: they are longer than summary.user_message_max"
        }
        LossReason::Target => {
            "typed messages are clipped or left out: the target leaves no room for them"
        }
        LossReason::Policy => {
            "typed messages are kept in part or not at all, as summary.user_words says"
        }
    };
    let warning = move |kind, message: &str, line: &u32| Warning {
        kind,
        line: Some(u64::from(*line) + first_line),
        message: message.to_owned(),
    };
    let unread = artifacts.unread.iter().map(not_read);
    let words = lines
        .iter()
        .map(move |line| warning(WarningKind::UserWords, message, line));
    let pictures = summarised.pictures.iter();
    let pictures = pictures.map(move |line| warning(WarningKind::Pictures, PICTURES, line));
    unread.chain(words).chain(pictures)
}

const PICTURES: &str =
    "pictures or documents in typed messages were removed with the summarised messages";

fn not_read((path, why): &UnreadFile) -> Warning {
    let (kind, what) = match why {
        NotRead::Secret => (WarningKind::FileWithheld, "not put back"),
        NotRead::Unclear => (WarningKind::FileNotRead, "not put back"),
        NotRead::Outside
        | NotRead::Missing
        | NotRead::NoFile
        | NotRead::NoText
        | NotRead::Refused => (WarningKind::FileNotRead, "not read below the files' folder"),
    };
    Warning {
        kind,
        line: None,
        message: format!("{what}: {path}: {}", why.reason()),
    }
}
