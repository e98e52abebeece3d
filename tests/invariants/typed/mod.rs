//! Typed messages survive every policy, in conversations of any size: system prompts of up to 100 000 tokens, up to 500
//! messages of up to 5 000 tokens, long and short turns, in every format.
//!
//! What was typed is searched for in the output as plain text; of a message that is too long, its start and its end. The counts
//! in the report are computed again here. There are few cases, or `PROPTEST_CASES`.

mod chat;

use std::sync::LazyLock;

use ctxpack::format::Format;
use ctxpack::outcome::{ActionKind, ConversationOutcome, Notices, Status, WarningKind};
use ctxpack::plan::Keeping;
use ctxpack::policy::{Policy, SummaryWhen, presets};
use ctxpack::tokens::Estimator;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use super::case::{Run, compact};
use super::tape::Tape;
use chat::{Chat, Written};

static PRESETS: LazyLock<Vec<Policy>> = LazyLock::new(|| presets().unwrap());

proptest! {
    #![proptest_config(super::config_of(150))]

    #[test]
    fn what_was_typed_is_there_or_told(mut tape in Tape::of_up_to(30)) {
        Case::of(&mut tape).check()?;
    }
}

/// The generator makes all of these cases occur: otherwise the property would prove little.
#[test]
fn every_loss_is_exercised() {
    use proptest::strategy::ValueTree;
    use std::collections::BTreeMap;

    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tapes = Tape::of_up_to(30);
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..250 {
        let mut tape = tapes.new_tree(&mut runner).unwrap().current();
        let case = Case::of(&mut tape);
        let conversation = &case.run.outcome.conversations[0];
        let summary = conversation
            .summary
            .as_ref()
            .filter(|_| is_summarised(conversation));
        let name = if case.policy.name == "auto" {
            "auto"
        } else {
            "other"
        };
        let many = case.chat.turns.len() >= 200;
        let system = case.chat.system.len() > 300_000;
        for (what, happens) in [
            ("summarised", summary.is_some()),
            ("clipped", summary.is_some_and(|s| s.user_clipped > 0)),
            ("verbatim", summary.is_some_and(|s| s.user_verbatim > 0)),
            (
                "aim missed",
                conversation.target.is_some_and(|target| !target.reached),
            ),
            ("many", many),
            ("system", system && summary.is_some()),
        ] {
            *times.entry(format!("{name}: {what}")).or_default() += usize::from(happens);
        }
        *times.entry(format!("{:?}", case.chat.format)).or_default() +=
            usize::from(summary.is_some());
    }
    for (what, times) in times {
        let never = what == "other: aim missed";
        assert!(times > 0 || never, "{what} {times} times");
    }
}

struct Case {
    policy: Policy,
    chat: Chat,
    written: Written,
    run: Run,
    estimator: Estimator,
}

impl Case {
    fn of(tape: &mut Tape) -> Self {
        // The default policy promises the most.
        let names = [
            "auto",
            "auto",
            "auto",
            "auto",
            "auto",
            "layered",
            "offload-first",
            "reset",
            "boundary",
            "turns",
        ];
        let name = tape.pick(&names);
        let mut policy = PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .unwrap()
            .clone();
        // Most transcripts do not reach the triggers of the others.
        if tape.one_in(if name == "auto" { 4 } else { 2 }) {
            policy.summary.when = SummaryWhen::Always;
        }
        let chat = Chat::of(tape);
        let written = chat.written();
        Case {
            run: compact(&written.bytes, &policy, Keeping::Store),
            estimator: Estimator::new(&policy.tokens).unwrap(),
            policy,
            chat,
            written,
        }
    }

    fn check(&self) -> TestCaseResult {
        let Run { outcome, .. } = &self.run;
        let about = || {
            format!(
                "{} {:?} {:?}",
                self.policy.name, self.chat.format, self.written.typed
            )
        };
        prop_assert!(
            matches!(outcome.status, Status::Compacted | Status::Unchanged),
            "{}: {:?}",
            about(),
            outcome.file.error
        );
        let [conversation] = &outcome.conversations[..] else {
            return Err(TestCaseError::fail("not one conversation"));
        };
        prop_assert!(conversation.tokens_after <= conversation.tokens_before);
        let texts = texts(self.since_the_summary());
        let typed = self.chat.turns.iter().map(|turn| turn.typed.as_str());
        let found: Vec<Found> = typed.map(|typed| self.find(typed, &texts)).collect();
        // Every policy keeps the last message, and the messages that it keeps unchanged.
        let stays = found.len() - self.kept(conversation).max(1);
        for (number, found) in found.iter().enumerate() {
            let typed = &self.chat.turns[number].typed;
            let is_clip = *found == Found::Clipped && !self.fits(typed);
            let is_promised = self.policy.name == "auto" || number >= stays;
            prop_assert!(
                *found == Found::Whole || is_clip || !is_promised,
                "{}: message {} is {found:?}: {conversation:#?}",
                about(),
                number + 1
            );
        }
        self.check_count(conversation, &found, &texts)
    }

    /// The output; of a log, in which the user's words stay for the agent to quote, from the last summary on.
    fn since_the_summary(&self) -> &[u8] {
        let bytes = &self.run.bytes;
        let begins = memchr::memmem::rfind(bytes, b"{\"type\":\"session.compaction_start\"");
        let begins = begins.filter(|_| self.chat.format == Format::Copilot);
        &bytes[begins.unwrap_or(0)..]
    }

    /// How many of the last typed messages a policy keeps unchanged, by its documentation: those among its last messages, or
    /// those of its last turns.
    fn kept(&self, conversation: &ConversationOutcome) -> usize {
        let keep = &self.policy.summary;
        if !is_summarised(conversation) {
            return self.written.typed.len();
        }
        let messages = &self.written.messages;
        let first = messages.len().checked_sub(keep.keep_messages as usize);
        let first = first.map_or(0, |first| messages.get(first).copied().unwrap_or(u64::MAX));
        let by_messages = self
            .written
            .typed
            .iter()
            .filter(|line| **line >= first)
            .count();
        // If there is only one turn, the summary contains the message that began it.
        let turns = self.written.typed.len();
        let by_turns = if turns > 1 {
            keep.keep_turns as usize
        } else {
            0
        };
        by_messages.max(by_turns.min(turns))
    }

    /// Checks the report's counts of the typed messages that a summary replaced, and that every loss is reported with its line.
    fn check_count(
        &self,
        conversation: &ConversationOutcome,
        found: &[Found],
        texts: &[String],
    ) -> TestCaseResult {
        let outcome = &self.run.outcome;
        let warned = outcome
            .warnings
            .iter()
            .filter(|w| w.kind == WarningKind::UserWords);
        let warned: Vec<u64> = warned.filter_map(|warning| warning.line).collect();
        let Some(summary) = conversation
            .summary
            .as_ref()
            .filter(|_| is_summarised(conversation))
        else {
            prop_assert_eq!(warned, Vec::<u64>::new());
            return Ok(());
        };
        let messages = &self.written.messages;
        let replaced = messages.len() - summary.preserved_messages as usize;
        prop_assert_eq!(summary.messages as usize, replaced);
        let tail = messages.get(replaced).copied().unwrap_or(u64::MAX);
        let replaced = self
            .written
            .typed
            .iter()
            .zip(found)
            .filter(|(line, _)| **line < tail);
        let (whole, lost): (Vec<_>, Vec<_>) =
            replaced.partition(|(_, found)| **found == Found::Whole);
        prop_assert_eq!(summary.user_verbatim, whole.len() as u64, "{:?}", summary);
        prop_assert_eq!(summary.user_clipped, lost.len() as u64, "{:?}", summary);
        let lost: Vec<u64> = lost.into_iter().map(|(line, _)| *line).collect();
        prop_assert_eq!(&warned, &lost);
        let notices = Notices::of(&std::slice::from_ref(outcome))?.into_list();
        let told: u64 = notices
            .iter()
            .filter(|n| n.kind == WarningKind::UserWords.name())
            .map(|n| n.places)
            .sum();
        prop_assert_eq!(told, lost.len() as u64);
        let is_last_turns = summary.fallback.as_deref() == Some("last_turns");
        let begins = self.policy.summary.text.prefix();
        let own = texts.iter().find_map(|text| text.strip_prefix(begins));
        prop_assert!(
            is_last_turns || own.is_some_and(|own| !own.trim().is_empty()),
            "an empty summary"
        );
        Ok(())
    }

    fn fits(&self, typed: &str) -> bool {
        self.estimator.tokens(self.estimator.text(typed)) <= self.policy.summary.user_message_max
    }

    fn find(&self, typed: &str, texts: &[String]) -> Found {
        if texts.iter().any(|text| text.contains(typed.trim())) {
            return Found::Whole;
        }
        // Each message contains its number at both ends.
        let (start, end) = (
            &typed[..typed.find(": ").unwrap() + 2],
            &typed[typed.rfind("(end of").unwrap()..],
        );
        let clips = texts.iter().filter_map(|text| {
            let from = text.find(start)?;
            let to = from + text[from..].find(end.trim_end())? + end.trim_end().len();
            text.get(from..to)
        });
        let is_clip = |clip: &str| {
            let (head, tail) = clip.split_once("\n…\n").unwrap_or(("", ""));
            !head.is_empty() && typed.starts_with(head) && typed.trim_end().ends_with(tail)
        };
        match { clips }.any(is_clip) {
            true => Found::Clipped,
            false => Found::Not,
        }
    }
}

/// How much of a message is in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Whole,
    /// Its start and its end.
    Clipped,
    Not,
}

fn is_summarised(conversation: &ConversationOutcome) -> bool {
    let mut actions = conversation.actions.iter();
    actions.any(|action| matches!(action.kind, ActionKind::Summarize | ActionKind::Prune))
}

/// Every string of an output.
fn texts(bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        collect(serde_json::from_slice(line).unwrap(), &mut texts);
    }
    texts
}

fn collect(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(list) => list.into_iter().for_each(|value| collect(value, texts)),
        Value::Object(map) => map.into_iter().for_each(|(_, value)| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
