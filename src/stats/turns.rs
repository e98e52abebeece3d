//! How a live window grew, from one typed message to the next.
//!
//! A summary of an earlier compaction does not count as typed, whatever its role; a picture and adjacent words are one message.

use serde::{Deserialize, Serialize};

use crate::facts::{Earlier, MessageOrigin};
use crate::format::Format;
use crate::transcript::{Conversation, Transcript};

/// One turn of a live window. Tokens are the policy's estimates, except for `recorded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number, from 1; 0 is the part before the first typed message.
    pub turn: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its messages.
    pub messages: u64,
    /// The tokens that it added to the window.
    pub tokens: u64,
    /// The window at its end.
    pub context: u64,
    /// The tokens of the request for its last answer, as the provider counted them.
    pub recorded: Option<u64>,
}

/// A compaction of the agent itself, whose summary is in the live window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCompaction {
    /// The line of its summary, from 1.
    pub line: u64,
    /// The turn that contains its summary, as in the timeline.
    pub turn: u64,
    /// Tokens of the window up to its summary.
    pub context: u64,
}

/// The growth of a live window.
pub(super) struct Grown {
    pub(super) turns: Vec<Turn>,
    pub(super) compactions: Vec<RecordedCompaction>,
}

/// The turns of a live window that grew by messages as `growth` says, and whose `answers` recorded figures of it; `first_line` is
/// the number (from 1) of the transcript's first line.
pub(super) fn turns(
    (format, transcript, first_line): (Format, &Transcript<'_>, u64),
    conversation: &Conversation,
    earlier: &Earlier,
    (growth, answers): (&[u64], &[usize]),
) -> Grown {
    let messages = &conversation.messages;
    let origins = earlier.origins(transcript, conversation);
    let is_typed = |i: &usize| {
        transcript.begins_turn(conversation, *i) && origins[*i] == MessageOrigin::Session
    };
    let typed: Vec<usize> = (0..messages.len()).filter(is_typed).collect();
    let before_all = (typed.first() != Some(&0) && !messages.is_empty()).then_some((0, 0));
    let starts: Vec<(u64, usize)> = before_all
        .into_iter()
        .chain((1..).zip(typed.iter().copied()))
        .collect();

    let mut answers = answers.iter().copied().peekable();
    let mut turns = Vec::with_capacity(starts.len());
    let mut earlier = 0;
    for (i, &(turn, start)) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(messages.len(), |next| next.1);
        let mut own = Vec::new();
        while let Some(answer) = answers.next_if(|answer| *answer < end) {
            own.push(answer);
        }
        let recorded = |i: &usize| format.recorded(transcript, conversation, &messages[*i]);
        let context = growth[end - 1];
        turns.push(Turn {
            turn,
            line: u64::from(conversation.first_line(&messages[start])) + first_line,
            messages: (end - start) as u64,
            tokens: context.saturating_sub(earlier),
            context,
            recorded: own.iter().rev().find_map(recorded),
        });
        earlier = context;
    }
    let summaries = (0..messages.len()).filter(|i| origins[*i] == MessageOrigin::Summary);
    let compactions = summaries.map(|i| {
        let begun = starts.iter().take_while(|(_, start)| *start <= i).last();
        RecordedCompaction {
            line: u64::from(conversation.first_line(&messages[i])) + first_line,
            turn: begun.map_or(0, |(turn, _)| *turn),
            context: growth[i],
        }
    });
    Grown {
        compactions: compactions.collect(),
        turns,
    }
}
