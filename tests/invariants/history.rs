//! What is kept of a session when dead history is dropped, and what a model then sees of it.
//!
//! The generator knows which lines are live; the program's results are compared with that.

use std::collections::{BTreeMap, BTreeSet};

use ctxpack::format::{Format, Warnings};
use ctxpack::outcome::Status;
use ctxpack::policy::{History, Images, Scope};
use ctxpack::transcript::Transcript;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use super::case::{Case, Kept, Kind, Run, compact, split};
use super::config;
use super::json::Node;
use super::known::Fate;
use super::policies;
use super::view::view;

/// A test of a property for each format that has history.
macro_rules! every_session {
    ($($name:ident: $property:ident $kind:ident)*) => {$(
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(config())]

                #[test]
                fn claude_code(case in Case::of(Format::ClaudeCode, Kind::$kind)) {
                    $property(&case)?;
                }

                #[test]
                fn copilot(case in Case::of(Format::Copilot, Kind::$kind)) {
                    $property(&case)?;
                }

                #[test]
                fn pi(case in Case::of(Format::Pi, Kind::$kind)) {
                    $property(&case)?;
                }

                #[test]
                fn qwen(case in Case::of(Format::Qwen, Kind::$kind)) {
                    $property(&case)?;
                }

                #[test]
                fn droid(case in Case::of(Format::Droid, Kind::$kind)) {
                    $property(&case)?;
                }

                #[test]
                fn kimi(case in Case::of(Format::Kimi, Kind::$kind)) {
                    $property(&case)?;
                }

                #[test]
                fn gemini(case in Case::of(Format::Gemini, Kind::$kind)) {
                    $property(&case)?;
                }
            }
        }
    )*};
}

every_session! {
    what_a_model_sees_is_what_it_saw: windows Valid
    dead_lines_leave_and_no_others: dropping Valid
    without_the_layer_every_line_stays: staying Any
    links_lead_to_lines_that_are_there: links Any
    kept_history_changes_nothing_that_is_live: same_text Valid
    recorded_usage_follows_the_saving: usage Valid
}

fn read(format: Format, bytes: &[u8]) -> Transcript<'_> {
    format.read(bytes, 1, &mut Warnings::default())
}

/// The live lines of each conversation, as the program reads them.
fn paths(format: Format, bytes: &[u8]) -> Vec<Vec<usize>> {
    let path = |path: &[u32]| path.iter().map(|line| *line as usize).collect();
    let transcript = read(format, bytes);
    let conversations = transcript.conversations.iter();
    conversations.map(|c| path(&c.path)).collect()
}

/// The same lines are live before and after, in the same order, and they are those that the generator meant.
fn windows(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let windows = &case.known.windows;
    let before: Vec<Vec<usize>> = windows.iter().map(|w| w.lines.clone()).collect();
    prop_assert_eq!(paths(case.format, &case.bytes), before);
    let kept = run.kept(&case.bytes);
    let places: BTreeMap<usize, usize> = kept.iter().map(|kept| kept.line).zip(0..).collect();
    let stays = |fate| fate == Fate::Stays || !case.drops();
    let after = windows.iter().filter(|window| stays(window.fate));
    let after: Vec<Vec<Option<usize>>> = after
        .map(|w| w.lines.iter().map(|l| places.get(l).copied()).collect())
        .collect();
    let read = paths(case.format, &run.bytes).into_iter();
    let read: Vec<Vec<_>> = read
        .map(|path| path.into_iter().map(Some).collect())
        .collect();
    prop_assert_eq!(read, after);
    Ok(())
}

/// With the layer, the dropped lines are those that the generator knows to be dead.
fn dropping(case: &Case) -> TestCaseResult {
    let run = case.compact();
    prop_assert!(run.outcome.status != Status::Rejected);
    if case.drops() {
        prop_assert_eq!(run.dropped(), case.known.dead.clone());
    }
    Ok(())
}

fn staying(case: &Case) -> TestCaseResult {
    let run = case.compact();
    if !case.drops() {
        prop_assert_eq!(split(&run.bytes).1.len(), split(&case.bytes).1.len());
        prop_assert_eq!(run.dropped(), BTreeSet::new());
    }
    Ok(())
}

/// A link of a kept line leads to a kept line, to none, or to a line that did not exist before either.
fn links(case: &Case) -> TestCaseResult {
    let run = case.compact();
    if run.detected.is_none_or(|(format, _)| format != case.format) || !has_links(case) {
        return Ok(());
    }
    // As written: ids have no escapes.
    fn ids(format: Format, bytes: &[u8]) -> BTreeSet<&[u8]> {
        let lines = split(bytes).1.into_iter();
        let id = |(line, _)| Some(view(format, line)?.id?.of(line));
        lines.filter_map(id).collect()
    }
    fn link(format: Format, bytes: &[u8]) -> Option<&[u8]> {
        Some(view(format, bytes)?.link?.of(bytes))
    }
    let (before, after) = (ids(case.format, &case.bytes), ids(case.format, &run.bytes));
    for Kept {
        line,
        after: (is, _),
        before: (was, _),
    } in run.kept(&case.bytes)
    {
        let (Some(is), Some(was)) = (link(case.format, is), link(case.format, was)) else {
            continue;
        };
        let led_nowhere = is == was && !before.contains(is);
        prop_assert!(
            is == b"null" || after.contains(is) || led_nowhere,
            "line {line}: {} became {}",
            was.escape_ascii(),
            is.escape_ascii()
        );
    }
    Ok(())
}

/// Whether the entries of a session are linked: pi gives them new links if the header has no version, or the first one, which
/// noise may have made of it.
fn has_links(case: &Case) -> bool {
    let parse = |(line, _): (&[u8], _)| serde_json::from_slice::<Value>(line).ok();
    let mut lines = split(&case.bytes).1.into_iter().filter_map(parse);
    let header = lines.find(|line| line["type"] == "session");
    let version = header.map(|header| header["version"].as_u64().unwrap_or_default());
    case.format != Format::Pi || version.is_none_or(|version| version > 1)
}

/// The role of a message, and the text of each of its blocks.
type MessageTexts = (&'static str, Vec<Vec<u8>>);

/// The texts of each conversation, message by message.
fn message_texts(format: Format, bytes: &[u8]) -> BTreeMap<String, Vec<MessageTexts>> {
    let transcript = read(format, bytes);
    let value = |b: &u32| {
        let block = transcript.block(*b);
        transcript.bytes(block.line, block.value).to_vec()
    };
    let conversations = transcript.conversations.iter().map(|c| {
        let messages = c.messages.iter();
        let texts = messages.map(|m| (m.role.name(), c.blocks(m).iter().map(value).collect()));
        (c.id.to_string(), texts.collect())
    });
    conversations.collect()
}

/// It makes no difference to a model whether dead lines are kept.
fn same_text(case: &Case) -> TestCaseResult {
    let run = |history| -> Run {
        let policy = policies::with_history(&case.policy, history);
        compact(&case.bytes, &policy, case.keeping)
    };
    let (dropped, kept) = (run(History::Drop), run(History::Keep));
    let mut with_dead = message_texts(case.format, &kept.bytes);
    let without = message_texts(case.format, &dropped.bytes);
    // The conversations of dead tasks were removed.
    with_dead.retain(|id, _| without.contains_key(id));
    prop_assert_eq!(with_dead, without);
    Ok(())
}

/// The figures on every line of the last answer are lowered by the share of the window that was removed, and on no other line.
fn usage(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let conversations = run.outcome.conversations.iter();
    let saved: Vec<(u64, u64)> = conversations
        .map(|conversation| (conversation.tokens_before, conversation.tokens_after))
        .collect();
    prop_assert_eq!(saved.len(), case.known.windows.len());
    let sum = |bytes: &[u8], figures: &[Node]| -> u64 {
        let numbers = figures.iter().filter_map(|figure| figure.number(bytes));
        numbers.sum()
    };
    for Kept {
        line,
        after,
        before,
    } in run.kept(&case.bytes)
    {
        let mut windows = case.known.windows.iter().zip(&saved);
        let window = windows.find(|(window, _)| window.counted.contains(&line));
        let is_told = window.is_some_and(|(_, (before, after))| after < before);
        let (old, new) = (
            view(case.format, before.0).unwrap_or_default(),
            view(case.format, after.0).unwrap_or_default(),
        );
        let (was, is) = (sum(before.0, &old.figures), sum(after.0, &new.figures));
        let Some((_, (all, left))) = window.filter(|_| is_told) else {
            prop_assert!(is == was || window.is_some() && counts_a_part(case));
            continue;
        };
        // Where a policy counts only a part of what a model reads, the share differs.
        if counts_a_part(case) {
            prop_assert!(is <= was);
            continue;
        }
        let whole = if old.sums.is_empty() {
            was
        } else {
            sum(before.0, &old.sums)
        };
        let saved = whole - (u128::from(whole) * u128::from(*left) / u128::from(*all)) as u64;
        prop_assert_eq!(is, was - saved.min(was), "line {} of {} tokens", line, all);
    }
    Ok(())
}

fn counts_a_part(case: &Case) -> bool {
    let tokens = &case.policy.tokens;
    let counts_pictures = tokens.images == Images::Flat && tokens.image_tokens > 0;
    tokens.scope == Scope::Strings || !counts_pictures
}
