//! Notices about a summary: that there is none, or what it does not contain.

use super::{KeptMessages, LossReason, Summarised, SummaryResult, Tried};
use crate::artifacts::{Ending, ModelError, NotRead, PromptCut, SummaryArtifacts, UnreadFile};
use crate::outcome::{Degraded, DegradedKind, NO_SUMMARY, WAITS_FOR, Warning, WarningKind};
use crate::plan::{Cut, Subject};
use crate::policy::{Summary, TargetKind};
use crate::text::{count, printable};

/// Why there is no summary although one was requested.
pub(super) fn failed(artifacts: &SummaryArtifacts<'_>) -> Option<Degraded> {
    match &artifacts.answer.as_ref()?.reply.text {
        Err(
            ModelError::Failed(why) | ModelError::Refused(why) | ModelError::TooLong { why, .. },
        ) => Some(Degraded {
            kind: DegradedKind::SummaryFailed,
            message: format!("{NO_SUMMARY}{why}"),
        }),
        Err(ModelError::Waiting(what)) => Some(Degraded {
            kind: DegradedKind::SummaryPending,
            message: format!("{WAITS_FOR}{what}"),
        }),
        Err(ModelError::Pending) | Ok(_) => None,
    }
}

/// A warning that there is no summary because the built-in one would be empty.
pub(super) fn empty(
    first_line: u64,
    artifacts: &SummaryArtifacts<'_>,
    result: &SummaryResult,
) -> Option<Warning> {
    let what = match result {
        SummaryResult::Unchanged {
            tried: Tried::Empty(_),
            ..
        } => "the messages stay",
        SummaryResult::Summarised(summarised)
            if summarised.kept == KeptMessages::Pruned && artifacts.answer.is_none() =>
        {
            "only the last turns are kept"
        }
        SummaryResult::Summarised(_) | SummaryResult::Unchanged { .. } => return None,
    };
    Some(Warning {
        kind: WarningKind::EmptySummary,
        line: Some(first_line),
        message: format!("a summary was due but would have been empty: {what}"),
    })
}

/// Warnings about a model's summary: rounds that it does not cover in full, a truncated prompt, an answer that is cut off or
/// doubtful, and parameters that the server refused.
pub(super) fn of_answer(first_line: u64, artifacts: &SummaryArtifacts<'_>) -> Vec<Warning> {
    let Some(answer) = &artifacts.answer else {
        return Vec::new();
    };
    let warning = |kind, message| Warning {
        kind,
        line: Some(first_line),
        message,
    };
    let unread = answer.reply.unread;
    let not_read = (unread > 0).then(|| {
        let rounds = count(unread, "round");
        let message = format!(
            "the prompt was too long for the model: its summary does not cover the oldest {rounds}"
        );
        warning(WarningKind::NotSummarised, message)
    });
    let reading = answer.reading.unwrap_or_default();
    let shortened = (reading.rounds.shortened > 0).then(|| {
        let rounds = count(reading.rounds.shortened, "round");
        let message = format!(
            "{rounds} did not fit into one request: the model was sent only the beginnings and the ends of long outputs"
        );
        warning(WarningKind::NotSummarised, message)
    });
    let beyond = (reading.beyond > 0).then(|| {
        let rounds = count(reading.beyond, "round");
        let message = format!(
            "the model was sent only the first characters of the conversation (summary.input_chars): its summary does not cover the newest {rounds}"
        );
        warning(WarningKind::NotSummarised, message)
    });
    let silent = (reading.cut == PromptCut::InSilence).then(|| {
        let what = match reading.rounds.parts {
            0 | 1 => "the summary may cover only part of the conversation",
            _ => "smaller parts were sent",
        };
        let message = format!("the server truncated the prompt without an error: {what}");
        warning(WarningKind::SilentCut, message)
    });
    let cut_off = answer.reply.text.is_ok() && answer.reply.ending == Ending::CutOff;
    let cut_off = cut_off.then(|| {
        let message = "the model's summary was cut off at the output limit; the policy accepts it";
        warning(WarningKind::CutOff, message.to_owned())
    });
    let left_out = &answer.reply.left_out;
    let left_out = (!left_out.is_empty()).then(|| {
        let names: Vec<&str> = left_out.iter().map(String::as_str).collect();
        let names = printable(&names.join(", ")).into_owned();
        let message = format!("the server refuses these parameters of summary.extra: {names}");
        warning(WarningKind::ParameterRefused, message)
    });
    let doubt = answer.doubt.as_ref().map(|why| {
        let why = printable(why);
        let message =
            format!("the model's answer may not be a summary: {why}; the policy accepts it");
        warning(WarningKind::Doubtful, message)
    });
    let told = not_read.into_iter().chain(beyond).chain(shortened);
    let told = told.chain(silent);
    told.chain(doubt).chain(cut_off).chain(left_out).collect()
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
        LossReason::NoSummary => {
            "typed messages are dropped: no summary takes the place of the messages before the kept ones"
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

/// A warning that fewer messages are kept than the policy's numbers of turns and messages ask for; `cut` is the cut that the
/// trigger allows. Not given if a cap is the reason: whoever sets a cap asks for less.
pub(super) fn kept_less(
    subject: &Subject<'_>,
    cut: Cut,
    summarised: &Summarised,
) -> Option<Warning> {
    let keep = &subject.policy.summary;
    let is_cap = subject
        .goal
        .is_some_and(|goal| goal.kind == TargetKind::Cap);
    let by_number = Summary {
        keep_tokens: 0,
        ..keep.clone()
    };
    if is_cap || keep.keep_turns == 0 && keep.keep_messages == 0 || summarised.message.is_none() {
        return None;
    }
    let asked = subject.cutter.by_policy(&by_number, &subject.tokens());
    if summarised.first_kept <= asked.first_kept {
        return None;
    }
    let why = match cut.first_kept > asked.first_kept {
        true => "they are over the trigger by themselves",
        false => "the target leaves no room for them",
    };
    Some(Warning {
        kind: WarningKind::KeptLess,
        line: Some(subject.first_line),
        message: format!(
            "fewer messages are kept than summary.keep_turns and summary.keep_messages ask for: {why}"
        ),
    })
}

const PICTURES: &str = "pictures, documents or other parts of typed messages were removed with the summarised messages";

fn not_read((path, why): &UnreadFile) -> Warning {
    let (kind, what) = match why {
        NotRead::Secret => (WarningKind::FileWithheld, "not put back"),
        NotRead::Unclear | NotRead::MayHaveChanged | NotRead::Replaced => {
            (WarningKind::FileNotRead, "not put back")
        }
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
