//! The model's input for a narrative: the conversation before anything was cleared, with line labels, and outputs clipped to the
//! context window.
//!
//! PURE. An oversize output keeps its head, its tail, and lines with errors between them, and states what was cut. An earlier
//! summary is labelled as such and loses its line numbers, which belong to another file. The kept messages come last, so that the
//! model knows what it need not repeat.

use std::borrow::Cow;
use std::ops::Range;

use super::cite::without_citations;
use super::extractive::{Parsed, parse, write_unmarked};
use super::gate::CitedLines;
use super::reading::{push, starts, told, tools, write};
use crate::facts::{Earlier, MessageOrigin, is_error_message};
use crate::ids::IdMap;
use crate::policy::Policy;
use crate::text::floor_boundary;
use crate::tokens::{Estimator, level};
use crate::transcript::{Block, BlockKind, Conversation, Outcome, Role, Transcript};

/// The maximum size of an output in tokens, however large the window: more is rarely useful, and costs money.
const LARGEST: u64 = 4_000;
/// The minimum, however small the window.
const SMALLEST: u64 = 60;
/// The maximum for the kept messages, in tokens.
const KEPT: u64 = 1_500;
/// The shares of a clamped output in percent: its head and its tail. Lines with errors get the rest.
const HEAD: usize = 35;
const TAIL: usize = 40;
/// The longest line with an error, in bytes.
const LONGEST: usize = 400;

/// A conversation and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'e, 'a> {
    /// The transcript as it was read.
    pub transcript: &'e Transcript<'a>,
    /// The conversation in it.
    pub conversation: &'e Conversation,
    /// Where each of its messages comes from.
    pub origins: &'e [MessageOrigin],
    /// Finds the summary in a message.
    pub earlier: &'e Earlier,
    /// The number (from 1) of the transcript's first line in its file.
    pub first_line: u64,
    /// The contents of results that earlier runs have moved to the store, by block.
    pub stored: &'e IdMap<u32, String>,
    /// The policy.
    pub policy: &'e Policy,
    /// How tokens are counted.
    pub estimator: &'e Estimator,
}

/// A part of the conversation.
struct Part<'e> {
    message: usize,
    number: u32,
    label: String,
    text: Cow<'e, str>,
}

impl<'e> Evidence<'e, '_> {
    /// The rounds of the messages `replaced`, oldest first, within `tokens` tokens in total as far as clamping outputs can achieve
    /// it; then the kept messages after them.
    pub fn rounds(&self, replaced: Range<usize>, tokens: u64) -> Vec<String> {
        let (parts, kept): (Vec<_>, Vec<_>) = self
            .parts(replaced.start..self.conversation.messages.len())
            .partition(|part| part.message < replaced.end);
        let kept = self.kept(&kept);
        let (mut outputs, mut others) = (Vec::new(), self.tokens(&kept));
        for part in &parts {
            match self.is_output(part) {
                true => outputs.push(self.tokens(&part.text).min(LARGEST)),
                false => others += self.tokens(&part.text),
            }
        }
        let most = level(&outputs, tokens.saturating_sub(others));
        let most = most.map_or(LARGEST, |most| most.clamp(SMALLEST, LARGEST));
        let mut rounds = Vec::new();
        for part in &parts {
            let said = match self.is_output(part) {
                true => self.clamped(&part.text, most, self.block(part).outcome),
                false => Cow::Borrowed(&*part.text),
            };
            let mut text = String::new();
            self.write(part, &said, &mut text);
            let message = &self.conversation.messages[part.message];
            let is_first = self.conversation.blocks(message).first() == Some(&part.number);
            match rounds.last_mut() {
                Some(last) if !is_first => String::push_str(last, &text),
                _ => {
                    let starts = starts(self.transcript, self.conversation, message);
                    push(&mut rounds, starts, "", &text);
                }
            }
        }
        rounds.extend(Some(kept).filter(|kept| !kept.is_empty()));
        rounds
    }

    /// The lines that can be cited.
    pub fn lines(&self) -> CitedLines {
        let parts = self.parts(0..self.conversation.messages.len());
        CitedLines::new(parts.map(|part| {
            let text = format!("{}\n{}", part.label, part.text);
            (self.line(&part), text)
        }))
    }

    fn parts(&self, messages: Range<usize>) -> impl Iterator<Item = Part<'e>> {
        let Evidence {
            transcript,
            conversation,
            origins,
            earlier,
            stored,
            ..
        } = *self;
        let tools = tools(self.policy, transcript, conversation);
        let is_told = move |n: &usize| {
            let is_system = conversation.messages[*n].role == Role::System;
            !is_system && origins[*n] != MessageOrigin::Acknowledgement
        };
        messages.filter(is_told).flat_map(move |message| {
            let told_of = |number: &u32| {
                let told = told(transcript, &conversation.messages[message], *number, &tools)?;
                let is_text = transcript.block(*number).kind == BlockKind::Text;
                let (label, text) = match origins[message] {
                    MessageOrigin::Summary if is_text => (
                        "earlier summary".to_owned(),
                        without_lines(earlier.summary_in(&told.text)).into(),
                    ),
                    MessageOrigin::Summary
                    | MessageOrigin::Acknowledgement
                    | MessageOrigin::Session => {
                        let text = stored.get(number).map(|text| text.as_str().into());
                        (told.label, text.unwrap_or(told.text))
                    }
                };
                Some(Part {
                    message,
                    number: *number,
                    label,
                    text,
                })
            };
            let blocks = conversation.blocks(&conversation.messages[message]);
            blocks.iter().filter_map(told_of).collect::<Vec<_>>()
        })
    }

    fn block(&self, part: &Part<'_>) -> &'e Block {
        self.transcript.block(part.number)
    }

    fn line(&self, part: &Part<'_>) -> u64 {
        self.first_line + u64::from(self.block(part).line)
    }

    fn tokens(&self, text: &str) -> u64 {
        self.estimator.tokens(self.estimator.text(text))
    }

    fn is_output(&self, part: &Part<'_>) -> bool {
        self.block(part).kind == BlockKind::Result
    }

    /// Appends a part under its line.
    fn write(&self, part: &Part<'_>, text: &str, out: &mut String) {
        let label = format!("L{} {}", self.line(part), part.label);
        write(out, &label, text, self.block(part));
    }

    /// The messages after the replaced ones as one round, in which each part gets a share; "" if there are none.
    fn kept(&self, parts: &[Part<'_>]) -> String {
        if parts.is_empty() {
            return String::new();
        }
        let sizes: Vec<u64> = parts.iter().map(|part| self.tokens(&part.text)).collect();
        let most = level(&sizes, KEPT).unwrap_or(KEPT);
        let mut out = "[kept: these messages follow the summary as they are]\n\n".to_owned();
        for part in parts {
            let text = self.clamped(&part.text, most, self.block(part).outcome);
            self.write(part, &text, &mut out);
        }
        out
    }

    /// The head, the tail and lines with errors of a text with more than `most` tokens.
    fn clamped<'t>(&self, text: &'t str, most: u64, outcome: Outcome) -> Cow<'t, str> {
        let tokens = self.tokens(text);
        if tokens <= most {
            return Cow::Borrowed(text);
        }
        let bytes = (text.len() as f64 * most as f64 / tokens as f64) as usize;
        let head = floor_boundary(text, bytes * HEAD / 100);
        let tail = floor_boundary(text, text.len() - bytes * TAIL / 100).max(head);
        let (head, tail) = (line_end(&text[..head]), line_start(&text[tail..]));
        let middle = &text[head.len()..text.len() - tail.len()];
        let mut room = bytes.saturating_sub(head.len() + tail.len());
        let errors = middle.lines().map(str::trim);
        let errors = errors.filter(|line| !line.is_empty() && is_error_message(line, outcome));
        let errors: Vec<&str> = errors
            .map(|line| &line[..floor_boundary(line, LONGEST)])
            .take_while(|line| {
                let has_room = room > line.len();
                room = room.saturating_sub(line.len() + 1);
                has_room
            })
            .collect();
        let left_out = format!("[… {} bytes left out …]", middle.len());
        let parts = [
            head.trim_end(),
            &left_out,
            &errors.join("\n"),
            tail.trim_start(),
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        Cow::Owned(parts.collect::<Vec<_>>().join("\n"))
    }
}

/// A summary without the line numbers of its sources.
fn without_lines(summary: &str) -> String {
    let Parsed {
        before,
        rows,
        after,
    } = parse(summary);
    let mut out = without_citations(before);
    out.push_str(&write_unmarked(&rows));
    if !after.is_empty() {
        out.push('\n');
        out.push_str(after);
    }
    out
}

/// Cuts `head` after its last complete line, if that ends in its second half.
fn line_end(head: &str) -> &str {
    match head.rfind('\n') {
        Some(end) if end * 2 > head.len() => &head[..end],
        Some(_) | None => head,
    }
}

/// Cuts `tail` before its first complete line, if that starts in its first half.
fn line_start(tail: &str) -> &str {
    match tail.find('\n') {
        Some(end) if end * 2 < tail.len() => &tail[end..],
        Some(_) | None => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::policy::preset;

    /// Calls of one tool with these results, from line 2 on, between a message of the user and the last answer.
    fn session(first: &str, results: &[&str]) -> String {
        let mut lines = vec![serde_json::json!({"role": "user", "content": first})];
        for (n, result) in results.iter().enumerate() {
            let id = format!("t{n}");
            lines.push(serde_json::json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}}]}));
            lines.push(serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}));
        }
        lines.push(serde_json::json!({"role": "assistant", "content": "All of it is made."}));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The result of `ask` for the evidence of a session; `stored` holds contents in the store by the order of the results.
    fn of<T>(
        session: &str,
        stored: &[(usize, &str)],
        ask: impl FnOnce(Evidence<'_, '_>) -> T,
    ) -> T {
        let transcript = Format::Anthropic.read(session.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let policy = preset("auto").unwrap();
        let earlier = Earlier::of(&policy).unwrap();
        let blocks = conversation.all_blocks().map(|(_, block)| block);
        let is_result = |block: &u32| transcript.block(*block).kind == BlockKind::Result;
        let results: Vec<u32> = blocks.filter(is_result).collect();
        let stored = stored
            .iter()
            .map(|(n, text)| (results[*n], (*text).to_owned()));
        ask(Evidence {
            transcript: &transcript,
            conversation,
            origins: &earlier.origins(&transcript, conversation),
            earlier: &earlier,
            first_line: 1,
            stored: &stored.collect(),
            policy: &policy,
            estimator: &Estimator::new(&policy.tokens).unwrap(),
        })
    }

    fn rounds(session: &str, stored: &[(usize, &str)], tokens: u64) -> Vec<String> {
        of(session, stored, |evidence| evidence.rounds(0..3, tokens))
    }

    #[test]
    fn each_part_has_its_line_and_the_kept_messages_come_last() {
        let expected = [
            "[L1 user]\nMake it.\n\n",
            "[L2 call Bash]\n{\"command\":\"make\"}\n\n[L3 result Bash]\ndone\n\n",
            "[kept: these messages follow the summary as they are]\n\n[L4 assistant]\nAll of it is made.\n\n",
        ];
        assert_eq!(
            rounds(&session("Make it.", &["done"]), &[], 9_000),
            expected
        );
    }

    #[test]
    fn an_output_keeps_its_head_its_tail_and_its_errors() {
        let line = |n: usize| match n {
            700 => "error: gauge.c has no main\n".to_owned(),
            n => format!("compiling part {n} of the gauges\n"),
        };
        let output: String = (0..1_000).map(line).collect();
        let session = session("Make it.", &[&output, "done"]);
        let told = |tokens: u64| rounds(&session, &[], tokens)[1].clone();
        assert!(told(100_000).len() < output.len(), "more than the largest");
        for tokens in [1_000, 10] {
            let told = told(tokens);
            for there in ["part 0 of", "part 999 of", "bytes left out …]"] {
                assert!(told.contains(there), "{tokens} {there}: {told}");
            }
            assert!(!told.contains("part 500 of"), "{told}");
        }
        assert!(told(1_000).contains("…]\nerror: gauge.c has no main\n"));
        let tokens = |text: &str| of(&session, &[], |evidence| evidence.tokens(text));
        assert!(tokens(&told(1_000)) < 1_000);
    }

    #[test]
    fn what_an_earlier_run_moved_to_the_store_is_given() {
        let session = session("Make it.", &["Output too large. Saved to: x"]);
        let told = rounds(&session, &[(0, "the whole output")], 9_000).concat();
        assert!(
            told.contains("[L3 result Bash]\nthe whole output\n"),
            "{told}"
        );
        assert!(!told.contains("too large"));
    }

    #[test]
    fn an_earlier_summary_is_given_as_one_without_its_lines() {
        for mark in ["L7", "[L7]"] {
            let text = format!(
                "[Earlier conversation, summarised by ctxpack]\nThe gauge lags [L40].\n\n## User requests\n{mark} See [L3].\n\n\
                 ## Files\n{mark} read: a.rs\n\nand [L9]"
            );
            let told = rounds(&session(&text, &["done"]), &[], 9_000);
            // The user's words, and text that is not a row, are unchanged.
            let expected = "[L1 earlier summary]\nThe gauge lags.\n\n## User requests\nSee [L3].\n\n## Files\nread: a.rs\nand [L9]\n\n";
            assert_eq!(told[0], expected);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(floor_boundary("aéb", 2), 1);
        assert_eq!(floor_boundary("é", 9), 2);
        let word = "é".repeat(5_000);
        let told = rounds(&session("Make it.", &[&word]), &[], 100);
        assert!(told[1].contains("bytes left out"), "{}", told[1]);
    }

    #[test]
    fn lines_can_be_cited_by_what_they_hold() {
        let session = session("Make gauge.rs.", &["error in mend.rs"]);
        let check = |text: &str| of(&session, &[], |evidence| evidence.lines().check(text));
        assert_eq!(check("gauge.rs [L1], mend.rs [L3] and [L1]").removed, 0);
        let cited = check("It fails in mend.rs [L2]. All is made [L4].");
        assert_eq!(cited.text, "It fails in mend.rs. All is made [L4].");
    }
}
