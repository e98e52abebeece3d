//! Properties of replayed sessions.
//!
//! Compared with runs that write and read the bytes at each step, and with plain sums.

use ctxpack::artifacts::Replies;
use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::pipeline::{Input, Part, Pipeline, Stored};
use ctxpack::plan::Keeping;
use ctxpack::policy::{Layer, Policy};
use ctxpack::replay::{Answers, Figures, Player, PolicyReplay, Recording, Replayer, recordings};
use ctxpack::tokens::{Estimator, Sizes};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::case::{Case, Kind};
use super::{config_of, policies, transcripts};

every_format! { config_of(60), of;
    recordings_hold_the_live_windows: Valid
    without_layers_the_figures_are_plain_sums: Valid
    in_the_end_is_what_compact_would_leave: Valid
    steps_are_runs_over_the_bytes_so_far: Valid
}

/// The sessions of a case.
fn sessions(case: &Case) -> Vec<Recording> {
    let each = transcripts(case.layout, &case.bytes).into_iter();
    each.flat_map(|(bytes, first_line, _)| {
        let transcript = case
            .format
            .read(bytes, first_line, &mut Warnings::default());
        let line = (case.layout == Layout::Line).then_some(first_line);
        recordings(case.format, &transcript, first_line, line)
    })
    .collect()
}

/// The lines of a session up to each of its messages.
fn prefixes(recording: &Recording) -> Vec<&[u8]> {
    let ends = recording.bytes.iter().enumerate();
    let ends = ends.filter(|(_, byte)| **byte == b'\n').map(|(n, _)| n + 1);
    ends.map(|end| &recording.bytes[..end]).collect()
}

fn tokens(policy: &Policy, format: Format, bytes: &[u8]) -> u64 {
    let transcript = format.read(bytes, 1, &mut Warnings::default());
    let mut sizes = Sizes::new(Estimator::new(&policy.tokens).unwrap());
    sizes.conversation(&transcript, &transcript.conversations[0])
}

fn replay(policy: &Policy, recording: &Recording) -> (Figures, PolicyReplay) {
    let player = Player::new(policy, Replies::default()).unwrap();
    let mut session = Replayer::new(vec![player]).unwrap().replay(recording);
    (session.whole, session.policies.remove(0))
}

/// A policy without layers that change or request anything.
fn silent(case: &Case) -> Policy {
    let mut policy = case.policy.clone();
    policy
        .layers
        .retain(|layer| matches!(layer, Layer::Demote | Layer::Clear));
    policy
}

/// Every message of the live window is in the recorded session, with the same text; a recorded compaction only adds messages.
fn recordings_hold_the_live_windows(case: &Case) -> TestCaseResult {
    let sessions = sessions(case);
    let mut windows = Vec::new();
    for (bytes, first_line, _) in transcripts(case.layout, &case.bytes) {
        let transcript = case
            .format
            .read(bytes, first_line, &mut Warnings::default());
        let all = transcript.conversations.iter();
        windows.extend(
            all.map(|c| c.messages.len())
                .filter(|messages| *messages > 0),
        );
    }
    if !case.is_session() {
        let lengths: Vec<usize> = sessions.iter().map(|s| s.messages.len()).collect();
        prop_assert_eq!(lengths, windows);
    }
    for session in &sessions {
        let mut warnings = Warnings::default();
        let transcript = session.format.read(&session.bytes, 1, &mut warnings);
        let read = &transcript.conversations[0].messages;
        prop_assert_eq!(read.len(), session.messages.len());
        for (read, recorded) in read.iter().zip(&session.messages) {
            prop_assert_eq!(read.typed, recorded.typed);
        }
    }
    Ok(())
}

fn without_layers_the_figures_are_plain_sums(case: &Case) -> TestCaseResult {
    let policy = policies::none(&case.policy);
    for session in sessions(case) {
        let prefixes = prefixes(&session);
        let sent: Vec<u64> = session
            .messages
            .iter()
            .enumerate()
            .filter(|(_, message)| message.answers == Answers::Yes)
            .map(|(n, _)| n.checked_sub(1).map_or(&b""[..], |n| prefixes[n]))
            .map(|bytes| tokens(&policy, session.format, bytes))
            .collect();
        let expected = Figures {
            sent: sent.iter().sum(),
            cache_lost: 0,
            peak: sent.iter().copied().max().unwrap_or(0),
            last: tokens(&policy, session.format, &session.bytes),
        };
        let (whole, replayed) = replay(&policy, &session);
        prop_assert_eq!(replayed.own, expected);
        prop_assert_eq!(replayed.tokens, whole);
        prop_assert!(replayed.steps.is_empty());
        let turns = replayed.turns.iter();
        prop_assert_eq!(turns.map(|turn| turn.sent).sum::<u64>(), expected.sent);
    }
    Ok(())
}

fn in_the_end_is_what_compact_would_leave(case: &Case) -> TestCaseResult {
    let policy = silent(case);
    let pipeline = Pipeline::new(&policy, Keeping::Store).unwrap();
    for session in sessions(case) {
        let (_, replayed) = replay(&policy, &session);
        let (outcome, bytes) = compacted(&pipeline, &session, &session.bytes);
        let left = Player::new(&policy, Replies::default())
            .unwrap()
            .remaining_lines(&session);
        prop_assert_eq!(
            String::from_utf8_lossy(&left),
            String::from_utf8_lossy(&bytes)
        );
        prop_assert_eq!(replayed.own.last, outcome);
    }
    Ok(())
}

/// The tokens and the bytes after a run.
fn compacted(pipeline: &Pipeline<'_>, session: &Recording, bytes: &[u8]) -> (u64, Vec<u8>) {
    let input = Input {
        format: session.format,
        bytes,
        first_line: 1,
        part: Part::File,
        stored: Stored::default(),
        strings: &ctxpack::scan::NO_STRINGS,
        instruction_source: None,
        weights: &ctxpack::summarizer::extractive::WEIGHTS,
    };
    let compacted = pipeline.compact(input, &mut Warnings::default());
    let tokens = compacted.conversations[0].tokens_after;
    (tokens, compacted.pieces().collect::<Vec<_>>().concat())
}

/// Each request equals the result of a run on the output of the run before, with the lines recorded since appended.
fn steps_are_runs_over_the_bytes_so_far(case: &Case) -> TestCaseResult {
    let policy = silent(case);
    let pipeline = Pipeline::new(&policy, Keeping::Store).unwrap();
    for session in sessions(case) {
        let lines: Vec<&[u8]> = session
            .bytes
            .split_inclusive(|byte| *byte == b'\n')
            .collect();
        let (mut bytes, mut next) = (Vec::new(), 0);
        let (mut sent, mut peak) = (0, 0);
        for (n, message) in session.messages.iter().enumerate() {
            if message.answers == Answers::Yes {
                bytes.extend(lines[next..n].concat());
                next = n;
                let (tokens, after) = compacted(&pipeline, &session, &bytes);
                bytes = after;
                sent += tokens;
                peak = peak.max(tokens);
            }
        }
        let (_, replayed) = replay(&policy, &session);
        prop_assert_eq!((replayed.own.sent, replayed.own.peak), (sent, peak));
    }
    Ok(())
}
